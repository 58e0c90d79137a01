"""Make QMD have the collections that it should, touching none that is right already."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ocmem.backends.qmd import collections
from ocmem.backends.qmd.collections import Collection, Listed, Plan, Wanted
from ocmem.backends.qmd.commands import Counts, Qmd
from ocmem.core.store import qmd_index
from ocmem.errors import IndexBusy, IndexDamaged, IndexUnavailable, QmdError
from ocmem.settings.qmd import QmdSettings


@dataclass(frozen=True, slots=True)
class Known:
    """What QMD's index says of its collections, read from the file: no process is started.

    `listed` is None where the file does not say: there is none, or QMD is older than 2.0.
    """

    has_index: bool
    listed: tuple[Listed, ...] | None


@dataclass(frozen=True, slots=True)
class Ensured:
    """What had to be done, and what could not be."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    counts: Counts = field(default_factory=Counts)
    warnings: tuple[str, ...] = ()


def known(settings: QmdSettings) -> Known:
    for _ in range(2):
        try:
            return _known(settings)
        except IndexDamaged:
            continue  # perhaps QMD was writing just now
        except IndexUnavailable as error:
            cause = "locked" if isinstance(error, IndexBusy) else "unreadable"
            raise QmdError(str(error), cause=cause, hint=error.hint) from error
    return Known(has_index=True, listed=None)  # QMD itself may know better


def names(qmd: Qmd) -> tuple[str, ...]:
    """What QMD's index lists now, if it does."""
    return tuple(each.name for each in known(qmd.settings).listed or ())


def planned(wanted: Wanted, known: Known) -> Plan:
    """What is to be done, as far as the file tells; folders that are not there have to wait."""
    if known.listed is None:
        return Plan() if known.has_index else Plan(adds=_present(wanted.collections))
    plan = collections.plan(wanted.collections, known.listed)
    return replace(plan, adds=_present(plan.adds))


def searchable(wanted: Iterable[Collection], known: Known) -> tuple[Collection, ...]:
    """Those that QMD has: one that it does not know would fail the whole search."""
    if known.listed is None:
        return _present(wanted)
    names = {each.name for each in known.listed}
    return tuple(each for each in wanted if each.name in names)


def ensure(qmd: Qmd, wanted: Wanted) -> Ensured:
    """Carry out what is planned; only a collection that cannot be added is a warning."""
    found = known(qmd.settings)
    listed = _asked(qmd, wanted) if found.listed is None and found.has_index else found.listed
    plan = collections.plan(wanted.collections, listed or ())
    return carry_out(qmd, replace(plan, adds=_present(plan.adds)))


def remove(qmd: Qmd, dropped: Sequence[str]) -> Ensured:
    """Take away what nobody asks for any more, as far as it is there."""
    there = set(names(qmd)) if dropped else set()
    return carry_out(qmd, Plan(removes=tuple(name for name in dropped if name in there)))


def make_anew(qmd: Qmd, wanted: Wanted) -> Ensured:
    """Remove and add everything."""
    listed = {each.name for each in known(qmd.settings).listed or _asked(qmd, wanted)}
    removes = tuple(each.name for each in wanted.collections if each.name in listed)
    return carry_out(qmd, Plan(removes, _present(wanted.collections)))


def carry_out(qmd: Qmd, plan: Plan) -> Ensured:
    removed, added, warnings, counts = [], [], [], Counts()
    for name in plan.removes:
        try:
            qmd.remove(name)
            removed.append(name)
        except QmdError as error:
            _go_on_after(error)
            warnings.append(str(error))
    for collection in plan.adds:
        try:
            counts += qmd.add(collection)
            added.append(collection.name)
        except QmdError as error:
            _go_on_after(error)
            warnings.append(str(error))
    return Ensured(tuple(added), tuple(removed), counts, tuple(warnings))


def _go_on_after(error: QmdError) -> None:
    """What is wrong with one collection need not be wrong with the next."""
    if error.cause not in ("failed", "collections"):
        raise error


def _known(settings: QmdSettings) -> Known:
    index = qmd_index.open_existing(settings.database)
    if index is None:
        return Known(has_index=False, listed=None)
    with index:
        rows = index.collections()
    listed = None if rows is None else tuple(Listed(*row) for row in rows)
    return Known(has_index=True, listed=listed)


def _asked(qmd: Qmd, wanted: Wanted) -> list[Listed]:
    """What QMD lists, for one that keeps its collections elsewhere; nothing if it will not say."""
    try:
        listed = qmd.collections()
    except QmdError as error:
        _go_on_after(error)
        return []
    ours = {name for each in wanted.collections for name in (each.name, each.base)}
    return [
        replace(each, root=qmd.folder_of(each.name))
        if each.root is None and each.name in ours
        else each
        for each in listed
    ]


def _present(wanted: Iterable[Collection]) -> tuple[Collection, ...]:
    return tuple(each for each in wanted if collections.is_folder(each.root))
