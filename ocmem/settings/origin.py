"""Where a value came from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """`kind` is option, environment, login shell, file or default.

    `key` is where in the file, the name of the variable, or the option.
    """

    kind: str
    key: str | None = None
    file: str | None = None


DEFAULT = Origin("default")
