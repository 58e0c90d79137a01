"""Transcripts in the index: they grow, they are torn, they are large, and nothing is done twice."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocmem.core import chunk_rows, embedder, files, freshness
from ocmem.core.store import Connection
from ocmem.errors import EmbedderError
from ocmem.model import Vector
from tests.unit.chats import MANY, OPTED_IN, Chats, line, long_turns
from tests.unit.place import Words, ids_in_step


@pytest.fixture
def chats(tmp_path: Path, small_transactions: None) -> Chats:
    return Chats(tmp_path)


def expected_ids(chats: Chats, name: str) -> set[str]:
    """The chunks of a transcript that is cut in one go."""
    identity = embedder.identity_of(chats.settings.provider)
    (found,) = (
        each
        for each in files.discover(chats.settings).files
        if each.path == f"sessions/{name}.jsonl"
    )
    with files.opened(found) as file:
        return {row.id for row in chunk_rows.rows_of(chats.settings, identity, file)}


def stored_ids(chats: Chats, name: str) -> set[str]:
    path = f"sessions/{name}.jsonl"
    return {id for (id,) in chats.sql("SELECT id FROM chunks WHERE path = :path", path=path)}


def is_dirty(chats: Chats) -> bool:
    with Connection(chats.index_path, "read") as db:
        return freshness.is_dirty(chats.settings, db)


def test_only_the_end_of_a_transcript_that_grew_is_embedded(chats: Chats) -> None:
    chats.say("a", *long_turns(20))
    chats.index()
    chats.sql("DELETE FROM embedding_cache")

    chats.say("a", "and the umbrella")
    report = chats.index()

    assert report.changed_paths == ["sessions/a.jsonl"]
    assert len(chats.embedder.asked) == 1
    assert "umbrella" in chats.embedder.asked[0]
    assert stored_ids(chats, "a") == expected_ids(chats, "a")
    assert ids_in_step(chats.rows())


def test_a_torn_last_line_comes_in_when_it_is_whole(chats: Chats) -> None:
    path = chats.say("a", "first")
    whole = line("second half")
    with path.open("a") as file:
        file.write(whole[:30])
    chats.index()
    assert chats.lines_of("a") == [(2, 2)]

    with path.open("a") as file:
        file.write(whole[30:])
    chats.index()

    assert chats.lines_of("a") == [(2, 3)]
    assert not is_dirty(chats)


def test_a_transcript_that_was_rewritten_loses_what_it_no_longer_says(chats: Chats) -> None:
    path = chats.say("a", *long_turns(20))
    chats.index()

    path.write_text(line("something else") + line("altogether"))
    chats.index()

    assert chats.lines_of("a") == [(1, 2)]
    assert ids_in_step(chats.rows())


def test_rows_that_another_program_took_away_are_written_again(chats: Chats) -> None:
    chats.say("a", *long_turns(20))
    chats.index()
    whole = stored_ids(chats, "a")
    chats.say("a", "one more")

    def take_away() -> None:
        chats.embedder.before = lambda: None
        chats.sql("DELETE FROM chunks WHERE path = 'sessions/a.jsonl'")

    chats.embedder.before = take_away
    chats.index()

    assert stored_ids(chats, "a") == expected_ids(chats, "a")
    assert len(stored_ids(chats, "a") & whole) > 10
    assert ids_in_step(chats.rows())


def test_a_large_transcript_is_indexed_as_a_small_one_would_be(chats: Chats) -> None:
    chats.index()
    chats.say("large", *long_turns(MANY))

    report = chats.index()

    assert report.changed_paths == ["sessions/large.jsonl"]
    assert stored_ids(chats, "large") == expected_ids(chats, "large")
    assert ids_in_step(chats.rows())
    assert not is_dirty(chats)


def test_rows_stand_in_the_order_of_their_files_also_around_a_large_one(chats: Chats) -> None:
    chats.say("a", "first")
    chats.say("b", *long_turns(MANY))
    chats.say("c", "last")

    chats.index()

    found = chats.sql("SELECT path FROM chunks ORDER BY rowid")
    order = list(dict.fromkeys(path for (path,) in found))
    assert order == ["sessions/a.jsonl", "sessions/b.jsonl", "sessions/c.jsonl"]


class Failing(Words):
    """Fails when it was asked for so many texts."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        if len(self.asked) + len(texts) > self.most:
            raise EmbedderError("no more")
        return super().embed_documents(texts, timeout_s=timeout_s)


def test_a_large_transcript_goes_on_where_a_run_ended(chats: Chats) -> None:
    chats.configure(**OPTED_IN, cache={"enabled": False})
    chats.write(note="a vector to begin with")
    chats.index()
    chats.say("large", *long_turns(MANY))
    chats.embedder = Failing(400)

    with pytest.raises(EmbedderError, match="no more"):
        chats.index()
    begun = stored_ids(chats, "large")
    assert is_dirty(chats)
    chats.embedder = Words()
    chats.index()

    assert 100 < len(begun) < len(stored_ids(chats, "large"))
    assert len(chats.embedder.asked) == len(expected_ids(chats, "large") - begun)
    assert stored_ids(chats, "large") == expected_ids(chats, "large")
    assert not is_dirty(chats)


def test_a_large_transcript_that_was_rewritten_leaves_nothing_of_the_old_one(
    chats: Chats,
) -> None:
    path = chats.say("large", *long_turns(MANY))
    chats.index()
    lines = path.read_text().splitlines(keepends=True)

    path.write_text("".join(lines[: MANY // 20] + lines[MANY // 10 :]))
    chats.index()

    assert stored_ids(chats, "large") == expected_ids(chats, "large")
    assert ids_in_step(chats.rows())


def test_a_source_that_was_left_out_for_once_stays_in_the_fingerprint(chats: Chats) -> None:
    chats.write(note="alpha")
    chats.say("a", "hello")
    chats.index()
    chats.say("a", "again")

    chats.index(only=("sessions",))

    assert chats.meta()["sources"] == ["memory", "sessions"]


def test_a_large_transcript_that_shrinks_is_small_again(chats: Chats) -> None:
    path = chats.say("large", *long_turns(MANY))
    chats.index()

    path.write_text(line("all is said"))
    chats.index()

    assert chats.lines_of("large") == [(1, 1)]
    assert ids_in_step(chats.rows())


steps = st.lists(
    st.tuples(st.sampled_from("say tear rewrite delete sync".split()), st.sampled_from("ab")),
    max_size=15,
)


@settings(max_examples=30, deadline=None)
@given(done=steps)
def test_whatever_becomes_of_transcripts_catching_up_equals_starting_over(
    done: list[tuple[str, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        chats = Chats(Path(folder))
        for number, (what, name) in enumerate(done):
            path = chats.folder / f"{name}.jsonl"
            match what:
                case "say":
                    chats.say(name, f"turn {number} " * 100, "and so on")
                case "tear" if path.exists():
                    path.write_bytes(path.read_bytes()[:-7])
                case "rewrite":
                    path.write_text(line(f"rewritten {number}"))
                case "delete":
                    path.unlink(missing_ok=True)
                case "sync":
                    chats.index()
        chats.index()
        caught_up = chats.rows()
        chats.index_path.unlink()
        chats.index()

        assert {t: r for t, r in caught_up.items() if r} == {
            t: r for t, r in chats.rows().items() if r
        }
