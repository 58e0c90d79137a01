"""Secrets in text -> their first and last letters. Transcripts and error messages pass here."""

import re

from ocmem.core import utf16

_FLAGS = re.ASCII | re.IGNORECASE
_TOKENS = (
    r"sk-[A-Za-z0-9_-]{8,}",
    r"ghp_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"xox[baprs]-[A-Za-z0-9-]{10,}",
    r"xapp-[A-Za-z0-9-]{10,}",
    r"gsk_[A-Za-z0-9_-]{10,}",
    r"AIza[0-9A-Za-z\-_]{20,}",
    r"pplx-[A-Za-z0-9_-]{10,}",
    r"npm_[A-Za-z0-9]{10,}",
)
_KEY_BEGINS = r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
_KEY_ENDS = r"-----END [A-Z ]*PRIVATE KEY-----"
_PRIVATE_KEY = rf"{_KEY_BEGINS}[\s\S]+?{_KEY_ENDS}"
_PATTERNS = (
    r"\b[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)\b\s*[=:]\s*([\"']?)([^\s\"'\\]+)\1",
    r'"(?:apiKey|token|secret|password|passwd|accessToken|refreshToken)"\s*:\s*"([^"]+)"',
    r"--(?:api[-_]?key|token|secret|password|passwd)\s+([\"']?)([^\s\"']+)\1",
    r"Authorization\s*[:=]\s*Bearer\s+([A-Za-z0-9._\-+=]+)",
    r"\bBearer\s+([A-Za-z0-9._\-+=]{18,})\b",
    _PRIVATE_KEY,
    *(rf"\b({token})\b" for token in _TOKENS),
    r"\bbot(\d{6,}:[A-Za-z0-9_-]{20,})\b",
    r"\b(\d{6,}:[A-Za-z0-9_-]{20,})\b",
)
# Every pattern needs one of these, and most of what people say has none.
_TRACES = """key token secret passw authorization bearer private sk- ghp_ github_pat_ xox xapp-
    gsk_ aiza pplx- npm_""".split()
_NUMBER_TRACE = re.compile(r"[0-9]{6}:")


def redact(text: str) -> str:
    """`text` with everything that looks like a credential masked, rule after rule."""
    if not _is_suspicious(text):
        return text
    for pattern in _PATTERNS:
        if pattern is _PRIVATE_KEY:
            text = _without_private_keys(text)
        else:
            text = re.sub(pattern, _masked, text, flags=_FLAGS)  # compiled once, when first used
    return text


def _without_private_keys(text: str) -> str:
    """Their rule, by hand: the pattern takes quadratic time where keys begin and never end."""
    begins, ends = (re.compile(pattern, _FLAGS) for pattern in (_KEY_BEGINS, _KEY_ENDS))
    kept: list[str] = []
    done = 0
    while (begin := begins.search(text, done)) and (end := ends.search(text, begin.end() + 1)):
        kept += text[done : begin.start()], "***"
        done = end.end()
    return "".join((*kept, text[done:]))


def _is_suspicious(text: str) -> bool:
    lowered = text.lower()
    for trace in _TRACES:
        if trace in lowered:
            return True
    return ":" in text and _NUMBER_TRACE.search(text) is not None


def redact_known(text: str, *secrets: str) -> str:
    """As `redact`, and the given secrets vanish whatever they look like."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return redact(text)


def _masked(match: re.Match[str]) -> str:
    if "PRIVATE KEY-----" in match.group().upper():
        return "***"
    group = next((at for at in range(match.re.groups, 0, -1) if match[at]), 0)
    # At the group's own place: the same letters may also stand in the name before it.
    before, after = match.start(group) - match.start(), match.end(group) - match.start()
    whole = match.group()
    return whole[:before] + _mask(match[group]) + whole[after:]


def _mask(secret: str) -> str:
    if utf16.length(secret) < 18:
        return "***"
    units = secret.encode("utf-16-le", "surrogatepass")
    first, last = (end.decode("utf-16-le", "surrogatepass") for end in (units[:12], units[-8:]))
    return f"{first}…{last}"
