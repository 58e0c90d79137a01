"""The form that Google gives a text, in single calls and in batch files alike."""

from typing import Final

MAX_TEXT_BYTES: Final = 2048


def content_text(content: object) -> str | None:
    """The text of `{"content": {"parts": [{"text": …}]}}`; None if it is anything else."""
    match content:
        case {"content": {"parts": [{"text": str(text), **more}], **rest}} if not more and not rest:
            return text
    return None
