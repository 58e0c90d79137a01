"""Is a value what a setting accepts? Each check gives the reference's complaints."""

from collections.abc import Callable, Iterator, Sequence

Problem = tuple[str, str]  # the path below the value, which may be empty, and the complaint
Check = Callable[[object], list[Problem]]

UNDEFINED = object()  # stands for an absent value in messages
_SAFE = 2**53 - 1  # JavaScript counts no further without loss


def anything(value: object) -> list[Problem]:
    return []


def a_bool(value: object) -> list[Problem]:
    return [] if isinstance(value, bool) else [("", expected("boolean", value))]


def a_string(value: object) -> list[Problem]:
    return [] if isinstance(value, str) else [("", expected("string", value))]


def a_path(value: object) -> list[Problem]:
    if isinstance(value, str) and "\0" in value:
        return [("", "Invalid input: a path cannot hold a null character")]
    return a_string(value)


def a_key(value: object) -> list[Problem]:
    """A key, or a reference to a secret that only OpenClaw can follow."""
    return [] if isinstance(value, dict) else a_string(value)


def a_duration(value: object) -> list[Problem]:
    return [] if isinstance(value, str) else whole(least=0)(value)


def a_share(value: object) -> list[Problem]:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return [("", expected("number", value))]
    if value < 0:
        return [("", "Too small: expected number to be >=0")]
    return [("", "Too big: expected number to be <=1")] if value > 1 else []


def whole(*, above: int | None = None, least: int | None = None) -> Check:
    def check(value: object) -> list[Problem]:
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            return [("", expected("number", value))]
        if isinstance(value, float) and not value.is_integer():
            return [("", expected("int", value))]
        if above is not None and value <= above:
            return [("", f"Too small: expected number to be >{above}")]
        if least is not None and value < least:
            return [("", f"Too small: expected number to be >={least}")]
        return [("", f"Too big: expected int to be <={_SAFE}")] if value > _SAFE else []

    return check


def one_of(*allowed: str) -> Check:
    return lambda value: [] if value in allowed else [("", "Invalid input")]


def list_of(check: Check) -> Check:
    def each(value: object) -> list[Problem]:
        if not isinstance(value, list):
            return [("", expected("array", value))]
        return [
            (f".{at}{path}", text) for at, item in enumerate(value) for path, text in check(item)
        ]

    return each


def map_of(check: Check) -> Check:
    def each(value: object) -> list[Problem]:
        if not isinstance(value, dict):
            return [("", expected("object", value))]
        return [
            (f".{name}{path}", text) for name, item in value.items() for path, text in check(item)
        ]

    return each


def an_object(*needed: str, **fields: Check) -> Check:
    """An object with these fields and no others; null is absent, which the `needed` may not be."""

    def check(value: object) -> list[Problem]:
        if not isinstance(value, dict):
            return [("", expected("object", value))]
        found: list[Problem] = []
        for name, is_right in fields.items():
            item = value.get(name)
            if item is not None or name in needed:
                item = UNDEFINED if name not in value else item
                found += [(f".{name}{path}", text) for path, text in is_right(item)]
        unknown = [name for name in value if name not in fields]
        return [*found, ("", unrecognized(unknown))] if unknown else found

    return check


def a_place(*optional: str) -> Check:
    """An object with a `path`, and more strings that it may have."""

    def check(value: object) -> list[Problem]:
        if not isinstance(value, dict):
            return [("", expected("object", value))]
        fields = {"path": value.get("path", UNDEFINED)}
        fields |= {name: value[name] for name in optional if value.get(name) is not None}
        return [(f".{name}", text) for name, item in fields.items() for _, text in a_path(item)]

    return check


def a_path_or_place(value: object) -> list[Problem]:
    """A path as both dialects write it: a string, in the newer one also `{path, pattern}`."""
    return a_place("pattern")(value) if isinstance(value, dict) else a_path(value)


def unrecognized(names: Sequence[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"Unrecognized key{'s' if len(names) > 1 else ''}: {quoted}"


def expected(kind: str, value: object) -> str:
    return f"Invalid input: expected {kind}, received {_kind_of(value)}"


def at(where: str, problems: list[Problem]) -> Iterator[str]:
    """Complaints as they are shown: the whole dotted path, then what is wrong there."""
    for path, text in problems:
        yield f"{where}{path}: {text}"


def _kind_of(value: object) -> str:
    if value is UNDEFINED:
        return "undefined"
    if value != value:
        return "NaN"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return "null" if value is None else names.get(type(value), "object")
