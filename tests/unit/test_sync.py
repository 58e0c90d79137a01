"""Files, chunks, vectors and the index stay in step, whatever happens in between."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ocmem.core import chunker
from ocmem.core.scan import Clock, is_untouched
from ocmem.model import FileRow, Stamp
from tests.unit.place import NOTES, Place, ids_in_step

# What makes a full rebuild


def test_the_first_run_is_full_and_the_second_finds_nothing_to_do(place: Place) -> None:
    first = place.index()
    second = place.index()

    assert (first.full, first.changed, first.embedded) == (True, 3, 3)
    assert (second.full, second.changed, second.embedded) == (False, 0, 0)
    assert ids_in_step(place.rows())


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "older"},
        {"provider": "gemini"},
        {"providerKey": "0" * 64},
        {"sources": ["memory", "sessions"]},
        {"chunkTokens": 399},
        {"chunkOverlap": 79},
        {"vectorDims": None},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_another_fingerprint_means_a_full_rebuild(place: Place, changes: dict[str, object]) -> None:
    place.index()
    right = place.meta()
    place.set_meta(**changes)

    report = place.index()

    assert report.full
    assert place.meta() == right
    assert not place.index().full


@pytest.mark.parametrize("statement", ["DELETE FROM meta", "UPDATE meta SET value = '{nonsense'"])
def test_a_fingerprint_that_cannot_be_read_means_a_full_rebuild(
    place: Place, statement: str
) -> None:
    place.index()
    place.sql(statement)

    assert place.index().full
    assert ids_in_step(place.rows())


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "text-embedding-3-large"},
        {"remote": {"baseUrl": "http://127.0.0.1:10/v1", "apiKey": "k"}},
        {"remote": {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "k", "headers": {"X-A": "b"}}},
        {"chunking": {"tokens": 200}},
        {"chunking": {"overlap": 10}},
        {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}},
    ],
    ids=["model", "endpoint", "headers", "tokens", "overlap", "sources"],
)
def test_settings_that_change_rows_mean_a_full_rebuild(
    place: Place, settings: dict[str, Any]
) -> None:
    place.index()
    place.configure(**settings)

    assert place.index().full
    assert not place.index().full


def test_force_is_a_full_rebuild(place: Place) -> None:
    place.index()

    report = place.index(force=True)

    assert (report.full, report.changed, report.embedded, report.cached) == (True, 3, 0, 3)


@pytest.mark.parametrize(
    "settings",
    [
        {"extraPaths": ["elsewhere"]},
        {"remote": {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "another"}},
        {"query": {"hybrid": {"enabled": False}}},
        {"query": {"hybrid": {"vectorWeight": 0.1, "textWeight": 0.9}}},
        {"store": {"vector": {"enabled": False}}},
        {"cache": {"enabled": False}},
        {"cache": {"maxEntries": 1}},
    ],
    ids=["extraPaths", "key", "hybrid", "weights", "vector off", "cache off", "cache size"],
)
def test_other_settings_do_not_mean_a_full_rebuild(place: Place, settings: dict[str, Any]) -> None:
    place.index()
    place.configure(**settings)

    report = place.index()

    assert (report.full, report.embedded) == (False, 0)


def test_a_fingerprint_without_sources_counts_as_memory_alone(place: Place) -> None:
    place.index()
    place.set_meta(sources=None)

    assert not place.index().full


def test_vectors_switched_on_after_an_index_without_them_mean_a_full_rebuild(
    place: Place,
) -> None:
    place.configure(store={"vector": {"enabled": False}})
    place.index()
    place.configure()

    report = place.index()

    assert (report.full, report.embedded) == (True, 0)
    assert ids_in_step(place.rows())


def test_a_workspace_without_text_is_not_rebuilt_at_every_run(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write(empty="")
    place.index()

    assert not place.index().full


# Catching up


def test_only_new_and_edited_files_are_embedded(place: Place) -> None:
    place.index()
    place.write(two="gamma delta, now longer", four="eta theta")

    report = place.index()

    assert (report.full, report.changed, report.embedded) == (False, 2, 2)
    assert place.embedder.asked == ["eta theta", "gamma delta, now longer"]
    assert ids_in_step(place.rows())


def test_a_deleted_file_leaves_every_table(place: Place) -> None:
    place.index()
    (place.memory / "two.md").unlink()

    report = place.index()

    rows = place.rows()
    assert (report.removed, report.scanned) == (1, 2)
    assert [path for path, *_ in rows["files"]] == ["memory/one.md", "memory/three.md"]
    assert len(rows["chunks"]) == 2
    assert ids_in_step(rows)
    assert place.sql("SELECT count(*) FROM ocmem_files") == [(2,)]


def test_a_touched_file_is_read_but_not_embedded_again(place: Place) -> None:
    place.configure(cache={"enabled": False})
    place.index()
    os.utime(place.memory / "one.md", (1, 1))

    report = place.index()

    assert (report.changed, report.embedded) == (0, 0)


def test_an_edit_that_keeps_size_and_mtime_is_still_seen(place: Place) -> None:
    note = place.memory / "one.md"
    os.utime(note, (1000, 1000))
    place.index()
    note.write_text("alpha BETA")
    os.utime(note, (1000, 1000))

    assert place.index().changed == 1


def test_an_edit_within_the_same_tick_of_the_clock_is_still_seen(place: Place) -> None:
    place.clock = Clock()
    place.index()
    note = place.memory / "one.md"
    note.write_text("alpha BETA")
    now = note.stat()
    # As a coarse file system would have it: the stamp of the index and of the file agree.
    place.sql(
        "UPDATE ocmem_files SET mtime_ns = :mtime, ctime_ns = :ctime WHERE path = 'memory/one.md'",
        mtime=now.st_mtime_ns,
        ctime=now.st_ctime_ns,
    )

    assert place.index().changed == 1


@pytest.mark.parametrize("time", ["mtime_ns", "ctime_ns"])
def test_a_stamp_proves_nothing_if_either_time_is_close_to_the_reading(time: str) -> None:
    read_at = 1_772_280_000_000_000_000
    long_ago = Stamp(size=10, mtime_ns=1, ctime_ns=1, inode=1)
    just_now = replace(long_ago, **{time: read_at - 2_900_000_000})

    assert is_untouched(FileRow("hash", long_ago, read_at), long_ago)
    assert not is_untouched(FileRow("hash", just_now, read_at), just_now)


def test_an_edit_within_the_same_tick_whose_mtime_was_put_back_is_still_seen(
    place: Place,
) -> None:
    note = place.memory / "one.md"
    os.utime(note, (1000, 1000))
    place.clock = Clock()
    place.index()
    note.write_text("alpha BETA")
    os.utime(note, (1000, 1000))
    # As a coarse file system would have it: the change time is still that of the index.
    place.sql(
        "UPDATE ocmem_files SET ctime_ns = :ctime WHERE path = 'memory/one.md'",
        ctime=note.stat().st_ctime_ns,
    )

    assert place.index().changed == 1


def test_an_old_file_with_the_same_stamp_is_not_read_again(place: Place) -> None:
    place.index()
    # If the file were read, its hash would not be this one.
    place.sql("UPDATE files SET hash = 'x'")
    place.sql("UPDATE ocmem_files SET hash = 'x'")

    assert place.index().changed == 0


def test_a_touched_file_gets_a_new_stamp_and_is_not_read_a_third_time(place: Place) -> None:
    place.index()
    os.utime(place.memory / "one.md", (1, 1))
    place.index()
    place.sql("UPDATE files SET hash = 'x'")
    place.sql("UPDATE ocmem_files SET hash = 'x'")

    assert place.index().changed == 0


def test_two_files_with_the_same_text_are_embedded_once(place: Place) -> None:
    place.write(copy="alpha beta", again="alpha beta")

    report = place.index()

    assert report.embedded == 3
    assert sorted(place.embedder.asked) == sorted(NOTES.values())
    assert len(place.rows()["chunks"]) == 5
    assert ids_in_step(place.rows())


def test_repeated_pieces_of_a_long_line_have_one_keyword_row(place: Place) -> None:
    text = "y" * 10_000
    place.write(long=text)

    place.index()

    rows = place.rows()
    pieces = chunker.chunks_of(text, tokens=400, overlap=80)
    assert len([1 for _, path, *_ in rows["chunks"] if path == "memory/long.md"]) < len(pieces)
    assert ids_in_step(rows)
