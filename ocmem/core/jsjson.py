"""JSON as JavaScript writes it: 1.0 is `1`, 1e-07 is `1e-7`, and `é` stays `é`."""

import json
import math
import re
from collections.abc import Sequence

# A whole number with Python's ".0", or anything in exponent form.
_UNLIKE_JS = re.compile(r"(?<=[\[,])(?:-?\d+\.0(?=[,\]])|-?\d[\d.]*e[-+]\d+)")


def number(value: float) -> str:
    """`value` as `String(value)` prints it; JSON has no NaN, so a non-finite value is `null`."""
    if not math.isfinite(value):
        return "null"
    digits, _, exponent = repr(float(value)).partition("e")
    digits = digits.removesuffix(".0")
    if not exponent:
        return digits if value else "0"  # not "-0"
    power = int(exponent)
    if power >= 21 or power < -6:
        return f"{digits}e{power:+d}"
    sign = "-" if value < 0 else ""
    mantissa = digits.lstrip("-").replace(".", "")
    if power > 0:
        return sign + mantissa.ljust(power + 1, "0")
    return f"{sign}0.{'0' * (-power - 1)}{mantissa}"


def vector(values: Sequence[float]) -> str:
    """An embedding as the index stores it: compact, every number as JavaScript prints it."""
    text = json.dumps(list(values), separators=(",", ":"))
    return _UNLIKE_JS.sub(lambda match: number(float(match.group())), text)


def compact(value: object) -> str:
    """`JSON.stringify(value)` for what has no fractions in it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pretty(value: object, indent: str = "") -> str:
    """`JSON.stringify(value, null, 2)`, for what JSON can hold."""
    inner = indent + "  "
    if isinstance(value, dict):
        items = [f"{inner}{string(str(key))}: {pretty(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}" if items else "{}"
    if isinstance(value, list | tuple):
        items = [inner + pretty(item, inner) for item in value]
        return "[\n" + ",\n".join(items) + f"\n{indent}]" if items else "[]"
    if isinstance(value, float):
        return number(value)
    return string(value) if isinstance(value, str) else json.dumps(value)


def string(text: str) -> str:
    """A quoted string; a lone surrogate is escaped, as nothing else could carry it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return re.sub(
            "[\ud800-\udfff]",
            lambda match: f"\\u{ord(match.group()):04x}",
            json.dumps(text, ensure_ascii=False),
        )
    return json.dumps(text, ensure_ascii=False)
