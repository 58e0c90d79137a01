"""What a refusal says beside no: how long to wait, and whether less at once might do."""

import math
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')


def names_size(status: int, text: str) -> bool:
    """Whether a refusal is about how much was sent at once."""
    if status == 413:
        return True
    words = r"too (many|large|long|big)|at most|maximum|\bmax\b|batch[ _]size|exceed|\blimit"
    return status in (400, 422) and re.search(words, text, re.IGNORECASE) is not None


def wait_s(headers: Mapping[str, str], body: str, *, now: float) -> float:
    """How long the service wants to be left alone: by header, or by Google's RetryInfo."""
    found = _RETRY_DELAY.search(body)
    asked = float(found[1]) if found else 0.0
    return max(asked, _retry_after_s(headers.get("Retry-After"), now=now))


def _retry_after_s(value: str | None, *, now: float) -> float:
    """A `Retry-After` header as seconds from now; 0 where it says nothing usable."""
    if value is None:
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return 0.0
        seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0
