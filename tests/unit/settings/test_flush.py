"""The flush settings in `openclaw.json`, and what takes the place of odd ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.settings import flush
from ocmem.settings.flush import FlushSettings, ModelRef

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def resolved(defaults: dict[str, Any] | None = None, **more: Any) -> FlushSettings:  # noqa: ANN401
    agents = {"defaults": defaults or {}, "list": more.pop("list", [])}
    return flush.resolve({"agents": agents, **more}, "main")


def compaction(**values: object) -> FlushSettings:
    return resolved({"compaction": values})


def test_without_a_config_there_are_defaults() -> None:
    found = flush.resolve({}, "main")

    assert found.is_enabled
    assert (found.reserve_floor, found.soft_threshold, found.runtime_reserve) == (
        20_000,
        4000,
        16_384,
    )
    assert (found.context_tokens, found.model, found.windows) == (None, None, {})
    assert (found.prompt, found.system_prompt, found.timezone) == (None, None, None)
    assert (found.sandbox_mode, found.workspace_access) == ("off", "none")
    assert found.cli_providers == {"claude-cli", "codex-cli"}
    assert (found.main_key, found.warnings) == ("agent:main:main", ())


def test_every_key_is_read() -> None:
    found = resolved(
        {
            "contextTokens": 100_000,
            "userTimezone": "Asia/Seoul",
            "timeFormat": "12",
            "cliBackends": {" My-CLI ": {}},
            "compaction": {
                "reserveTokens": 30_000,
                "reserveTokensFloor": 10_000,
                "memoryFlush": {
                    "enabled": False,
                    "softThresholdTokens": 2000,
                    "prompt": "Save.",
                    "systemPrompt": "Flush.",
                },
            },
        }
    )

    assert not found.is_enabled
    assert (found.reserve_floor, found.soft_threshold, found.runtime_reserve) == (
        10_000,
        2000,
        30_000,
    )
    assert (found.prompt, found.system_prompt) == ("Save.", "Flush.")
    assert (found.context_tokens, found.timezone, found.time_format) == (
        100_000,
        "Asia/Seoul",
        "12",
    )
    assert found.is_cli("MY-cli")
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("value", "number", "is_odd"),
    [
        (0, 0, False),
        (7, 7, False),
        (7.9, 7, False),
        (-1, 20_000, True),
        (-0.5, 20_000, True),
        ("7", 20_000, True),
        (True, 20_000, True),
        ([], 20_000, True),
        (float("nan"), 20_000, True),
        (float("inf"), 20_000, True),
        (10**400, 20_000, True),
        (None, 20_000, False),
    ],
)
def test_a_size_is_floored_or_replaced_by_the_default(
    value: object, number: int, is_odd: bool
) -> None:
    found = compaction(reserveTokensFloor=value)

    assert found.reserve_floor == number
    assert bool(found.warnings) == is_odd
    assert all("compaction.reserveTokensFloor: not a number" in text for text in found.warnings)


def test_a_blank_prompt_is_none() -> None:
    found = compaction(memoryFlush={"prompt": " \n", "systemPrompt": ""})

    assert (found.prompt, found.system_prompt, found.warnings) == (None, None, ())


@pytest.mark.parametrize(
    ("defaults", "told"),
    [
        ({"compaction": {"memoryFlush": {"enabled": "no"}}}, "enabled: neither true nor false"),
        ({"compaction": {"memoryFlush": {"prompt": 7}}}, "prompt: not a text"),
        ({"timeFormat": 12}, "timeFormat: none of auto, 12, 24; auto is used"),
        ({"sandbox": {"mode": "some"}}, "sandbox.mode: none of off, non-main, all; off is used"),
        ({"contextTokens": -5}, "contextTokens: not a number from 0; it is left out"),
    ],
)
def test_what_had_to_be_replaced_is_told(defaults: dict[str, Any], told: str) -> None:
    (warning,) = resolved(defaults).warnings

    assert told in warning


def test_windows_are_kept_by_model_id() -> None:
    models = [
        {"id": "a", "contextWindow": 64_000},
        {"id": "b", "contextWindow": 32_000.5},
        {"id": "c"},
        {"id": "d", "contextWindow": 0},
        {"id": 7, "contextWindow": 9},
        {"contextWindow": 9},
        "e",
    ]
    providers = {"one": {"models": models}, "two": {"models": [models[0]]}, "odd": 7, "none": {}}

    found = resolved(models={"providers": providers})

    assert found.windows == {"a": [64_000, 64_000], "b": [32_000]}


@pytest.mark.parametrize(
    ("defaults", "own", "model"),
    [
        ({"model": "anthropic/opus"}, {}, ModelRef("anthropic", "opus")),
        ({"model": {"primary": "anthropic/opus"}}, {}, ModelRef("anthropic", "opus")),
        ({"model": {"primary": "openrouter/a/b"}}, {}, ModelRef("openrouter", "a/b")),
        ({"model": "opus"}, {}, ModelRef(None, "opus")),
        ({"model": "x/y"}, {"model": {"primary": "acme/z"}}, ModelRef("acme", "z")),
        ({"model": "x/y"}, {"model": {"fallbacks": ["acme/z"]}}, ModelRef("x", "y")),
        ({"model": "Opus", "models": {"a/b": {"alias": "opus"}}}, {}, ModelRef("a", "b")),
        ({"model": {"primary": 7}}, {}, None),
        ({"model": "x/"}, {}, None),
        ({}, {}, None),
    ],
)
def test_the_model_is_the_agents_own_or_the_default(
    defaults: dict[str, Any], own: dict[str, Any], model: ModelRef | None
) -> None:
    assert resolved(defaults, list=[{"id": "other"}, {"id": "Main", **own}]).model == model


@pytest.mark.parametrize(
    ("shared", "own", "expected"),
    [
        ({"mode": "all", "workspaceAccess": "ro"}, {}, ("all", "ro")),
        ({"mode": "all", "workspaceAccess": "ro"}, {"workspaceAccess": "rw"}, ("all", "rw")),
        ({"mode": "all"}, {"mode": "off"}, ("off", "none")),
        ({}, {"mode": "non-main"}, ("non-main", "none")),
    ],
)
def test_the_agents_own_sandbox_wins_field_by_field(
    shared: dict[str, str], own: dict[str, str], expected: tuple[str, str]
) -> None:
    found = resolved({"sandbox": shared}, list=[{"id": "main", "sandbox": own}])

    assert (found.sandbox_mode, found.workspace_access) == expected


def test_the_main_session_goes_by_several_names() -> None:
    found = flush.resolve({"session": {"mainKey": "Home"}}, "Alpha One")

    assert found.main_key == "agent:alpha-one:home"
    assert all(
        map(found.is_main, ["main", "home", "agent:alpha-one:main", " AGENT:alpha-one:home "])
    )
    assert not found.is_main("agent:alpha-one:telegram:direct:1")
    assert not found.is_main("global")
    assert flush.resolve({"session": {"scope": "global"}}, "main").is_main("global")


@pytest.mark.parametrize("provider", ["claude-cli", " Codex-CLI ", "CLAUDE-CLI"])
def test_two_command_line_programs_are_always_known(provider: str) -> None:
    assert flush.resolve({}, "main").is_cli(provider)


def test_other_providers_are_no_programs() -> None:
    assert not flush.resolve({}, "main").is_cli("anthropic")
    assert not flush.resolve({}, "main").is_cli(None)


@given(compaction=JSON, sandbox=JSON, models=JSON, model=JSON, entry=JSON, session=JSON)
def test_nothing_in_the_config_makes_it_fail(
    compaction: object,
    sandbox: object,
    models: object,
    model: object,
    entry: object,
    session: object,
) -> None:
    defaults = {
        "compaction": compaction,
        "sandbox": sandbox,
        "model": model,
        "models": models,
        "cliBackends": models,
        "contextTokens": model,
        "timeFormat": session,
    }
    config = {
        "agents": {"defaults": defaults, "list": [entry, {"id": "main", "sandbox": sandbox}]},
        "models": {"providers": models},
        "session": session,
    }

    found = flush.resolve(config, "main")

    assert min(found.reserve_floor, found.soft_threshold, found.runtime_reserve) >= 0
    assert found.sandbox_mode in ("off", "non-main", "all")
