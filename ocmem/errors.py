"""The whole error tree on one page. Core code raises a named kind; only `main()` prints and exits.

OcmemError
├── UsageError         the command line makes no sense
├── SettingsError      a settings file cannot be read or fails its checks
├── IndexUnavailable   the SQLite file is missing, locked or damaged
│   ├── IndexDamaged   it is there, but it is not a usable index
│   ├── IndexReadOnly  it may not be written, or there is no room to
│   ├── IndexMoved     another program swapped a new file in; open it again
│   └── IndexBusy      another process holds it
├── EmbedderError      no key, refused, rate limited, wrong dimensions
│   ├── ServiceRefused the service answered, and said no
│   ├── NoBatchApi     it embeds, but takes no batch jobs
│   └── OutOfTime      there is no time left to ask
├── NotReadable        `get` may not or cannot read that path
├── ToolInputError     a tool was given parameters that it cannot work with
├── SessionsError      the store of sessions or a transcript cannot be read
└── BackendError       qmd or lancedb could not answer
    └── QmdError       qmd, with the kind of cause

ReaderLeft             whoever read our output has had enough; not a failure
"""

from collections.abc import Sequence


class OcmemError(Exception):
    """A failure with a message for people: what happened, to which thing, what to try."""

    exit_code = 1  # as in the reference, usage errors included

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(OcmemError): ...


class SettingsError(OcmemError): ...


class IndexUnavailable(OcmemError): ...


class IndexDamaged(IndexUnavailable): ...


class IndexReadOnly(IndexUnavailable): ...


class IndexMoved(IndexUnavailable): ...


class IndexBusy(IndexUnavailable): ...


class EmbedderError(OcmemError):
    """`done`: vectors that came before it, and are paid for. `is_outage`: another may step in."""

    done: Sequence[list[float]] = ()
    is_outage: bool = True


class ServiceRefused(EmbedderError):
    """`names_size`: what was sent at once is too much for it, and less might do."""

    def __init__(
        self, message: str, *, status: int, names_size: bool = False, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.is_outage = status not in (400, 413, 422)  # it is about what was sent
        self.status = status
        self.names_size = names_size


class NoBatchApi(EmbedderError): ...


class OutOfTime(EmbedderError): ...


class NotReadable(OcmemError):
    """`errno`: what the system said; None where the path is none that may be read."""

    def __init__(self, message: str, *, errno: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.errno = errno


class ToolInputError(OcmemError): ...


class SessionsError(OcmemError): ...


class BackendError(OcmemError): ...


class QmdError(BackendError):
    """`cause`: a word for programs, from `ocmem.backends.qmd.process.Cause`."""

    def __init__(self, message: str, *, cause: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.cause = cause


class ReaderLeft(Exception): ...
