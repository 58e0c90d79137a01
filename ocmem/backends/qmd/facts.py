"""What `status` tells about an agent's QMD: read from files, and creating none."""

from dataclasses import dataclass

from ocmem.backends.qmd import causes, collections, home
from ocmem.backends.qmd.collections import Collection, Wanted
from ocmem.backends.qmd.commands import Qmd
from ocmem.backends.qmd.cooldown import Failure
from ocmem.backends.qmd.state import State
from ocmem.core.store import qmd_index
from ocmem.core.store.qmd_index import Counts
from ocmem.errors import IndexUnavailable, QmdError
from ocmem.model import Source


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an agent's QMD. `rest_ms`: how long it is still left alone."""

    command: str
    location: str | None  # None: there is no such command
    version: str | None  # None: not asked, or it could not tell
    trouble: QmdError | None  # why it could not
    index_exists: bool
    counts: Counts
    collections: tuple[Collection, ...]
    absent: tuple[str, ...]  # names of those that QMD does not have yet, and could have
    missing: tuple[Collection, ...]  # their folders are not there
    updated_at_ms: int | None
    failure: Failure | None
    rest_ms: int
    embed_failure: Failure | None
    has_models: bool
    index_error: IndexUnavailable | None = None  # why nobody can tell what is in the index
    warnings: tuple[str, ...] = ()

    def documents(self, source: Source) -> int:
        return sum(
            self.counts.documents.get(each.name, 0)
            for each in self.collections
            if each.source == source
        )


def gather(qmd: Qmd, wanted: Wanted, state: State, *, asks_version: bool, now_ms: int) -> Facts:
    settings, location = qmd.settings, qmd.location
    warnings = [*settings.warnings, *wanted.warnings]
    version = None
    trouble = None if location is not None else causes.missing(settings.command)
    if asks_version and location is not None:
        try:
            version = qmd.version()
        except QmdError as error:
            trouble = error
    missing = tuple(
        each for each in collections.missing_roots(wanted.collections) if each.kind != "sessions"
    )
    absent = [each.name for each in wanted.collections if each not in missing]
    exists, counts, index_error = False, Counts(), None
    try:
        index = qmd_index.open_existing(settings.database)
        if index is not None:
            with index:
                exists, counts = True, index.counts()
                listed = index.collections()
                names = absent if listed is None else [name for name, *_ in listed]
                absent = [name for name in absent if name not in names]
    except IndexUnavailable as error:
        exists, index_error = True, error
    return Facts(
        command=settings.command,
        location=location,
        version=version,
        trouble=trouble,
        index_exists=exists,
        counts=counts,
        collections=wanted.collections,
        absent=tuple(absent),
        missing=missing,
        updated_at_ms=state.updated_at_ms,
        failure=state.failure,
        rest_ms=state.failure.left_ms(now_ms) if state.failure is not None else 0,
        embed_failure=state.embed_failure,
        has_models=home.has_models(settings, qmd.env),
        index_error=index_error,
        warnings=tuple(warnings),
    )
