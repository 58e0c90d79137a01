"""`memory.qmd`: every default, every place, every way to write a duration."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.settings import qmd
from ocmem.settings.qmd import QmdLimits, QmdPath, QmdSettings, QmdUpdate
from tests.unit.settings.home import Home

HOUR = 3_600_000


def resolved(**settings: Any) -> QmdSettings:  # noqa: ANN401
    return qmd.resolve(
        {"qmd": settings},
        agent="main",
        workspace=Path("/w"),
        home=Path("/h"),
        state_dir=Path("/s"),
    )


def test_without_settings_everything_has_its_default() -> None:
    assert resolved() == QmdSettings(
        agent="main",
        workspace=Path("/w"),
        home=Path("/s/agents/main/qmd"),
        command="qmd",
        mode="search",
        includes_default=True,
        paths=(),
        exports_sessions=False,
        export_dir=Path("/s/agents/main/qmd/sessions"),
        retention_days=None,
        update=QmdUpdate(
            interval_ms=300_000,
            debounce_ms=15_000,
            on_boot=True,
            waits_for_boot=False,
            embed_interval_ms=HOUR,
            command_timeout_ms=30_000,
            update_timeout_ms=120_000,
            embed_timeout_ms=120_000,
        ),
        limits=QmdLimits(
            max_results=6, max_snippet_chars=700, max_injected_chars=4000, timeout_ms=4000
        ),
        mcporter_enabled=False,
        scope=None,
    )


def test_everything_can_be_set() -> None:
    found = resolved(
        command="/opt/qmd",
        searchMode="query",
        includeDefaultMemory=False,
        paths=[{"path": "/n", "name": "Notes", "pattern": "*.txt"}],
        sessions={"enabled": True, "exportDir": "/x", "retentionDays": 30},
        update={
            "interval": "90s",
            "debounceMs": 1,
            "onBoot": False,
            "waitForBootSync": True,
            "embedInterval": "2d",
            "commandTimeoutMs": 2,
            "updateTimeoutMs": 3,
            "embedTimeoutMs": 4,
        },
        limits={"maxResults": 5, "maxSnippetChars": 6, "maxInjectedChars": 7, "timeoutMs": 8},
        scope={"default": "allow"},
    )

    assert (found.command, found.mode, found.includes_default) == ("/opt/qmd", "query", False)
    assert found.paths == (QmdPath(Path("/n"), "Notes", "*.txt", 1),)
    assert found.exports_sessions
    assert (found.export_dir, found.retention_days) == (Path("/x"), 30)
    assert found.update == QmdUpdate(90_000, 1, False, True, 48 * HOUR, 2, 3, 4)
    assert found.limits == QmdLimits(5, 6, 7, 8)
    assert found.scope == {"default": "allow"}


def test_null_and_what_no_check_lets_through_count_as_absent() -> None:
    assert resolved(command=None, searchMode="best", limits={"maxResults": 0}) == resolved()


def test_the_index_lies_in_the_agents_own_corner() -> None:
    found = resolved()

    assert found.config_home == Path("/s/agents/main/qmd/xdg-config")
    assert found.database == Path("/s/agents/main/qmd/xdg-cache/qmd/index.sqlite")
    assert found.models == Path("/s/agents/main/qmd/xdg-cache/qmd/models")


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        ("250ms", 250),
        ("1.1s", 1100),
        ("90s", 90_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("1h30m15s250ms", 5_415_250),
        ("0.5d", 12 * HOUR),
        (" 2H ", 2 * HOUR),
        ("5", 300_000),
        ("0.5", 30_000),
        (5, 300_000),
        (5.0, 300_000),
        ("0", 0),
        (0, 0),
        ("0s", 0),
    ],
)
def test_a_duration_has_units_and_counts_minutes_without_one(written: object, ms: int) -> None:
    assert resolved(update={"interval": written}).update.interval_ms == ms


@pytest.mark.parametrize("written", ["", "soon", "-5m", "1h 30m", "1h30", "m", "1e3", "٣m", "5w"])
def test_what_is_no_duration_leaves_the_default(written: str) -> None:
    found = resolved(update={"interval": written, "embedInterval": written}).update

    assert (found.interval_ms, found.embed_interval_ms) == (300_000, HOUR)


@given(st.text(alphabet="0123456789.hmsd ", max_size=12))
def test_no_text_makes_a_negative_interval(text: str) -> None:
    assert resolved(update={"interval": text}).update.interval_ms >= 0


def test_no_time_at_all_means_the_default_time() -> None:
    found = resolved(
        update={"commandTimeoutMs": 0, "updateTimeoutMs": 0, "embedTimeoutMs": 0, "debounceMs": 0},
        limits={"timeoutMs": 0},
    )

    assert found.limits.timeout_ms == 4000
    assert found.update.command_timeout_ms == 30_000
    assert found.update.update_timeout_ms == 120_000
    assert found.update.embed_timeout_ms == 120_000
    assert found.update.debounce_ms == 0  # which is a choice


@pytest.mark.parametrize(
    ("written", "command", "is_told"),
    [
        ("qmd", "qmd", False),
        ("  qmd  ", "qmd", False),
        ("~/bin/qmd", "/h/bin/qmd", False),
        ("'/opt/my tools/qmd'", "/opt/my tools/qmd", False),
        ("bun x qmd", "bun", True),
        ("", "qmd", False),
        ("''", "qmd", False),
        ("it's", "it's", False),
    ],
)
def test_the_command_is_the_first_word(written: str, command: str, is_told: bool) -> None:
    found = resolved(command=written)

    assert found.command == command
    assert bool(found.warnings) == is_told


def test_the_bridge_is_not_used_and_that_is_said() -> None:
    found = resolved(mcporter={"enabled": True})

    assert found.mcporter_enabled
    assert "mcporter" in found.warnings[0]


def test_no_days_of_retention_are_no_limit() -> None:
    assert resolved(sessions={"retentionDays": 0}).retention_days is None


@pytest.mark.parametrize(
    ("written", "place"),
    [("out", "/w/out"), ("~/out", "/h/out"), ("/out", "/out"), ("../out", "/out"), ("~", "/h")],
)
def test_places_are_meant_from_the_workspace(written: str, place: str) -> None:
    found = resolved(sessions={"exportDir": written}, paths=[{"path": written}])

    assert found.export_dir == Path(place)
    assert [each.location for each in found.paths] == [Path(place)]


def test_skipped_paths_are_counted_and_blank_fields_are_absent() -> None:
    found = resolved(
        paths=[{"path": " "}, {"path": "a", "name": " ", "pattern": ""}, {"path": "b", "name": "B"}]
    )

    assert found.paths == (
        QmdPath(Path("/w/a"), None, "**/*.md", 2),
        QmdPath(Path("/w/b"), "B", "**/*.md", 3),
    )


def test_both_settings_files_have_a_say(home: Home) -> None:
    home.write({"memory": {"backend": "qmd", "qmd": {"command": "a", "searchMode": "vsearch"}}})
    home.own({"memory": {"qmd": {"command": "~/b"}}})

    found = home.resolve().qmd

    assert (found.command, found.mode) == (str(home.root / "b"), "vsearch")
    assert found.home == home.state / "agents" / "main" / "qmd"


def test_a_config_without_qmd_settings_has_the_defaults(home: Home) -> None:
    assert home.resolve().qmd.mode == "search"
