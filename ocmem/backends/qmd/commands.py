"""Each of QMD's commands that ocmem uses: its words, how long it may take, what a failure means."""

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ocmem.backends.qmd import answers, causes, home, process
from ocmem.backends.qmd.answers import Entry
from ocmem.backends.qmd.collections import Collection, Listed
from ocmem.backends.qmd.process import Command, Output
from ocmem.errors import QmdError
from ocmem.settings.qmd import Mode, QmdSettings

_VERSION_TIMEOUT_MS = 5000
_COMMAND_KEY = "update.commandTimeoutMs"
# Once its index is named, QMD does not look for a .qmd folder in or above the workspace.
_ITS_OWN_INDEX = ("--index", "index")
_VERSION = re.compile(r"\bv?(\d+\.\d+\.\d+\S*)")
_COUNTS = re.compile(r"Indexed: (\d+) new, (\d+) updated, (\d+) unchanged, (\d+) removed")
_EXISTS = re.compile(r"\bexists\b", re.IGNORECASE)
_NOT_A_FOLDER = re.compile(r"ENOTDIR|not a directory", re.IGNORECASE)
_NUL = re.compile(r"\x00|\\0|\\x00|\\u0000|%00|\^@|\bnull byte", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Counts:
    """What indexing did to documents."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0

    @property
    def total(self) -> int:
        """What there is now."""
        return self.new + self.updated + self.unchanged

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.new + other.new,
            self.updated + other.updated,
            self.unchanged + other.unchanged,
            self.removed + other.removed,
        )


class DamagedPaths(QmdError):
    """QMD has a path with a NUL in it: its collections have to be made anew."""


@dataclass(frozen=True, slots=True)
class Qmd:
    """The command, with an agent's index. `env` is our own environment."""

    settings: QmdSettings
    env: Mapping[str, str] = field(repr=False)

    @property
    def location(self) -> str | None:
        """Where the command is, if it is there."""
        command = self.settings.command
        if "/" in command:  # from where it is started
            command = str(home.working_folder(self.settings) / command)
        return shutil.which(command, path=self.env.get("PATH"))

    def version(self) -> str:
        """QMD's version; an old one does not know, and is called `unknown`."""
        # Without the name of an index: QMD would make a folder for it.
        doing, timeout_ms = "tell its version", _VERSION_TIMEOUT_MS
        output = self._run("--version", doing=doing, timeout_ms=timeout_ms, leading=())
        found = _VERSION.search(output.stdout)
        if output.code == 0:
            return found[1] if found is not None else "unknown"
        error = causes.failure(output, doing)
        if error.cause == "failed":
            return "unknown"
        raise error

    def search(
        self, query: str, collections: Iterable[Collection], *, mode: Mode, limit: int
    ) -> tuple[list[Entry], str]:
        """What QMD found, and what it complained about meanwhile."""
        words = [word for each in collections for word in ("-c", each.name)]
        # Options first: behind the -- that lets a query begin with a dash they would be text.
        output = self._checked(
            *(mode, "--json", "-n", str(limit), *words, "--", query),
            doing="search",
            timeout_ms=self.settings.limits.timeout_ms,
            key="limits.timeoutMs",
        )
        return answers.entries(output), output.stderr

    def collections(self) -> list[Listed]:
        """What QMD lists, with the folders as far as it tells."""
        output = self._collection("list", "--json", doing="list its collections")
        return answers.listing(output.stdout)

    def folder_of(self, name: str) -> str | None:
        """The folder of a collection; None from a QMD that does not tell."""
        doing = f"show the collection {name}"
        output = self._run(
            "collection", "show", name, doing=doing, timeout_ms=self._command_ms, key=_COMMAND_KEY
        )
        return answers.shown_path(output.stdout) if output.code == 0 else None

    def add(self, collection: Collection) -> Counts:
        """Make a collection and index it. One that is there already is left as it is."""
        doing = f"add the collection {collection.name}"
        words = (str(collection.root), "--name", collection.name, "--mask", collection.pattern)
        output = self._run(
            *("collection", "add", *words),
            doing=doing,
            timeout_ms=self._command_ms,
            key=_COMMAND_KEY,
        )
        if output.code and not _EXISTS.search(output.stderr + output.stdout):
            raise causes.failure(output, doing)
        return _counts(output)

    def remove(self, name: str) -> None:
        self._collection("remove", name, doing=f"remove the collection {name}")

    def update(self) -> Counts:
        """Bring every collection up to date with its files."""
        doing = "update its index"
        output = self._run(
            "update",
            doing=doing,
            timeout_ms=self.settings.update.update_timeout_ms,
            key="update.updateTimeoutMs",
        )
        said = output.stderr + output.stdout
        if output.code and _NOT_A_FOLDER.search(said) and _NUL.search(said):
            error = causes.failure(output, doing)
            raise DamagedPaths(str(error), cause=error.cause, hint=error.hint)
        if output.code:
            raise causes.failure(output, doing)
        return _counts(output)

    def embed(self) -> str:
        """Make the vectors that are missing; gives what QMD said."""
        output = self._checked(
            "embed",
            doing="make vectors",
            timeout_ms=self.settings.update.embed_timeout_ms,
            key="update.embedTimeoutMs",
        )
        return output.stdout

    def pull(self, *, timeout_ms: int) -> str:
        """Fetch the models that are missing; gives what QMD said."""
        output = self._checked("pull", doing="fetch its models", timeout_ms=timeout_ms)
        return output.stdout

    @property
    def _command_ms(self) -> int:
        return self.settings.update.command_timeout_ms

    def _collection(self, *words: str, doing: str) -> Output:
        return self._checked(
            *("collection", *words), doing=doing, timeout_ms=self._command_ms, key=_COMMAND_KEY
        )

    def _checked(self, *words: str, doing: str, timeout_ms: int, key: str = "") -> Output:
        output = self._run(*words, doing=doing, timeout_ms=timeout_ms, key=key)
        if output.code:
            raise causes.failure(output, doing)
        return output

    def _run(
        self,
        *words: str,
        doing: str,
        timeout_ms: int,
        key: str = "",
        leading: tuple[str, ...] = _ITS_OWN_INDEX,
    ) -> Output:
        command = Command(
            (self.settings.command, *leading, *words),
            cwd=home.working_folder(self.settings),
            env=home.environment(self.settings, self.env),
            timeout_s=timeout_ms / 1000,
        )
        try:
            return process.run(command)
        except ValueError as error:  # a NUL, or half a surrogate pair: no process can be given it
            raise QmdError(f"QMD cannot be started: {error}", cause="failed") from error
        except OSError as error:
            raise causes.unstartable(error, self.settings.command, self.env) from error
        except process.TimedOut:
            raise causes.timed_out(doing, timeout_ms=timeout_ms, key=key) from None
        except process.TooMuchOutput:
            raise causes.too_much(doing) from None


def _counts(output: Output) -> Counts:
    total = Counts()
    for found in _COUNTS.findall(output.stdout):
        total += Counts(*map(int, found))
    return total
