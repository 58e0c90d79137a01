"""Where a session stands: settings, options and store together."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ocmem.core import session_store, standing
from ocmem.core.session_store import SessionEntry
from ocmem.core.standing import Asked, Session, Standing
from ocmem.core.usage import ContextSize, Findings
from ocmem.settings import flush
from ocmem.settings.flush import WorkspaceAccess
from tests.unit.test_session_store import EXAMPLE, store

GROUP = "agent:main:telegram:group:7"


@pytest.fixture
def entry(tmp_path: Path) -> SessionEntry:
    return session_store.read(store(tmp_path, EXAMPLE))["agent:main:main"]


def of(
    session: Session,
    asked: Asked | None = None,
    *,
    defaults: object = None,
    **config: Any,  # noqa: ANN401
) -> Standing:
    settings = flush.resolve({"agents": {"defaults": defaults or {}}, **config}, "main")
    return standing.standing(session, settings, asked or Asked())


def catalogue(**windows: int) -> dict[str, Any]:
    models = [{"id": id.replace("_", "-"), "contextWindow": size} for id, size in windows.items()]
    return {"providers": {"acme": {"models": models}}}


def test_the_example_session_flushes_at_its_next_turn(entry: SessionEntry) -> None:
    found = of(standing.from_entry(entry))

    assert (found.limits.window, found.window.source) == (200_000, "session-entry")
    assert (found.limits.threshold, found.limits.compaction_point) == (176_000, 180_000)
    assert (found.session.tokens, found.session.source) == (178_000, "store")
    assert (found.remaining, found.used_percent) == (0, 89.0)
    assert (found.is_due, found.reasons, found.warnings) == (True, ("would-flush",), ())


def test_after_its_flush_it_waits_for_the_next_cycle(entry: SessionEntry) -> None:
    flushed = standing.from_entry(replace(entry, flushed_in_cycle=1))

    assert of(flushed).reasons == ("already-flushed",)


def test_options_take_the_place_of_settings(entry: SessionEntry) -> None:
    session = standing.from_entry(entry)
    defaults = {"contextTokens": 500_000, "compaction": {"reserveTokensFloor": 1}}

    found = of(
        session,
        Asked(window=300_000, reserve_floor=0, soft_threshold=0),
        defaults=defaults,
    )

    assert (found.limits.threshold, found.window.source) == (300_000, "argument")
    assert (found.limits.reserve_floor, found.limits.soft_threshold) == (0, 0)
    assert found.remaining == 122_000
    assert not any("contextTokens" in text for text in found.warnings)


def test_the_sessions_model_decides_about_the_window(entry: SessionEntry) -> None:
    models = catalogue(claude_opus_4_6=1_000_000, other=5)

    found = of(standing.from_entry(entry), defaults={"contextTokens": 7}, models=models)

    assert (found.limits.window, found.window.source) == (1_000_000, "model-catalogue")
    assert found.warnings == (
        "sessions.json says contextTokens 200000; the flush counts with 1000000",
    )


def test_without_a_session_the_configured_model_does() -> None:
    models = catalogue(opus=64_000)

    assert of(Session(), defaults={"model": "acme/opus"}, models=models).limits.window == 64_000
    prefixed = of(Session(model="acme/opus"), models=models)
    assert prefixed.window.source == "model-catalogue"


def test_several_windows_for_one_model_are_told() -> None:
    one, two = ({"models": [{"id": "m", "contextWindow": size}]} for size in (64_000, 32_000))

    found = of(Session(model="m"), models={"providers": {"a": one, "b": two}})

    assert found.limits.window == 32_000
    assert "windows of 32000, 64000; the smallest counts" in found.warnings[0]


@pytest.mark.parametrize(
    ("tokens", "is_fresh", "reason"),
    [
        (None, True, "tokens-unknown"),
        (None, False, "tokens-unknown"),
        (0, True, "tokens-unknown"),
        (178_000, False, "tokens-stale"),
    ],
)
def test_only_fresh_tokens_count(
    entry: SessionEntry, tokens: int | None, is_fresh: bool, reason: str
) -> None:
    odd = standing.from_entry(replace(entry, total_tokens=tokens, is_fresh=is_fresh))

    found = of(odd)

    assert found.reasons[0] == reason
    assert any("no token count" in text for text in found.warnings) == (tokens is None)


@pytest.mark.parametrize(
    ("key", "sandbox", "access", "is_writable"),
    [
        ("agent:main:main", {}, None, True),
        (GROUP, {}, None, True),
        (GROUP, {"workspaceAccess": "ro"}, None, True),
        ("agent:main:main", {"mode": "all"}, None, False),
        ("agent:main:main", {"mode": "all", "workspaceAccess": "ro"}, None, False),
        ("agent:main:main", {"mode": "all", "workspaceAccess": "rw"}, None, True),
        ("agent:main:main", {"mode": "non-main"}, None, True),
        ("main", {"mode": "non-main"}, None, True),
        (GROUP, {"mode": "non-main"}, None, False),
        (GROUP, {"mode": "non-main", "workspaceAccess": "rw"}, None, True),
        (None, {"mode": "all"}, None, False),
        (None, {"mode": "non-main"}, None, True),
        (None, {}, "ro", False),
        (None, {}, "none", False),
        (GROUP, {"mode": "all"}, "rw", True),
    ],
)
def test_a_sandboxed_turn_needs_a_workspace_that_it_may_write(
    key: str | None,
    sandbox: dict[str, str],
    access: WorkspaceAccess | None,
    is_writable: bool,
) -> None:
    session = Session(tokens=178_000, key=key)

    found = of(session, Asked(access=access), defaults={"sandbox": sandbox})

    assert found.reasons == (("would-flush",) if is_writable else ("workspace-not-writable",))


@pytest.mark.parametrize(
    ("asked", "stored", "model", "is_cli"),
    [
        (None, None, None, False),
        ("claude-cli", "anthropic", None, True),
        ("anthropic", "claude-cli", None, False),
        (None, "Codex-CLI", None, True),
        (None, None, "claude-cli/opus", True),
        (None, "anthropic", "claude-cli/opus", False),
        (None, None, "my-cli/x", True),
    ],
)
def test_a_program_as_provider_never_flushes(
    asked: str | None, stored: str | None, model: str | None, is_cli: bool
) -> None:
    defaults: dict[str, object] = {"model": model, "cliBackends": {"my-cli": {}}}

    found = of(Session(tokens=178_000, provider=stored), Asked(provider=asked), defaults=defaults)

    assert found.reasons == (("cli-provider",) if is_cli else ("would-flush",))


def test_a_heartbeat_never_flushes(entry: SessionEntry) -> None:
    assert of(standing.from_entry(entry), Asked(is_heartbeat=True)).reasons == ("heartbeat",)


def test_a_transcript_brings_its_own_cycle(entry: SessionEntry) -> None:
    about = Findings(session_id="id", provider="p", model="m", compactions=1)
    size = ContextSize(190_000, "transcript-usage", None, about)

    alone = standing.from_transcript("x.jsonl", size, None)
    known = standing.from_transcript("x.jsonl", size, replace(entry, flushed_in_cycle=1))

    assert of(alone).reasons == ("would-flush",)
    assert (alone.key, alone.id, alone.transcript) == (None, "id", "x.jsonl")
    assert of(known).reasons == ("already-flushed",)
    assert (known.key, known.warnings) == ("agent:main:main", ())


def test_a_transcript_that_disagrees_with_the_store_is_told(entry: SessionEntry) -> None:
    size = ContextSize(None, "transcript-estimate", "characters / 4", Findings(skipped=2))

    found = standing.from_transcript("x.jsonl", size, entry)

    assert (found.source, found.compactions) == (None, 0)
    assert "nothing that could be counted" in found.warnings[0]
    assert "2 lines of the transcript too long" in found.warnings[1]
    assert "0 compactions, sessions.json 1" in found.warnings[2]


@pytest.mark.parametrize(
    ("tokens", "window", "percent"), [(1, 3, 33.3), (10**30, 1, 1e32), (0, 5, 0), (None, 5, None)]
)
def test_the_share_of_the_window(tokens: int | None, window: int, percent: float | None) -> None:
    assert of(Session(tokens=tokens), Asked(window=window)).used_percent == percent
