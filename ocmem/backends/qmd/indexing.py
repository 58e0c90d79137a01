"""One run over everything: collections, exported sessions, QMD's update, and its vectors."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ocmem.backends.qmd import collections, cooldown, ensuring, home
from ocmem.backends.qmd.collections import Wanted
from ocmem.backends.qmd.commands import Counts, DamagedPaths, Qmd
from ocmem.backends.qmd.cooldown import Failure
from ocmem.backends.qmd.state import State
from ocmem.core.store import qmd_index
from ocmem.errors import IndexUnavailable, QmdError

Pause = Callable[[float], None]

_PAUSES_S = (0.5, 1.0)  # between three attempts
_MAY_PASS = ("timeout", "locked")
_STILL_FAILED = re.compile(r"([\d,]+) chunks still failed")


@dataclass(frozen=True, slots=True)
class Embedding:
    """How the vectors came along; `failure` is the last one if they did not."""

    was_run: bool = False
    failure: Failure | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QmdReport:
    """What a run did. `counts` are documents; an empty index file is no report but an error."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    counts: Counts = field(default_factory=Counts)
    embedded: bool = False
    pending: int | None = None  # texts without vectors; None where that cannot be told
    size: int = 0  # of the index, in bytes
    warnings: tuple[str, ...] = ()


def update(
    qmd: Qmd,
    wanted: Wanted,
    dropped: Sequence[str],
    pause: Pause,
    shown: Callable[[Path], str],
) -> QmdReport:
    """Collections and their documents; raises QmdError if QMD cannot.

    `dropped` are collections that the settings no longer ask for.
    """
    lost = _missing(qmd, wanted, shown)
    gone = ensuring.remove(qmd, dropped)
    ensured = ensuring.ensure(qmd, wanted)
    before = set(ensuring.names(qmd))
    try:
        counts = _updated(qmd, pause)
    except DamagedPaths:
        again = ensuring.make_anew(qmd, wanted)
        ensured = replace(ensured, warnings=ensured.warnings + again.warnings)
        counts = _updated(qmd, pause)
    if set(ensuring.names(qmd)) < before:
        # QMD goes by a settings file of its own, and somebody has emptied that.
        again = ensuring.ensure(qmd, wanted)
        counts += again.counts
        ensured = replace(ensured, warnings=ensured.warnings + again.warnings)
    size = _size(qmd)
    if not size:
        raise QmdError(
            f"QMD made no index: there is no {qmd.settings.database}, or it is empty",
            cause="output",
            hint="is that qmd the one from npm, @tobilu/qmd?",
        )
    made = ensured.counts  # what was added is indexed at once, and then unchanged
    counts = replace(counts + made, unchanged=max(0, counts.unchanged - made.new))
    return QmdReport(
        added=ensured.added,
        removed=(*gone.removed, *ensured.removed),
        counts=counts,
        size=size,
        warnings=(*lost, *gone.warnings, *ensured.warnings),
    )


def embed(qmd: Qmd, state: State, *, force: bool, is_due: bool, now_ms: int) -> Embedding:
    """The vectors, if the mode uses any; that they fail is a warning, and a rest for later runs."""
    if qmd.settings.mode == "search" or not (force or is_due):
        return Embedding(failure=state.embed_failure)
    if not home.can_embed(qmd.settings, qmd.env):  # QMD would fetch gigabytes that nobody ordered
        warning = "QMD's models are not on this machine, so nothing is embedded; run: ocmem warmup"
        return Embedding(failure=state.embed_failure, warnings=(warning,))
    former = state.embed_failure
    if former is not None and not force and (left_ms := former.left_ms(now_ms)):
        told = f"{former.reason}; tried again in {-(-left_ms // 1000)} s, or by --force"
        return Embedding(failure=former, warnings=(told,))
    try:
        said = qmd.embed()
    except QmdError as error:
        failure = cooldown.after(
            former, now_ms=now_ms, cause=error.cause, reason=str(error), hint=error.hint
        )
        return Embedding(was_run=True, failure=failure, warnings=(_with_hint(error),))
    failed = _STILL_FAILED.search(said)
    warnings = (f"QMD could not embed {failed[1]} pieces of text",) if failed else ()
    return Embedding(was_run=True, warnings=warnings)


def pending(qmd: Qmd) -> int | None:
    try:
        index = qmd_index.open_existing(qmd.settings.database)
        if index is None:
            return None
        with index:
            return index.counts().pending
    except IndexUnavailable:
        return None


def _updated(qmd: Qmd, pause: Pause) -> Counts:
    for pause_s in _PAUSES_S:
        try:
            return qmd.update()
        except QmdError as error:
            if error.cause not in _MAY_PASS:
                raise
            pause(pause_s)
    return qmd.update()


def _missing(qmd: Qmd, wanted: Wanted, shown: Callable[[Path], str]) -> list[str]:
    """Folders that are not there. QMD drops their documents, were it only an unmounted disk."""
    missing = collections.missing_roots(wanted.collections)
    documents = qmd_index.documents(qmd.settings.database) if missing else None
    lost = {each.name: (documents or {}).get(each.name, 0) for each in missing}
    forgotten = (
        f"{shown(each.root)} is not there: QMD forgets its {lost[each.name]} documents meanwhile"
        for each in missing
        if lost[each.name]
    )
    never_had = (each for each in missing if not lost[each.name])
    return [*forgotten, *collections.lacks(never_had, shown)]


def _size(qmd: Qmd) -> int:
    try:
        return qmd.settings.database.stat().st_size
    except OSError:
        return 0


def _with_hint(error: QmdError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)
