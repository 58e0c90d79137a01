"""QMD as a backend: index, search, and what `status` may know without starting it."""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ocmem.backends.qmd import (
    causes,
    collections,
    ensuring,
    facts,
    home,
    indexing,
    limits,
    mapping,
    queries,
    state,
)
from ocmem.backends.qmd.answers import Entry
from ocmem.backends.qmd.collections import Collection, Wanted
from ocmem.backends.qmd.commands import Qmd
from ocmem.backends.qmd.facts import Facts
from ocmem.backends.qmd.indexing import Pause, QmdReport
from ocmem.backends.qmd.state import Memory
from ocmem.core import lock
from ocmem.core.store import qmd_index, swap
from ocmem.errors import IndexReadOnly, IndexUnavailable, QmdError
from ocmem.model import Hit, Source
from ocmem.settings import Settings
from ocmem.settings.qmd import QmdSettings

FETCH_TIMEOUT_MS = 3 * 3_600_000  # two gigabytes, on a slow line
_ENSURE_WAIT_S = 2.0  # a search does not wait longer for another run to make the collections
_REFRESH_WAIT_S = 0.5  # nor for one that has QMD look at its files
SLOW_REST_MS = 600_000  # what takes too long for a search is not tried at each of them
_NO_VECTORS = "need embeddings"


@dataclass(frozen=True, slots=True)
class Found:
    """The hits, the best first, and what a person should know about them."""

    hits: list[Hit]
    warnings: tuple[str, ...] = ()
    why_empty: str | None = None
    advice: str | None = None  # what to try then, in words of `ocmem search`


def _clock_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class QmdBackend:
    """One agent's QMD. What goes wrong is a QmdError, which names the cause."""

    settings: Settings
    env: Mapping[str, str] | None = None  # of the processes; ours and the settings' by default
    clock_ms: Callable[[], int] = _clock_ms
    pause: Pause = time.sleep
    qmd: QmdSettings = field(init=False)
    wanted: Wanted = field(init=False)
    _embedded_at_ms: int | None = None  # by this process

    def __post_init__(self) -> None:
        self.qmd = self.settings.qmd
        self.wanted = collections.wanted(self.qmd)

    def index(
        self,
        *,
        force: bool = False,
        wait_s: float = 0.0,
        export: Callable[[], Sequence[str]] | None = None,
        command: str = "index",
    ) -> QmdReport:
        """Bring QMD up to date, whether or not it failed before.

        `export` writes the sessions once the collections' folders are there, and gives warnings.
        Raises IndexBusy if another run holds the index for `wait_s`, IndexReadOnly where nothing
        can be written.
        """
        with lock.writing(self.qmd.database, wait_s=wait_s, command=command):
            known = self._memory.state()
            linked = self._prepare()
            exported = tuple(export()) if export is not None else ()
            updated_at_ms = self.clock_ms()  # what is written meanwhile is looked at again
            managed = tuple(each.name for each in self.wanted.collections)
            dropped = tuple(name for name in known.managed if name not in managed)
            report = self._updated(dropped, may_start_anew=force)
            embedding = indexing.embed(
                self._command,
                known,
                force=force,
                is_due=self._is_embed_due(),
                now_ms=self.clock_ms(),
            )
            if embedding.was_run and embedding.failure is None:
                self._embedded_at_ms = self.clock_ms()
            self._memory.keep(
                replace(
                    known,
                    updated_at_ms=updated_at_ms,
                    gave_up_at_ms=None,
                    managed=managed,
                    failure=None,
                    embed_failure=embedding.failure,
                )
            )
            told = (*self._told, *linked, *exported, *report.warnings, *embedding.warnings)
            return replace(
                report,
                embedded=embedding.was_run and embedding.failure is None,
                pending=indexing.pending(self._command),
                warnings=tuple(dict.fromkeys(told)),
            )

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float = 0.0,
        sources: Sequence[Source] | None = None,
        keeps_header: bool = False,
    ) -> Found:
        """Ask QMD, unless it failed a moment ago; `keeps_header` as in the reference's snippets."""
        text = queries.text_for(query, self.qmd.mode)
        if not text:
            return Found([], self._told, "the query is blank")
        self.check(query)
        try:
            found = self._found(text, max_results, min_score, sources, keeps_header=keeps_header)
        except QmdError as error:
            self._memory.remember(error, self.clock_ms())
            raise
        except IndexUnavailable as error:
            raise QmdError(str(error), cause="locked", hint=error.hint) from error
        self._memory.forget()
        return found

    def check(self, query: str) -> None:
        """Raise QmdError if it is known, without starting anything, that QMD cannot answer."""
        if self._command.location is None:
            raise causes.missing(self.qmd.command)
        self._memory.check_rest(self.clock_ms())
        text = queries.text_for(query, self.qmd.mode)
        if queries.needs_models(text, self.qmd.mode) and not home.has_models(
            self.qmd, self._command.env
        ):
            raise causes.without_models()

    def refresh(self, *, patience_ms: int) -> bool:
        """Let QMD look at its files within that time; False while one that failed is left alone.

        Raises QmdError if that fails, and IndexBusy if another run is at it.
        """
        now_ms = self.clock_ms()
        gave_up_ago_ms = self._age_ms(self._memory.state().gave_up_at_ms)
        if gave_up_ago_ms is not None and gave_up_ago_ms < SLOW_REST_MS:
            return False
        quick = replace(self.qmd.update, update_timeout_ms=patience_ms)
        command = Qmd(replace(self.qmd, update=quick), self._command.env)
        with lock.writing(self.qmd.database, wait_s=_REFRESH_WAIT_S, command="search"):
            try:
                command.update()
            except QmdError:
                self._memory.keep(replace(self._memory.state(), gave_up_at_ms=now_ms))
                raise
            known = self._memory.state()
            self._memory.keep(replace(known, updated_at_ms=now_ms, gave_up_at_ms=None))
        return True

    @property
    def updated_at_ms(self) -> int | None:
        """When ocmem last had QMD look at its files."""
        return self._memory.state().updated_at_ms

    def documents(self) -> dict[str, int] | None:
        """How many QMD has of each collection; None where that cannot be told."""
        return qmd_index.documents(self.qmd.database)

    def fetch_models(self, *, timeout_ms: int = FETCH_TIMEOUT_MS, wait_s: float = 0.0) -> None:
        """Have QMD fetch the models that are missing, those of the user's own QMD aside."""
        with lock.writing(self.qmd.database, wait_s=wait_s, command="warmup"):
            self._prepare()
            self._command.pull(timeout_ms=timeout_ms)

    def retry(self) -> None:
        """Let the next search ask QMD again, however it failed before."""
        self._memory.forget()

    def status(self, *, asks_version: bool = False) -> Facts:
        """Creates nothing, and starts nothing but `--version` where that is asked for."""
        return facts.gather(
            self._command,
            self.wanted,
            self._memory.state(),
            asks_version=asks_version,
            now_ms=self.clock_ms(),
        )

    # --- searching -------------------------------------------------------------------------------

    def _found(
        self,
        text: str,
        max_results: int | None,
        min_score: float,
        sources: Sequence[Source] | None,
        *,
        keeps_header: bool,
    ) -> Found:
        warnings = list(self._told)
        known = ensuring.known(self.qmd)
        if not ensuring.planned(self.wanted, known).is_empty:
            warnings += self._ensure()
            known = ensuring.known(self.qmd)
        chosen = self.wanted.of(sources)
        there = ensuring.searchable(chosen, known)
        if not there:
            return Found([], tuple(warnings), "QMD has no collection to search")
        limit = limits.most_results(self.qmd.limits.max_results, max_results)
        # A file that two collections have counts twice for QMD and once for us.
        asked = 2 * limit if collections.overlap(there) else limit
        try:
            entries, said = self._ask(text, there, asked, known)
        except QmdError as error:
            if error.cause != "collections":
                raise
            warnings += self._ensure()
            there = ensuring.searchable(chosen, ensuring.known(self.qmd))
            entries, said = self._ask(text, there, asked, known)
        if _NO_VECTORS in said and self.qmd.mode != "search":
            warnings.append("QMD has no vectors of some notes yet; run: ocmem index")
        hits = mapping.hits(
            entries,
            there,
            workspace=self.qmd.workspace,
            by_docid=self._by_docid,
            max_snippet_chars=self.qmd.limits.max_snippet_chars,
            keeps_header=keeps_header,
        )
        kept = [hit for hit in hits if hit.score >= min_score][:limit]
        told = tuple(dict.fromkeys(warnings))
        if not kept:
            return Found([], told, *self._why_empty(text, hits, min_score))
        return Found(limits.injected(kept, self.qmd.limits.max_injected_chars), told)

    def _why_empty(self, text: str, below: Sequence[Hit], min_score: float) -> tuple[str, str]:
        """The reason, and what to try."""
        if below:
            best = below[0].score
            why = f"the best match scores {best:g}, below the floor of {min_score:g}"
            return why, f"try --min-score {math.floor(best * 100) / 100:g}"
        if self.qmd.mode == "search" and len(text.split()) > 1:
            return "QMD found no note with all of these words", "try fewer, or --backend builtin"
        return "QMD found nothing", "try other words, or --backend builtin"

    def _ask(
        self, text: str, there: Sequence[Collection], limit: int, known: ensuring.Known
    ) -> tuple[list[Entry], str]:
        mode = self.qmd.mode
        try:
            return self._command.search(text, there, mode=mode, limit=limit)
        except QmdError as error:
            if error.cause == "failed" and mode == "query" and queries.is_typed(text):
                raise QmdError(str(error), cause="query", hint=error.hint) from error
            # Only a QMD before 2.0 might dislike several collections at once.
            if error.cause != "failed" or known.listed is not None or len(there) < 2:
                raise
        found: list[Entry] = []
        for each in there:
            entries, _ = self._command.search(text, [each], mode=mode, limit=limit)
            found += [replace(entry, collection=entry.collection or each.name) for entry in entries]
        return found, ""

    def _by_docid(self, docid: str) -> list[tuple[str, str]]:
        index = qmd_index.open_existing(self.qmd.database)
        if index is None:
            return []
        with index:
            return index.with_docid(docid)

    def _ensure(self) -> list[str]:
        with lock.writing(self.qmd.database, wait_s=_ENSURE_WAIT_S, command="search"):
            linked = self._prepare()
            is_first = not ensuring.known(self.qmd).has_index
            began_ms = self.clock_ms()
            warnings = ensuring.ensure(self._command, self.wanted).warnings
            if is_first:  # what is added is looked at
                self._memory.keep(replace(self._memory.state(), updated_at_ms=began_ms))
            return [*linked, *warnings]

    # --- indexing --------------------------------------------------------------------------------

    def _updated(self, dropped: Sequence[str], *, may_start_anew: bool) -> QmdReport:
        update = partial(
            indexing.update, self._command, self.wanted, dropped, self.pause, self.settings.shown
        )
        try:
            return update()
        except QmdError as error:
            if not may_start_anew or error.cause != "damaged":
                raise
        aside = swap.put_aside(self.qmd.database)
        report = update()
        told = f"QMD's damaged index is kept as {self.settings.shown(aside)}"
        return replace(report, warnings=(told, *report.warnings))

    # --- both ------------------------------------------------------------------------------------

    @property
    def _command(self) -> Qmd:
        if self.env is not None:
            return Qmd(self.qmd, self.env)
        # With what the settings files add, as for the reference's own processes.
        return Qmd(self.qmd, {**os.environ, **self.settings.env})

    @property
    def _memory(self) -> Memory:
        return Memory(self.qmd.home / state.NAME, command=self.qmd.command, mode=self.qmd.mode)

    @property
    def _told(self) -> tuple[str, ...]:
        return (*self.qmd.warnings, *self.wanted.warnings)

    def _prepare(self) -> list[str]:
        """The folders, and the models if they can be shared; warnings."""
        try:
            home.prepare(self.qmd)
        except OSError as error:
            raise IndexReadOnly(f"cannot write in {self.qmd.home}: {error.strerror}") from error
        warning = home.link_models(self.qmd, self._command.env, self.settings.home)
        return [warning] if warning else []

    def _is_embed_due(self) -> bool:
        """Once for each process, and again after the interval, if there is one."""
        age_ms, interval_ms = self._age_ms(self._embedded_at_ms), self.qmd.update.embed_interval_ms
        return age_ms is None or 0 < interval_ms <= age_ms

    def _age_ms(self, at_ms: int | None) -> int | None:
        """How long ago that was; None if never, or on a clock that was set back."""
        age_ms = None if at_ms is None else self.clock_ms() - at_ms
        return None if age_ms is None or age_ms < 0 else age_ms
