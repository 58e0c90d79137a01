"""The built-in index: sync first, then answer."""

import contextlib
import math
import os
import time
from dataclasses import dataclass, field
from itertools import islice

from ocmem.backends.answer import Answer
from ocmem.core import chunk_rows, embedder, freshness, indexer, jobs, lock, sql, substitute, utf16
from ocmem.core.embedder import Embedder, Notice, Progress, no_notice
from ocmem.core.indexer import Log
from ocmem.core.jobs import Batching
from ocmem.core.scan import Clock
from ocmem.core.search import Mode, Searcher, Wanted
from ocmem.core.store import Connection, open_existing, rows, vectors, writing
from ocmem.core.sync import GAVE_UP, MOVED_RETRIES, Sync, no_log, no_progress
from ocmem.core.transcript import Unreadable
from ocmem.errors import (
    EmbedderError,
    IndexBusy,
    IndexMoved,
    IndexReadOnly,
    IndexUnavailable,
    OutOfTime,
)
from ocmem.model import Source, SourceFile, SyncReport, Vector
from ocmem.settings import Settings
from ocmem.settings.address import shown_url

SYNC_BEFORE_SEARCH_S = 5.0
CHUNKS_BEFORE_SEARCH = 50
SLOW_PROVIDER_REST_MS = 600_000  # what is paid for and not waited for is not asked for at once
_FIRST_INDEX_WAIT_S = 600.0


@dataclass(slots=True)
class BuiltinBackend:
    settings: Settings
    progress: Progress = no_progress
    clock_ns: Clock = field(default_factory=Clock)
    embedder: Embedder | None = None
    log: Log = no_log  # what is going on, for people who asked
    notice: Notice = no_notice  # what a person should know while it happens
    _warnings: list[str] = field(default_factory=list)
    _embedded_queries: dict[str, Vector] = field(default_factory=dict)
    _trouble: EmbedderError | None = None  # why the provider could not be used
    _is_slow: bool = False  # it took longer than a person should wait

    def index(
        self,
        *,
        force: bool,
        wait_s: float,
        batching: Batching = jobs.AS_CONFIGURED,
        only: tuple[Source, ...] = (),
        command: str = "index",
    ) -> SyncReport:
        """Bring the index up to date; raises IndexBusy if another run holds it for `wait_s`."""
        with lock.writing(self.settings.index_path, wait_s=wait_s, command=command):
            sync = self._sync()
            sync.batching = batching
            sync.only = only
            report = sync.run(force=force)
            self.embedder = sync.embedder  # whoever comes back need not load it again
        if report.embedded:
            substitute.strike_out(self.settings)
        return report

    def search(self, wanted: Wanted, *, sync: bool) -> Answer:
        if wanted.keywords_only and embedder.identity_of(self.settings.provider).costs:
            sync = False  # who asks for keywords does not ask to pay
        stale = self._sync_first(wanted.sources) if sync else False
        for _ in range(MOVED_RETRIES - 1):
            with contextlib.suppress(IndexMoved):
                return self._answer(wanted, stale, sync=sync)
        return self._answer(wanted, stale, sync=sync)

    def _answer(self, wanted: Wanted, stale: bool, *, sync: bool) -> Answer:
        db = open_existing(self.settings.index_path, "read")
        if db is None:
            return self._no_index(wanted)
        with db:
            rows.refuse_foreign(db)
            if not rows.is_index(db):
                return self._no_index(wanted)
            if self.settings.search.vector_enabled:
                db.load_vectors(self.settings.search.vector_extension_path)
                if db.vector_error is not None:
                    self._warnings.append(f"sqlite-vec unavailable: {db.vector_error}")
            if not sync:
                stale = freshness.is_dirty(self.settings, db, wanted.sources)
                if stale:
                    told = f"files changed since the index was made; {self._remedy()}"
                    self._warnings.append(told)
            vector, degraded = None, None
            if not wanted.keywords_only:
                vector, degraded = self._query_vector(db, wanted.query)
            searcher = Searcher(
                db,
                self.settings,
                wanted,
                vector,
                self._mode(vector, degraded),
                embedder.identity_of(self.settings.provider).model,
            )
            hits = searcher.hits() if utf16.trim(wanted.query) else []
            why_empty, advice = (None, None) if hits else self._why_empty(searcher)
            return Answer(
                hits=hits,
                ranker=wanted.ranker,
                mode=searcher.mode,
                degraded=degraded,
                stale=stale,
                warnings=tuple(dict.fromkeys(self._warnings)),
                why_empty=why_empty,
                advice=advice,
                hint=self._trouble.hint if self._trouble else None,
                failure=self._trouble,
                yardstick=searcher.yardstick() if wanted.compares else None,
                evidence=tuple(map(searcher.evidence, hits)) if wanted.compares else (),
            )

    # --- sync before search ----------------------------------------------------------------------

    def _sync_first(self, sources: tuple[Source, ...]) -> bool:
        """Catch up as far as that is free and quick; True if the answer may be out of date."""
        sync = self._sync()
        sync.thorough = False
        sync.only = sources
        with_index = False
        try:
            with_index, needed, affordable = self._outlook(sync)
            if not needed:
                return False
            if not affordable:
                self._warnings.append(f"the index is out of date; {self._remedy()}")
                return True
            if with_index and sync.identity.costs:
                sync.deadline = time.monotonic() + SYNC_BEFORE_SEARCH_S
            try:
                report = self._run_first(sync, with_index=with_index)
            finally:
                self.embedder = sync.embedder  # a model is loaded once, for notes and query alike
            self._warnings += [issue.message for issue in report.issues if issue.serious]
            if report.pending is not None:
                self._warnings.append(f"the index is out of date; {self._remedy()}")
                return True
        except IndexReadOnly as error:
            if not with_index:
                raise  # there is nothing to answer from
            self._warnings.append(f"sync failed (search): {error}")
            return True
        except EmbedderError as error:
            if not with_index and self.settings.provider.missing is None:
                raise  # there is nothing to answer from
            if sync.deadline is not None and self._is_out_of_time(sync.deadline, error):
                self._give_up(sync)
                return True
            self._trouble = error
            self._warnings.append(f"sync failed (search): {error}")
            if self.settings.provider.missing is None:
                self._warnings.append(f"the index is out of date; {self._remedy()}")
            return True
        except (IndexBusy, IndexMoved) as error:
            self._warnings.append(f"{error}; answering from what is there")
            return True
        return False

    def _is_out_of_time(self, deadline: float, error: EmbedderError) -> bool:
        return isinstance(error, OutOfTime) or time.monotonic() >= deadline

    def _give_up(self, sync: Sync) -> None:
        """Say so, and let the next searches answer at once instead of paying for nothing again."""
        self._is_slow = True
        self._warnings.append(
            f"{SYNC_BEFORE_SEARCH_S:g} s were not enough to bring the index up to date "
            f"({sync.report.embedded} chunks embedded); {self._remedy()}"
        )
        with contextlib.suppress(IndexUnavailable):
            db = open_existing(self.settings.index_path)
            if db is not None:
                with db:
                    rows.set_state(db, GAVE_UP, str(self.clock_ns() // 1_000_000))

    def _run_first(self, sync: Sync, *, with_index: bool) -> SyncReport:
        """Catch up now; wait for another run only if there is nothing else to answer from."""
        path = self.settings.index_path
        try:
            with lock.writing(path, wait_s=0, command="search"):
                return sync.run()
        except IndexBusy as error:
            if with_index:
                raise
            self.notice(f"{error}; waiting")
        with lock.writing(path, wait_s=_FIRST_INDEX_WAIT_S, command="search"):
            return sync.run()

    def _outlook(self, sync: Sync) -> tuple[bool, bool, bool]:
        """Is there an index, does it need work, and may a search do that work unasked?"""
        db = open_existing(self.settings.index_path, "read")
        if db is None:
            return False, True, not self._has_jobs()
        with db:
            if not rows.is_index(db) or not db.value(sql.HAS_FILES):
                return False, True, not self._has_jobs()
            sync.load_vectors(db)  # a table that lacks them is a reason for a full rebuild
            meta = rows.read_meta(db)
            if meta is None or sync.why_full(meta, db):
                return True, True, False
            gave_up_ms = int(rows.state(db, GAVE_UP) or -SLOW_PROVIDER_REST_MS)
            rests = abs(self.clock_ns() // 1_000_000 - gave_up_ms) < SLOW_PROVIDER_REST_MS
            scan = freshness.scan_of(self.settings, db, sync.only)
            if not sync.identity.costs and self._may_write() and scan.may_differ():
                return True, True, True  # the run itself will see, and reads them once
            missing: set[str] = set()
            needed = False
            for file, _ in scan.changed(self.clock_ns):
                needed = True
                if not sync.identity.costs:
                    return True, True, True
                with contextlib.suppress(Unreadable):  # the run will tell
                    missing |= self._unpaid(db, sync, file)
                if len(missing) > CHUNKS_BEFORE_SEARCH or (missing and rests):
                    return True, True, False
            switches = freshness.table_switches(self.settings)
            is_behind = bool(scan.restamped) or rows.state(db, "tables") != switches
            needed = needed or bool(scan.gone()) or (is_behind and self._may_write())
            if missing and self.settings.provider.missing:
                raise embedder.unavailable(self.settings.provider, self.settings.provider.missing)
            if not needed:
                self._warnings += [issue.message for issue in scan.issues() if issue.serious]
            return True, needed, True

    def _unpaid(self, db: Connection, sync: Sync, file: SourceFile) -> set[str]:
        """The texts of a file that would have to be embedded, or more than a search may pay for."""
        present = writing.chunk_ids(db, file.path, file.source)
        has_cache = indexer.uses_cache(self.settings, sync.identity)
        unpaid: set[str] = set()
        found = chunk_rows.rows_of(self.settings, sync.identity, file)
        while some := [*islice(found, CHUNKS_BEFORE_SEARCH)]:
            new = {row.hash for row in some if file.turns is None or row.id not in present}
            cached = rows.cached(db, sync.identity.cache_key, new).keys() if has_cache else ()
            unpaid |= new.difference(cached)
            if len(unpaid) > CHUNKS_BEFORE_SEARCH:
                break
        return unpaid

    def _has_jobs(self) -> bool:
        """Whether batch jobs are under way for a first index, which then has to wait for them."""
        if not jobs.ledger_path(self.settings.index_path).exists():
            return False
        from ocmem.core import ledger

        return ledger.pending(self.settings) is not None

    def _may_write(self) -> bool:
        path = self.settings.index_path
        return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)

    def _sync(self) -> Sync:
        return Sync(
            self.settings,
            self.progress,
            self.clock_ns,
            embedder=self.embedder,
            log=self.log,
            notice=self.notice,
        )

    def _remedy(self) -> str:
        return f"run: {self.settings.index_command}"

    # --- the query -------------------------------------------------------------------------------

    def _query_vector(self, db: Connection, query: str) -> tuple[Vector | None, str | None]:
        """The query's vector, or why there is none that could be compared."""
        identity = embedder.identity_of(self.settings.provider)
        missing = self.settings.provider.missing
        if missing is not None or not identity.has_vectors:
            if missing is not None:
                self._trouble = embedder.unavailable(self.settings.provider, missing)
            return None, missing
        meta = rows.read_meta(db)
        if meta is not None and (meta.provider, meta.model, meta.provider_key) != (
            identity.provider,
            identity.model,
            identity.cache_key.provider_key,
        ):
            built = f"{meta.provider} ({shown_url(meta.model)})"
            return None, f"the index was built with {built}; {self._remedy()}"
        if self._trouble is not None:
            return None, str(self._trouble)  # asked a moment ago, in vain
        try:
            vector = self._embedded(utf16.trim(query))
        except EmbedderError as error:
            self._trouble = error
            return None, str(error)
        dims = vectors.dims_of(db) or vectors.dims_stored(db)
        if vector and dims is not None and len(vector) != dims:
            return None, (
                f"the query has {len(vector)} dimensions and the index {dims}; if the model behind "
                "the URL changed, run: ocmem index --force"
            )
        return vector, None

    def _embedded(self, query: str) -> Vector:
        """Asked for once, even if the file is swapped meanwhile."""
        if query not in self._embedded_queries:
            if self.embedder is None:
                self.embedder = embedder.connect(self.settings, self.notice, self.progress)
            timeout_s = embedder.query_timeout_s(self.settings.provider.id)
            if self._is_slow:
                timeout_s = SYNC_BEFORE_SEARCH_S
            vector = self.embedder.embed_query(query, timeout_s=timeout_s)
            self._embedded_queries[query] = vector
            substitute.strike_out(self.settings)
        return self._embedded_queries[query]

    def _mode(self, vector: Vector | None, degraded: str | None) -> Mode:
        if degraded or vector is None:
            return "fts-only"
        return "hybrid" if self.settings.search.query.hybrid else "vector"

    # --- nothing found ---------------------------------------------------------------------------

    def _no_index(self, wanted: Wanted) -> Answer:
        where = self.settings.shown(self.settings.index_path)
        trouble = self._trouble
        remedy = "" if trouble else f"; {self._remedy()}"
        self._warnings.append(f"there is no index yet at {where}{remedy}")
        return Answer(
            hits=[],
            ranker=wanted.ranker,
            mode="fts-only",
            degraded=str(trouble) if trouble else self.settings.provider.missing,
            stale=True,
            warnings=tuple(dict.fromkeys(self._warnings)),
            hint=trouble.hint if trouble else None,
        )

    def _why_empty(self, searcher: Searcher) -> tuple[str, str | None]:
        """The reason, and what to try."""
        if not utf16.trim(searcher.wanted.query):
            return "the query is blank", None
        if not searcher.db.value(sql.HAS_CHUNKS):
            if self._trouble:
                return "no notes are indexed yet", None
            shown = self.settings.shown(self.settings.workspace)
            other = "another folder can be named by --workspace"
            return f"no notes are indexed in {shown}", other
        best = searcher.best_below_floor
        if best is not None:
            more = "without --strict, or " if searcher.wanted.strict else ""
            return (
                f"the best match scores {best:.3f}, below the floor of {searcher.floor:g}",
                f"try {more}--min-score {max(0, math.floor(best * 100)) / 100:g}",
            )
        unmatched = searcher.unmatched()
        if unmatched:
            words = [word if len(word) <= 40 else f"{word[:39]}…" for word in unmatched[:10]]
            more = ", …" if len(unmatched) > len(words) else ""
            advice = "try other words"
            if searcher.wanted.keywords_only:
                advice += ", or leave out --provider none"
            elif searcher.vector:
                advice += ", or --min-score 0"
            return f"no indexed note has: {', '.join(words)}{more}", advice
        if searcher.vector is None and not searcher.terms():
            return "the query has no words to look for", None
        return "nothing is near enough in meaning", "try --min-score 0 --ranker fused"
