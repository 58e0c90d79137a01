"""Whatever was done to the files, and whenever the index caught up, the rows come out the same."""

import os
import tempfile
from pathlib import Path
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.place import Place, Rows, ids_in_step

Kind = Literal["write", "delete", "rename", "touch", "sync", "force"]
Edit = tuple[Kind, str, str]

NAMES = ("a.md", "b.md", "deep/c.md", "deep/d.md")
TEXTS = ("", "alpha", "beta\ngamma\n", "y" * 5000, "alpha\n" * 400, "한국어 메모", "--- ***")

edits = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(TEXTS)),
        st.tuples(
            st.sampled_from(["delete", "touch"]), st.sampled_from(NAMES), st.sampled_from([""])
        ),
        st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
        st.tuples(st.sampled_from(["sync", "sync", "force"]), st.just(""), st.just("")),
    ),
    max_size=20,
)


def apply(place: Place, edit: Edit) -> None:
    kind, name, other = edit
    path = place.memory / name
    match kind:
        case "write":
            path.write_text(other)
        case "delete":
            path.unlink(missing_ok=True)
        case "rename" if path.exists():
            path.replace(place.memory / other)
        case "touch" if path.exists():
            os.utime(path, (1000, 1000))
        case "sync" | "force":
            place.index(force=kind == "force")


def comparable(rows: Rows) -> Rows:
    """Without the vector table while nothing has a vector: it is made with the first one."""
    return {table: found for table, found in rows.items() if found}


@settings(max_examples=30, deadline=None)
@given(done=edits)
def test_catching_up_gives_the_rows_of_an_index_from_scratch(done: list[Edit]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        (place.memory / "deep").mkdir()
        for edit in done:
            apply(place, edit)
        place.index()
        caught_up = place.rows()

        again = place.index()
        asked_again = list(place.embedder.asked)
        place.index_path.unlink()
        place.index()
        from_scratch = place.rows()

    assert comparable(caught_up) == comparable(from_scratch)
    assert (again.changed, again.removed, asked_again) == (0, 0, [])
    assert not caught_up["chunks"] or ids_in_step(caught_up)
