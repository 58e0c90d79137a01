"""The only module that holds a database connection (apsw)."""

import contextlib
import importlib.util
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import apsw

from ocmem.core import sql
from ocmem.errors import (
    IndexBusy,
    IndexDamaged,
    IndexMoved,
    IndexReadOnly,
    IndexUnavailable,
)

Mode = Literal["read", "write", "create"]
Row = tuple[Any, ...]

BUSY_MS = 10_000
COMPANIONS = ("-journal", "-wal", "-shm")  # what SQLite keeps beside a file, by its name
_SWAP_PATIENCE_S = 1.0
# Moved away; or, to a reader, beside a journal that is not its own or that a killed run left.
_OPEN_AGAIN = (apsw.SQLITE_READONLY_DBMOVED, apsw.SQLITE_READONLY_ROLLBACK)
_FLAGS = {
    "read": apsw.SQLITE_OPEN_READONLY,
    "write": apsw.SQLITE_OPEN_READWRITE,
    "create": apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE,
}


class Connection:
    """One open index file. Reads are fetched completely; a write is a transaction."""

    def __init__(self, path: Path, mode: Mode, *, busy_ms: int = BUSY_MS) -> None:
        self.path = path
        self.mode = mode
        self.is_stand_in = False  # under a name that it has only until a writer puts it back
        self.vector_path: str | None = None
        self.vector_error: str | None = None
        self._inode = _inode_at(path)
        with self.translated():
            self._db = apsw.Connection(str(path), flags=_FLAGS[mode])
            self._db.set_busy_timeout(busy_ms)
            # The file is only looked at here: a foreign or damaged one shows itself at once.
            try:
                self.look()
            except BaseException:
                self._db.close(True)
                raise

    def look(self) -> None:
        """See which tables there are."""
        self.tables = {str(name) for (name,) in self.rows(sql.TABLES)}

    @property
    def is_index(self) -> bool:
        """Whether the file has the tables of an index; an empty file counts as none."""
        return {"meta", "files", "chunks"} <= self.tables

    def load_vectors(self, configured: str | None) -> None:
        """Load sqlite-vec; a failure is kept for `status` instead of raised."""
        self.vector_path = configured or bundled_extension()
        if self.vector_path is None:
            self.vector_error = "the sqlite-vec package is not installed"
            return
        try:
            self._db.enable_load_extension(True)
            self._db.load_extension(self.vector_path)
        except (apsw.Error, OSError) as error:
            self.vector_error = str(error).removeprefix("ExtensionLoadingError: ")
        finally:
            self._db.enable_load_extension(False)

    @property
    def has_vectors(self) -> bool:
        """Whether sqlite-vec is loaded here."""
        return self.vector_path is not None and self.vector_error is None

    def rows(self, statement: str, values: Mapping[str, Any] | None = None) -> list[Row]:
        self._check_place()
        with self.translated():
            return self._db.execute(statement, dict(values or {})).fetchall()

    def value(self, statement: str, values: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401
        """The first column of the first row, or None."""
        found = self.rows(statement, values)
        return found[0][0] if found else None

    def run(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        self._check_place()
        with self.translated():
            self._db.execute(statement, dict(values or {}))

    def run_many(self, statement: str, values: Sequence[Mapping[str, Any]]) -> None:
        with self.translated():
            self._db.executemany(statement, [dict(each) for each in values])

    @property
    def last_rowid(self) -> int:
        return self._db.last_insert_rowid()

    @contextlib.contextmanager
    def transaction(self, kind: Literal["IMMEDIATE", "EXCLUSIVE"] = "IMMEDIATE") -> Iterator[None]:
        """All or nothing. The lock is taken at once: a later upgrade could fail despite waiting."""
        self.run(f"BEGIN {kind}")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            with contextlib.suppress(apsw.Error):
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several reads that see one state of the file."""
        self.run("SAVEPOINT snapshot")
        try:
            yield
        finally:
            with self.translated():
                self._db.execute("RELEASE snapshot")

    def pieces(
        self, table: str, column: str, rowid: int, offsets: Iterable[int], *, size: int
    ) -> list[bytes]:
        """Parts of one large blob, without reading the whole."""
        found: list[bytes] = []
        with self.translated(), self._db.blob_open("main", table, column, rowid, False) as blob:
            for offset in offsets:
                blob.seek(offset)
                found.append(blob.read(size))
        return found

    def has_table(self, name: str) -> bool:
        return bool(self.rows(sql.HAS_TABLE, {"name": name}))

    def stems(self, text: str) -> list[tuple[int, int, str]]:
        """FTS5's own tokens of `text`: first byte, byte after the last, stem."""
        return self._tokens("porter", ["unicode61"], text)

    def words(self, text: str) -> list[tuple[int, int, str]]:
        """As `stems`, folded but not stemmed."""
        return self._tokens("unicode61", [], text)

    def _tokens(self, name: str, args: list[str], text: str) -> list[tuple[int, int, str]]:
        tokenizer = self._db.fts5_tokenizer(name, args)
        found: Any = tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)
        return [(start, end, token) for start, end, token, *_ in found]

    def close(self) -> None:
        self._db.close(True)

    @contextlib.contextmanager
    def writer(self) -> Iterator["Connection"]:
        """This connection, or a second one to the same path if this one may only read."""
        if self.mode != "read":
            yield self
            return
        if self.is_stand_in:
            # Its journal would bear that name, too, and be lost when the file is moved back.
            raise IndexReadOnly(f"{self.path} is not in its place")
        twin = open_existing(self.path)
        if twin is None:
            raise self._moved()
        with twin:
            if self.has_vectors:
                twin.load_vectors(self.vector_path)
            yield twin

    def _check_place(self) -> None:
        # SQLite looks for journals by name. On a file that was replaced it would take the
        # journal of the one in its place for a crash of its own, roll it back and delete it,
        # under the hands of whoever is writing there. A reader cannot, and may stay.
        if self.mode != "read" and not self._db.in_transaction and self._was_moved():
            raise self._moved()

    def _was_moved(self) -> bool:
        return self._inode is not None and _inode_at(self.path) != self._inode

    def _moved(self) -> IndexMoved:
        return IndexMoved(f"{self.path} was replaced by another program", hint="try again")

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """SQLite's errors as ours, each with what to try."""
        try:
            yield
        except (apsw.BusyError, apsw.LockedError) as error:
            raise IndexBusy(
                f"another program keeps {self.path} locked", hint="try again in a moment"
            ) from error
        except apsw.ReadOnlyError as error:
            if getattr(error, "extendedresult", 0) in _OPEN_AGAIN:
                raise self._moved() from error
            raise IndexReadOnly(f"{self.path} cannot be written: {error}") from error
        except apsw.CantOpenError as error:
            why = "Permission denied" if not os.access(self.path, os.R_OK) else error
            raise IndexUnavailable(f"cannot open {self.path}: {why}") from error
        # The last two: a table or a page is not what the statement takes it for.
        except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, UnicodeDecodeError) as error:
            if self._was_moved():
                raise self._moved() from error
            raise IndexDamaged(
                f"{self.path}: {error}",
                hint="ocmem index --force builds it anew and keeps the broken file aside",
            ) from error
        except apsw.FullError as error:
            raise IndexReadOnly(f"no room left on the disk for {self.path}") from error
        except apsw.IOError as error:
            if self._was_moved():
                raise self._moved() from error
            raise IndexUnavailable(f"{self.path}: {error}") from error


def open_existing(path: Path, mode: Mode = "write") -> Connection | None:
    """The index at `path`, or None if there is none; never creates one.

    OpenClaw swaps a rebuilt file in by two renames. A missing file beside a half-moved sibling
    is such a moment, so it is worth a second look. If the moment does not pass, a reader gets the
    file that was moved aside.
    """
    _check_path(path)
    deadline = time.monotonic() + _SWAP_PATIENCE_S
    while True:
        inode = _inode_at(path)
        try:
            if inode is not None:
                return _opened(path, mode)
        except IndexUnavailable:
            if _inode_at(path) == inode:
                raise
        # In this order: a swap that is over by now has left no siblings, but the file.
        is_coming = _is_being_swapped(path) or path.exists()
        if not is_coming or time.monotonic() > deadline:
            return open_left_behind(path) if mode == "read" else None
        time.sleep(0.02)


def open_left_behind(path: Path) -> Connection | None:
    """The index that a swap moved aside and never came back to, to be read; None without one."""
    backups = [each for each in _siblings(path, "backup") if not each.name.endswith(COMPANIONS)]
    for backup in sorted(backups, key=_mtime_ns, reverse=True):
        with contextlib.suppress(IndexUnavailable):
            db = _opened(backup, "read")
            if db.is_index:
                db.is_stand_in = True
                return db
            db.close()
    return None


def bundled_extension() -> str | None:
    """The sqlite-vec library by its package's place: importing that package pulls in numpy."""
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = spec.submodule_search_locations[0]
    names = ("vec0.so", "vec0.dylib", "vec0.dll")
    found = (os.path.join(folder, name) for name in names)  # noqa: PTH118
    return next((path for path in found if os.path.exists(path)), None)  # noqa: PTH110


def _opened(path: Path, mode: Mode) -> Connection:
    try:
        return Connection(path, mode)
    except (IndexDamaged, IndexBusy):
        raise
    except IndexMoved:
        # A killed run left a journal, and only who may write can roll it back.
        Connection(path, "write").close()
        return Connection(path, mode)
    except IndexUnavailable:
        if mode != "write":
            raise
        with contextlib.suppress(IndexUnavailable):
            return Connection(path, "read")
        raise


def _check_path(path: Path) -> None:
    """Raise IndexUnavailable where no index can be, or none can be looked for."""
    try:
        str(path).encode()  # SQLite takes no other names
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except UnicodeEncodeError:
        shown = str(path).encode(errors="replace").decode()
        raise IndexUnavailable(f"cannot open {shown}: the path is not valid UTF-8") from None
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise IndexUnavailable(f"cannot open {path}: {error.strerror}") from error
    if is_folder:
        raise IndexUnavailable(
            f"{path} is a folder, not an index", hint="move it away, or set store.path"
        )


def _is_being_swapped(path: Path) -> bool:
    return bool(_siblings(path, "tmp") or _siblings(path, "backup"))


def _siblings(path: Path, kind: Literal["tmp", "backup"]) -> list[Path]:
    try:
        return [
            each for each in path.parent.iterdir() if each.name.startswith(f"{path.name}.{kind}-")
        ]
    except OSError:
        return []


def _mtime_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _inode_at(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
