"""Watching for QMD: at the start, after changes and in intervals, as its settings have it."""

from pathlib import Path
from typing import Any

import pytest

from ocmem.cli.qmd_watch import QmdSync, Runner
from ocmem.errors import QmdError
from ocmem.watch.places import Place
from ocmem.watch.qmd import watched
from ocmem.watch.watcher import Outcome, Watched
from tests.fake_qmd import FakeQmd
from tests.unit.chats import line
from tests.unit.qmd.driven import Driven

MINUTE_MS = 60_000


class Watch:
    """A watched agent whose events and clock are in the hands of a test."""

    def __init__(self, driven: Driven, *, quiet_ms: int | None = None) -> None:
        self.now_ms = 0
        self.agent: Watched = watched(
            driven.settings,
            Runner(driven.settings, wait_s=0),
            keep=lambda: None,
            now_ms=self.now_ms,
            quiet_ms=quiet_ms,
        )

    def pass_ms(self, ms: int) -> Outcome | None:
        self.now_ms += ms
        return self.agent.step(lambda: self.now_ms)

    def reason_after(self, ms: int) -> str | None:
        outcome = self.pass_ms(ms)
        return None if outcome is None else outcome.due.reason

    def sweep(self) -> None:
        self.agent.sweep(now_ms=self.now_ms)


@pytest.fixture(autouse=True)
def _qmd_in_our_environment(fake: FakeQmd, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in fake.env.items():
        monkeypatch.setenv(name, value)


def test_the_first_update_is_at_the_start_and_the_next_after_the_interval(driven: Driven) -> None:
    driven.configure(update={"interval": "5m"})
    watch = Watch(driven)

    assert watch.reason_after(0) == "start"
    assert watch.reason_after(5 * MINUTE_MS - 1) is None
    assert watch.reason_after(1) == "interval"


def test_without_on_boot_the_first_update_comes_after_the_interval(driven: Driven) -> None:
    driven.configure(update={"onBoot": False, "interval": "2m"})
    watch = Watch(driven)

    assert watch.reason_after(2 * MINUTE_MS - 1) is None
    assert watch.reason_after(1) == "interval"


def test_without_on_boot_and_interval_only_changes_count(driven: Driven) -> None:
    driven.configure(update={"onBoot": False, "interval": "0"})
    watch = Watch(driven)
    assert watch.reason_after(60 * MINUTE_MS) is None

    (driven.memory / "new.md").write_text("new")
    watch.sweep()

    assert watch.reason_after(15_000) == "change"


@pytest.mark.parametrize(("quiet_ms", "waits_ms"), [(None, 15_000), (200, 200)])
def test_a_change_waits_for_the_quiet_time(
    driven: Driven, quiet_ms: int | None, waits_ms: int
) -> None:
    watch = Watch(driven, quiet_ms=quiet_ms)
    watch.pass_ms(0)
    (driven.memory / "day.md").write_text("another day")
    watch.sweep()

    assert watch.reason_after(waits_ms - 1) is None
    outcome = watch.pass_ms(1)

    assert outcome is not None
    assert isinstance(outcome.report, QmdSync)
    assert "1 updated" in outcome.report.line
    assert outcome.report.fields["files"]["changed"] == 1


def test_a_change_in_a_folder_of_the_settings_counts_too(driven: Driven, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "deep").mkdir(parents=True)
    driven.configure(paths=[{"path": str(docs), "name": "docs"}])
    watch = Watch(driven)
    watch.pass_ms(0)

    (docs / "deep" / "a.md").write_text("new")
    watch.sweep()

    assert watch.reason_after(15_000) == "change"


def test_a_transcript_that_grew_enough_is_exported_anew(driven: Driven) -> None:
    sessions = driven.state / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "chat.jsonl").write_text(line("hello"))
    driven.configure(sessions={"enabled": True})
    watch = Watch(driven)
    watch.pass_ms(0)
    exported = driven.home / "sessions" / "chat.md"
    assert exported.read_text() == "# Session chat\n\nUser: hello\n"

    with (sessions / "chat.jsonl").open("a") as file:
        file.write(line("umbrella") * 60)
    watch.sweep()

    assert watch.reason_after(5000) == "sessions"
    assert "umbrella" in exported.read_text()


def test_places_are_the_folders_of_the_collections(driven: Driven, tmp_path: Path) -> None:
    paths: list[dict[str, Any]] = [
        {"path": str(tmp_path / "docs")},
        {"path": str(tmp_path / "flat"), "pattern": "*.txt"},
        {"path": str(tmp_path / "one"), "pattern": "only.md"},
    ]
    driven.configure(paths=paths, sessions={"enabled": True})

    found = Watch(driven).agent.places()

    workspace = str(driven.workspace)
    assert found == [
        Place(workspace, "memory", is_recursive=False, names=frozenset({"MEMORY.md"})),
        Place(workspace, "memory", is_recursive=False, names=frozenset({"memory.md"})),
        Place(f"{workspace}/memory", "memory", is_recursive=True),
        Place(str(tmp_path / "docs"), "memory", is_recursive=True),
        Place(str(tmp_path / "flat"), "memory", is_recursive=False, suffix=""),
        Place(str(tmp_path / "one"), "memory", is_recursive=False, names=frozenset({"only.md"})),
        Place(str(driven.state / "agents/main/sessions"), "sessions", is_recursive=False),
    ]


def test_an_update_that_fails_is_told_and_tried_again(driven: Driven, fake: FakeQmd) -> None:
    fake.on("update", code=1, stderr="Error: disk on fire")
    fake.on("update", does=True)
    watch = Watch(driven)

    failed = watch.pass_ms(0)

    assert failed is not None
    assert isinstance(failed.error, QmdError)
    assert "disk on fire" in str(failed.error)
    assert watch.reason_after(14_999) is None
    assert watch.reason_after(1) == "retry"


def test_one_watcher_embeds_once_and_not_with_every_update(driven: Driven, fake: FakeQmd) -> None:
    driven.configure(searchMode="vsearch", update={"interval": "1m", "embedInterval": "0"})
    driven.with_models()
    watch = Watch(driven)

    reasons = [watch.reason_after(ms) for ms in (0, MINUTE_MS, MINUTE_MS)]

    assert reasons == ["start", "interval", "interval"]
    assert fake.commands.count("update") == 3
    assert fake.commands.count("embed") == 1
