"""However odd the files: settings, or a message for people. Never anything else."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ocmem.errors import OcmemError
from ocmem.settings import Overrides, Settings, explain, resolve
from tests.unit.settings import odd
from tests.unit.settings.home import Home, agent_ids

OVERRIDES = st.builds(
    Overrides,
    agents=st.lists(odd.HARMLESS, max_size=2).map(tuple),
    workspace=st.none() | st.sampled_from(["~", "/", "rel", "~/.openclaw/workspace"]),
    profile=st.none() | st.sampled_from(["work", "default"]),
    provider=st.none() | st.sampled_from(["openai", "builtin", "none", "auto", "gemini"]),
    sources=st.sampled_from([(), ("sessions",)]),
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("home"))


def places(home: Home) -> dict[str, Path]:
    agent_dir = home.state / "agents" / "main" / "agent"
    return {
        "config": home.config,
        "overlay": home.overlay,
        "more": home.state / "more.json",
        "auth": agent_dir / "auth-profiles.json",
        "old auth": agent_dir / "auth.json",
        "here": home.cwd / ".env",
    }


def settle(home: Home, files: dict[str, bytes], overrides: Overrides) -> None:
    """Resolve, and look at everything that comes of it."""
    for name, path in places(home).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if name in files:
            path.write_bytes(files[name])
    env = home.env | {"SHELL": "/bin/false"}
    try:
        ids = agent_ids(overrides, env, cwd=home.cwd)
        found = resolve(overrides, env, cwd=home.cwd, now_ms=1e12)
    except OcmemError as error:
        assert str(error)
        return
    assert all(isinstance(id, str) for id in ids)
    assert isinstance(found, Settings)
    repr(found)
    json.dumps([setting.value for setting in explain.settings_of(found)])
    for path in (found.workspace, found.index_path, found.sessions_dir, found.agent_dir):
        assert path.is_absolute()
        assert "\0" not in str(path)
        str(path).encode()  # fit for the file system, and for SQLite
        found.shown(path)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(files=odd.FILES, overrides=OVERRIDES)
@example(files={"config": b'{"env": {"shellEnv": {"enabled": true}}}'}, overrides=Overrides())
def test_no_file_leads_to_anything_but_settings_or_a_message(
    world: Home, files: dict[str, bytes], overrides: Overrides
) -> None:
    settle(world, files, overrides)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    tree=st.dictionaries(odd.KEYS, odd.TREES, max_size=4), newer=st.booleans(), own=st.booleans()
)
def test_no_memory_setting_does_either(world: Home, tree: object, newer: bool, own: bool) -> None:
    older = {"agents": {"defaults": {"memorySearch": tree}, "list": [{"id": "a"}]}}
    config = {"memory": {"search": tree}} if newer else older

    settle(world, {"overlay" if own else "config": json.dumps(config).encode()}, Overrides())


@settings(max_examples=150)
@given(store=odd.written(odd.STORE))
def test_no_auth_store_does_either(world: Home, store: bytes) -> None:
    settle(world, {"auth": store}, Overrides())
