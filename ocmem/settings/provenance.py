"""Which file a value stands in once includes are followed, and which variables are in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ocmem.settings import dialect
from ocmem.settings.document import Document, variables_in
from ocmem.settings.schema import Json

Place = Sequence[str | int]  # keys and positions, from the top of a document


@dataclass(frozen=True, slots=True)
class Mark:
    """Where one plain value comes from."""

    file: str
    variables: tuple[str, ...]


def marks_of(document: Document) -> Json:
    """`document.values` with a Mark in the place of every plain value."""
    files = document.files or {}
    try:
        marks: Json = {
            key: _marked(value, files.get(key), str(document.file))
            for key, value in document.unfilled.items()
        }
    except RecursionError:
        return {}  # nested so deeply that it could only just be read
    is_newer = document.dialect == "newer"
    return dialect.translated(marks, own=document.own) if is_newer else marks


def mark_at(marks: object, place: Place) -> Mark | None:
    """The mark of a value. A list of several files' making counts as the outermost one's: None."""
    for step in place:
        if isinstance(marks, list):
            marks = dict(enumerate(marks))
        if not isinstance(marks, dict) or step not in marks:
            return None
        marks = marks[step]
    found = [*_leaves(marks)]
    files = {mark.file for mark in found}
    variables = dict.fromkeys(name for mark in found for name in mark.variables)
    return Mark(files.pop(), tuple(variables)) if len(files) == 1 else None


def _marked(value: object, files: object, file: str) -> object:
    if isinstance(value, dict):
        inner = files if isinstance(files, dict) else {}
        return {key: _marked(item, inner.get(key), file) for key, item in value.items()}
    if isinstance(value, list):
        several = files if isinstance(files, list) else [None] * len(value)
        return [_marked(item, each, file) for item, each in zip(value, several, strict=True)]
    return Mark(files if isinstance(files, str) else file, variables_in(value))


def _leaves(marks: object) -> Iterator[Mark]:
    if isinstance(marks, Mark):
        yield marks
    elif isinstance(marks, dict | list):
        for item in marks.values() if isinstance(marks, dict) else marks:
            yield from _leaves(item)
