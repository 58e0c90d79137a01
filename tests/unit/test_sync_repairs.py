"""Caches, switches, dimensions, missing things and other programs: the index stays right."""

import json
import os
import shutil
import threading
from dataclasses import replace
from typing import Any

import pytest

from ocmem.backends.builtin import BuiltinBackend
from ocmem.core import freshness
from ocmem.core.store import Connection
from ocmem.errors import EmbedderError
from ocmem.settings import ProviderChoice
from tests.unit.place import NOTES, Place, ids_in_step

# The cache


def test_a_full_rebuild_embeds_nothing_that_was_paid_for(place: Place) -> None:
    place.index()
    place.write(one="alpha beta, edited")
    place.index()
    place.write(one="alpha beta")

    report = place.index(force=True)

    assert (report.full, report.embedded) == (True, 0)
    assert place.cached() == 4


def test_the_cache_of_an_own_file_is_cut_at_every_run(place: Place) -> None:
    place.configure(own={"exclude": ["none.md"], "cache": {"maxEntries": 2}})
    place.index()
    after_full = place.cached()
    place.write(four="four", five="five", six="six")

    place.index()

    assert (after_full, place.cached()) == (2, 2)


def test_the_cache_of_a_shared_file_is_cut_at_full_rebuilds_only(place: Place) -> None:
    place.configure(cache={"maxEntries": 2})
    place.index()
    after_full = place.cached()
    place.write(four="four", five="five")

    place.index()

    assert (after_full, place.cached()) == (2, 4)


def test_without_a_limit_the_cache_of_a_shared_file_is_kept_whole(place: Place) -> None:
    place.index()
    place.write(four="four")

    place.index(force=True)

    assert place.cached() == 4


def test_a_cache_that_is_switched_off_is_neither_read_nor_written(place: Place) -> None:
    place.configure(cache={"enabled": False})
    place.index()

    report = place.index(force=True)

    assert (report.embedded, place.cached()) == (3, 0)


# Switches


@pytest.mark.parametrize(
    "off",
    [{"query": {"hybrid": {"enabled": False}}}, {"store": {"vector": {"enabled": False}}}],
    ids=["hybrid", "vector"],
)
def test_off_and_on_again_leaves_no_stale_rows(place: Place, off: dict[str, Any]) -> None:
    place.index()
    place.configure(**off)
    (place.memory / "two.md").unlink()
    place.write(one="alpha edited", four="eta theta")
    place.index()
    place.configure()

    report = place.index()

    assert (report.full, report.embedded) == (False, 0)
    assert ids_in_step(place.rows())


# Dimensions


def test_another_dimension_on_the_way_leaves_the_index_as_it_was(place: Place) -> None:
    place.index()
    before = place.rows()
    place.embedder.dims = 4
    place.write(one="alpha edited")

    with pytest.raises(EmbedderError, match="4 dimensions where the index has 8"):
        place.index()

    assert place.rows() == before


def test_another_dimension_within_a_rebuild_leaves_the_index_as_it_was(place: Place) -> None:
    place.index()
    before = place.rows()
    place.write(one="alpha edited", two="gamma edited")

    def shrink_after_the_first() -> None:
        place.embedder.dims = 4 if place.embedder.asked else 8

    place.embedder.before = shrink_after_the_first
    with pytest.raises(EmbedderError, match="4 dimensions"):
        place.index(force=True)

    assert place.rows() == before
    assert not list(place.index_path.parent.glob("*.tmp-*"))


def test_a_cached_vector_of_another_dimension_is_asked_for_again(place: Place) -> None:
    place.index()
    place.embedder.dims = 4
    for name in ("one", "two", "three"):
        place.write(**{name: f"{name} edited"})
    place.index(force=True)
    place.write(one="alpha beta")  # cached, with eight dimensions

    report = place.index()

    assert (report.full, report.embedded, place.meta()["vectorDims"]) == (False, 1, 4)
    assert ids_in_step(place.rows())


def test_a_zero_vector_scores_zero(place: Place) -> None:
    place.write(blank="*** --- ***")
    place.index()

    scores = {hit.chunk.path: hit.score for hit in place.search("alpha beta").hits}

    assert scores["memory/blank.md"] == 0
    assert scores["memory/one.md"] > 0.9


def test_a_query_of_another_dimension_is_answered_by_keyword_and_drops_nothing(
    place: Place,
) -> None:
    place.index()
    before = place.rows()
    place.embedder.dims = 4

    answer = place.search("alpha beta")

    assert answer.degraded is not None
    assert "4 dimensions" in answer.degraded
    assert [hit.chunk.path for hit in answer.hits] == ["memory/one.md"]
    assert place.rows() == before


# Things that go missing


@pytest.mark.parametrize("how", ["plain", "force", "model"])
def test_rows_below_a_folder_that_went_missing_are_kept(place: Place, how: str) -> None:
    (place.workspace / "MEMORY.md").write_text("iota kappa")
    place.index()
    before = place.rows()
    place.memory.rename(place.root / "unmounted")
    if how == "model":
        place.configure(model="another")

    report = place.index(force=how == "force")

    assert any("3 indexed files in it were kept" in issue.message for issue in report.issues)
    assert place.rows()["files"] == before["files"]
    assert [row[1:3] for row in sorted(place.rows()["chunks"], key=lambda row: row[1])] == [
        row[1:3] for row in sorted(before["chunks"], key=lambda row: row[1])
    ]
    assert ids_in_step(place.rows())


def test_a_folder_that_comes_back_is_in_step_again(place: Place) -> None:
    place.index()
    place.memory.rename(place.root / "unmounted")
    place.index(force=True)
    (place.root / "unmounted").rename(place.memory)
    (place.memory / "two.md").unlink()

    report = place.index()

    assert (report.full, report.removed, report.embedded) == (False, 1, 0)
    assert len(place.rows()["files"]) == 2


def test_rows_of_an_extra_folder_that_went_missing_are_kept(place: Place) -> None:
    extra = place.root / "extra"
    extra.mkdir()
    (extra / "note.md").write_text("lambda mu")
    place.configure(extraPaths=[str(extra)])
    place.index()
    before = place.rows()
    extra.rename(place.root / "unmounted")

    place.index()
    place.index(force=True)

    assert place.rows()["files"] == before["files"]


def test_an_index_with_vectors_is_not_replaced_by_one_without(place: Place) -> None:
    place.index()
    before = place.rows()
    nobody = ProviderChoice("none", "auto", "fts-only", missing="no provider can be had")

    for force in (False, True):
        with pytest.raises(EmbedderError, match="no provider can be had"):
            place.index(force=force, settings=replace(place.settings, provider=nobody))

    assert place.rows() == before


def test_a_lost_key_leaves_the_index_as_it_was(place: Place) -> None:
    place.configure(cache={"enabled": False})
    place.index()
    before = place.rows()
    place.configure(cache={"enabled": False}, remote={"baseUrl": "http://127.0.0.1:9/v1"})

    with pytest.raises(EmbedderError, match="No API key"):
        BuiltinBackend(place.settings).index(force=True, wait_s=0)

    assert place.rows() == before


# Other programs


def test_an_index_without_our_tables_is_used_as_it_is(place: Place) -> None:
    place.index()
    before = place.rows()
    for table in ("ocmem_files", "ocmem_docs", "ocmem_fts"):
        place.sql(f"DROP TABLE {table}")

    hits = place.search("alpha beta").hits
    report = place.index()

    assert hits[0].chunk.path == "memory/one.md"
    assert (report.full, report.changed, report.embedded) == (False, 0, 0)
    assert place.rows() == before


def test_a_file_that_was_swapped_during_a_run_is_noticed(place: Place) -> None:
    place.index()
    path = place.index_path
    twin = path.with_name("twin")
    shutil.copy(path, twin)
    place.write(four="eta theta")

    def swap_once() -> None:
        if twin.exists():
            os.replace(twin, path)  # noqa: PTH105

    place.embedder.before = swap_once
    report = place.index()

    assert report.changed == 1
    assert len(place.rows()["files"]) == 4
    assert ids_in_step(place.rows())


def test_a_write_ahead_log_is_kept_through_a_full_rebuild(place: Place) -> None:
    place.index()
    place.sql("PRAGMA journal_mode = WAL")
    place.write(one="alpha edited")

    place.index()
    place.index(force=True)

    assert place.sql("PRAGMA journal_mode") == [("wal",)]
    assert ids_in_step(place.rows())


def test_a_file_between_two_renames_of_another_program_is_waited_for(place: Place) -> None:
    place.index()
    path = place.index_path
    temporary = path.with_name(f"{path.name}.tmp-1")
    path.rename(temporary)
    # The other program's second rename is the one thing here that needs real time.
    rename = threading.Timer(0.2, lambda: temporary.rename(path))
    rename.start()

    report = place.index()

    rename.join()
    assert (report.full, report.embedded) == (False, 0)


def test_what_is_gone_is_forgotten_before_the_provider_is_asked(place: Place) -> None:
    place.write(**{name.removesuffix(".md"): text for name, text in NOTES.items()})
    place.index()
    (place.memory / "one.md").unlink()
    place.write(four="new")

    def down() -> None:
        raise EmbedderError("down")

    place.embedder.before = down
    with pytest.raises(EmbedderError):
        place.index()

    assert "memory/one.md" not in {row[0] for row in place.sql("SELECT path FROM chunks")}


def test_a_carried_over_file_is_cut_anew_once_it_can_be_read(place: Place) -> None:
    text = "\n".join(f"line {number} of a longer note" for number in range(200))
    place.write(long=text)
    place.index()
    away = place.memory.rename(place.root / "away")
    place.configure(chunking={"tokens": 50, "overlap": 0})
    place.index()
    kept = place.sql("SELECT count(*) FROM chunks")[0][0]
    away.rename(place.memory)

    place.index()

    assert place.sql("SELECT count(*) FROM chunks")[0][0] > kept


def test_what_another_program_paid_for_during_a_rebuild_is_kept(place: Place) -> None:
    place.write(one="alpha")
    place.index()
    place.write(two="beta")

    def beside() -> None:
        place.sql("INSERT OR REPLACE INTO embedding_cache VALUES ('openai','m','k','h','[1]',1,1)")

    place.embedder.before = beside
    place.index(force=True)

    assert place.sql("SELECT count(*) FROM embedding_cache WHERE hash = 'h'") == [(1,)]


def test_a_model_that_changed_behind_its_url_is_no_reason_to_be_stuck(place: Place) -> None:
    place.write(one="alpha", two="beta")
    place.index()
    place.embedder.dims = 5

    place.index(force=True)

    assert place.meta()["vectorDims"] == 5
    assert {len(json.loads(row[0])) for row in place.sql("SELECT embedding FROM chunks")} == {5}


def test_a_vector_table_that_another_program_made_anew_is_filled_again(place: Place) -> None:
    place.write(one="alpha", two="beta")
    place.index()
    place.sql("DROP TABLE chunks_vec")
    place.sql("CREATE VIRTUAL TABLE chunks_vec USING vec0(id TEXT PRIMARY KEY, embedding FLOAT[3])")

    place.index()

    assert place.meta()["vectorDims"] == 8
    assert place.sql("SELECT count(*) FROM chunks_vec") == [(3,)]


def test_a_search_mends_what_a_time_without_keywords_left_behind(place: Place) -> None:
    place.write(one="alpha", two="beta")
    place.index()
    place.configure(query={"hybrid": {"enabled": False}})
    place.write(one="gamma")
    place.index()
    place.configure()

    place.search("gamma", sync=True)

    texts = {text for (text,) in place.sql("SELECT text FROM chunks_fts")}
    assert texts == {"gamma", "beta", "epsilon zeta"}


def test_a_file_from_the_future_is_not_read_at_every_run(place: Place) -> None:
    place.write(one="alpha")
    os.utime(place.memory / "one.md", (4e9, 4e9))
    place.index()

    scan = freshness.scan_of(place.settings, Connection(place.index_path, "read"), ("memory",))

    assert list(scan.changed(place.clock)) == []
    assert scan.restamped == []
