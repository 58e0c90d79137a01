"""Where a value came from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """`kind` is option, environment, login shell, file or default.

    `key` is where in the file, the name of the variable, or the option. `via` has the variables
    that are in the text there, each with the place that set it.
    """

    kind: str
    key: str | None = None
    file: str | None = None
    via: tuple[tuple[str, str], ...] = ()


DEFAULT = Origin("default")
