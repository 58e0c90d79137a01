"""`ocmem watch`."""

import contextlib
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from ocmem.backends.builtin import BuiltinBackend
from ocmem.cli import common, table, wire
from ocmem.cli.common import Given
from ocmem.core.embedder import Embedder
from ocmem.core.watch_lock import WatchLock, watching
from ocmem.errors import IndexUnavailable, OcmemError, ReaderLeft, UsageError
from ocmem.model import Source, SyncReport
from ocmem.settings import Settings

if TYPE_CHECKING:  # watchdog is for those who watch
    from ocmem.watch.watcher import Outcome, Watched

_WAIT_S = 30.0  # for another run that holds the index; then it is tried again later
_NAMED = 3  # changed files that a line names


class Stopped(BaseException):
    """Somebody asked us to end."""


def run(
    *, debounce_ms: int | None, sources: tuple[Source, ...], as_json: bool, given: Given
) -> int:
    from ocmem.watch.observer import Watches
    from ocmem.watch.watcher import watch, watched

    if debounce_ms is not None and debounce_ms < 0:
        raise UsageError("--debounce must be 0 or more")
    with _stopping(), contextlib.ExitStack() as held:
        agents = []
        for settings in common.each_agent(given, sources=sources):
            if not settings.search.enabled:
                print("Memory search disabled.", file=sys.stderr)
                continue
            lock = _lock(settings, held)
            if lock is not None and settings.uses_qmd:
                agents.append(_by_qmd(settings, lock, debounce_ms))
            elif lock is not None:
                settings = _without_waiting(settings)
                runner = _Runner(settings, given, sources)
                agents.append(watched(settings, runner, keep=lock.keep, quiet_ms=debounce_ms))
        watches = Watches(common.warn)
        held.callback(watches.stop)
        teller = _Teller(given, as_json=as_json, names=len(agents) > 1)
        watch(agents, watches, teller, each_turn=_end_if_unread)
        return 1  # none was ours to watch, or none is any more
    return 0


def _by_qmd(settings: Settings, lock: WatchLock, debounce_ms: int | None) -> "Watched":
    from ocmem.cli.qmd_watch import Runner
    from ocmem.watch.qmd import watched
    from ocmem.watch.watcher import monotonic_ms

    runner = Runner(settings, _WAIT_S)
    return watched(settings, runner, keep=lock.keep, now_ms=monotonic_ms(), quiet_ms=debounce_ms)


@contextlib.contextmanager
def _stopping() -> Iterator[None]:
    """A polite request to end is an exception, wherever it finds us, and ends here.

    Ctrl-C is one already, and goes further: whoever pressed it wants to see that it was heard.
    What we were told to ignore (by `nohup`, or by a shell's `&`) stays ignored; of Ctrl-C, Python
    sees to that.
    """

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise Stopped

    names = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    heard = [name for name in names if signal.getsignal(name) is not signal.SIG_IGN]
    former = {name: signal.signal(name, stop) for name in heard}
    try:
        yield
    except Stopped:
        pass
    finally:
        for name, handler in former.items():
            signal.signal(name, handler)


def _lock(settings: Settings, held: contextlib.ExitStack) -> WatchLock | None:
    """The right to watch that index, until `held` is closed; None if it cannot be had."""
    index = settings.qmd.database if settings.uses_qmd else settings.index_path
    try:
        lock = held.enter_context(watching(index))
    except IndexUnavailable as error:
        common.complain(error)
        return None
    if lock.former is not None:
        by = lock.former.shown(time.time() * 1000)
        shown = settings.shown(index)
        common.warn(f"{shown}: taking over from {by}, which is gone")
    if not settings.search.watch.enabled and not settings.uses_qmd:
        common.warn("sync.watch is false, which holds for OpenClaw; watching all the same")
    return lock


def _end_if_unread() -> None:
    """`ocmem watch | head -1` is over with the first line, not with the one after it."""
    if not hasattr(select, "poll") or sys.stdout.isatty():
        return
    out = select.poll()
    out.register(sys.stdout.fileno(), 0)  # no wish to write: only what went wrong is reported
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in out.poll(0)):
        raise ReaderLeft


def _without_waiting(settings: Settings) -> Settings:
    """Batch jobs are handed in and looked at again later: a watcher must not stand still."""
    remote = settings.search.remote
    remote = replace(remote, batch=replace(remote.batch, wait=False))
    return replace(settings, search=replace(settings.search, remote=remote))


@dataclass(slots=True)
class _Runner:
    """Makes the syncs of one agent. A model that was loaded stays."""

    settings: Settings
    given: Given
    sources: tuple[Source, ...]
    _loaded: dict[str, Embedder] = field(default_factory=dict)

    def __call__(self, only: tuple[Source, ...]) -> tuple[Settings, SyncReport]:
        return common.with_fallback(
            lambda settings: self._index(settings, only),
            self.settings,
            self.given,
            sources=self.sources,
        )

    def _index(self, settings: Settings, only: tuple[Source, ...]) -> SyncReport:
        name = settings.provider.id
        backend = BuiltinBackend(settings, embedder=self._loaded.get(name), notice=common.warn)
        report = backend.index(force=False, wait_s=_WAIT_S, only=only, command="watch")
        # A service is connected to anew each time: nobody knows how long it will be until then.
        if backend.embedder is not None and settings.provider.endpoint is None:
            self._loaded[name] = backend.embedder
        return report


@dataclass(slots=True)
class _Teller:
    """One line a sync on stdout; what a person should know besides on stderr, once."""

    given: Given
    as_json: bool
    names: bool  # there are several agents
    _issues: dict[str, list[str]] = field(default_factory=dict)

    def __call__(self, outcome: "Outcome") -> None:
        agent_id = outcome.settings.agent_id
        if outcome.error is not None:
            common.complain(_failure(outcome))
            if self.as_json:
                self._print(wire.watch_error(outcome, at=_moment()))
            return
        if outcome.report is None:
            return
        line, fields, issues = _told(outcome)
        if self.as_json:
            self._print(wire.watch_sync(outcome, fields, at=_moment()))
        elif not self.given.get("quiet") and line is not None:
            who = f"{agent_id}: " if self.names else ""
            self._print(f"{time.strftime('%H:%M:%S')} {who}{line}")
        for text in issues:
            if text not in self._issues.get(agent_id, []):
                common.warn(text)
        self._issues[agent_id] = issues

    def _print(self, line: str) -> None:
        print(line, flush=True)


def _told(outcome: "Outcome") -> tuple[str | None, dict[str, Any], list[str]]:
    """A line if there is anything to tell, the same for programs, and what to know besides."""
    report = outcome.report
    if isinstance(report, SyncReport):
        fields = wire.report(outcome.settings, report)
        fields |= {"changed": report.changed_paths, "removed": report.removed_paths}
        has_changed = bool(report.changed or report.removed)
        line, issues = _line(report), [issue.message for issue in report.issues]
    else:
        from ocmem.cli.qmd_watch import QmdSync

        assert isinstance(report, QmdSync)
        line, fields, has_changed = report.line, report.fields, report.has_changed
        issues = list(report.report.warnings)
    # Of tries that brought nothing there may be many, and the trouble itself was told.
    is_vain = outcome.due.reason == "retry" and not has_changed
    return None if is_vain else line, fields, issues


def _failure(outcome: "Outcome") -> OcmemError:
    error = outcome.error or OcmemError("")
    whose = f"Memory index failed ({outcome.settings.agent_id})"
    then = "no longer watched" if outcome.is_last else "trying again later"
    return OcmemError(f"{whose}: {error}; {then}", hint=error.hint)


def _line(report: SyncReport) -> str:
    """What changed, and how long it took."""
    told = [
        *_names("changed", report.changed_paths),
        *_names("removed", report.removed_paths),
    ] or ["nothing changed"]
    if report.embedded or report.cached:
        chunks = "chunk" if report.embedded == 1 else "chunks"
        told.append(f"{report.embedded} {chunks} embedded, {report.cached} from cache")
    if report.pending is not None:
        told.append(f"{report.pending.jobs} batch jobs pending")
    return f"{' · '.join(told)} · {report.seconds:.1f} s"


def _names(what: str, paths: Sequence[str]) -> Iterator[str]:
    if not paths:
        return
    some = ", ".join(table.one_line(common.harmless(path)) for path in paths[:_NAMED])
    more = len(paths) - _NAMED
    yield f"{what} {some}{f' and {more} more' if more > 0 else ''}"


def _moment() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
