"""Unspaced scripts. FTS5 makes one token of a whole run, so runs are indexed as character pairs."""

import re
import unicodedata

_RUN = re.compile(
    "["
    "\u3005\u3007"  # iteration mark, zero
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Kana
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"  # Hangul
    "]+"
)


def normalize(text: str) -> str:
    """NFC: one spelling for `é`, and Hangul as syllables."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def spaced(text: str) -> str:
    """Normalised text with every run as overlapping pairs and, last, its final character."""
    return _RUN.sub(lambda run: f" {' '.join(pairs(run.group()))} ", normalize(text))


def pairs(run: str) -> list[str]:
    """`会议室` -> 会议, 议室, 室. The last character alone lets a prefix query find it."""
    return [run[at : at + 2] for at in range(len(run))]


def runs(text: str) -> list[str]:
    return _RUN.findall(text)


def without_runs(text: str) -> str:
    return _RUN.sub(" ", text)
