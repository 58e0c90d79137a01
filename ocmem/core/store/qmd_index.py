"""QMD's index file, read only: what is in it is QMD's business, how much of it is ours to know."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import apsw

from ocmem.core import sql
from ocmem.errors import IndexBusy, IndexDamaged, IndexUnavailable

_BUSY_MS = 250


@dataclass(frozen=True, slots=True)
class Counts:
    """Documents by collection; `pending` have no vectors yet, None where that cannot be told."""

    documents: dict[str, int] = field(default_factory=dict)
    contents: int = 0  # different texts: documents may be copies of each other
    pending: int | None = None

    @property
    def total(self) -> int:
        return sum(self.documents.values())


class QmdIndex:
    """An index, open for a moment. Raises IndexUnavailable where it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._translated():
            self._db = _opened(path)
            self._db.set_busy_timeout(_BUSY_MS)

    def collections(self) -> list[tuple[str, str, str]] | None:
        """Name, folder and pattern of each; None if QMD is too old to keep them here."""
        if not self._has("store_collections"):
            return None
        return [
            (str(name), str(path), str(pattern))
            for name, path, pattern in self._rows(sql.QMD_COLLECTIONS)
        ]

    def counts(self) -> Counts:
        if not self._has("documents"):
            return Counts()
        documents = {str(name): int(count) for name, count in self._rows(sql.QMD_COUNTS)}
        [(contents,)] = self._rows(sql.QMD_CONTENTS)
        pending = None
        if self._has("content_vectors"):
            columns = {name for (name,) in self._rows(sql.COLUMNS, table="content_vectors")}
            whole = sql.QMD_EMBEDDED if "total_chunks" in columns else sql.QMD_EMBEDDED_1
            [(embedded,)] = self._rows(whole)
            pending = contents - embedded
        return Counts(documents, contents, pending)

    def with_docid(self, docid: str) -> list[tuple[str, str]]:
        """Collection and path of every document whose text has that hash, or one so beginning."""
        return [(str(name), str(path)) for name, path in self._rows(sql.QMD_BY_DOCID, docid=docid)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close(True)

    def _has(self, table: str) -> bool:
        return bool(self._rows(sql.HAS_TABLE, name=table))

    def _rows(self, statement: str, **values: str) -> list[tuple[Any, ...]]:
        with self._translated():
            return self._db.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (apsw.BusyError, apsw.LockedError) as error:
            raise IndexBusy(f"another program keeps {self.path} locked") from error
        except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, UnicodeDecodeError) as error:
            raise IndexDamaged(f"{self.path}: {error}") from error
        except (apsw.Error, UnicodeEncodeError) as error:
            raise IndexUnavailable(f"cannot read {self.path}: {error}") from error


def open_existing(path: Path) -> QmdIndex | None:
    """The index at `path`, or None if there is none. Creates no file, not even beside it."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return None
    except OSError as error:
        raise IndexUnavailable(f"cannot read {path}: {error.strerror}") from error
    return QmdIndex(path)


def documents(path: Path) -> dict[str, int] | None:
    """How many of each collection; None without an index, or one that cannot be read just now."""
    try:
        index = open_existing(path)
        if index is None:
            return None
        with index:
            return index.counts().documents
    except IndexUnavailable:
        return None


def _opened(path: Path) -> apsw.Connection:
    log = path.with_name(f"{path.name}-wal")
    if log.exists():
        return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    # Everything is in the file. A reader of a file in WAL mode would make two more beside it, and
    # could not take them away again; unless it is told that nobody writes meanwhile.
    address = f"file:{quote(str(path))}?immutable=1"
    return apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
