"""From QMD's entries to files and lines that people know."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.backends.qmd import limits, mapping
from ocmem.backends.qmd.answers import Entry
from ocmem.backends.qmd.collections import Collection
from ocmem.core import utf16
from ocmem.model import Hit, Snippet

WORKSPACE = Path("/w")
MEMORY = Collection("memory-dir-main", Path("/w/memory"), "**/*.md", "memory")
ROOT = Collection("memory-root-main", Path("/w"), "MEMORY.md", "memory")
NOTES = Collection("notes-main", Path("/n"), "**/*.md", "custom")
SESSIONS = Collection("sessions-main", Path("/s"), "**/*.md", "sessions")
ALL = (ROOT, MEMORY, NOTES, SESSIONS)
HEAD = "@@ -5,4 @@ (4 before, 1 after)\n"


def entry(
    file: str,
    score: float = 0.5,
    *,
    docid: str = "b65e65",
    snippet: str = HEAD + "five\nsix\nseven\neight",
    line: int | None = None,
    collection: str | None = None,
) -> Entry:
    return Entry(docid, score, file, line, snippet, collection)


def hits(
    *entries: Entry,
    rows: tuple[tuple[str, str], ...] = (),
    max_chars: int = 700,
    keeps_header: bool = False,
) -> list[Hit]:
    return mapping.hits(
        entries,
        ALL,
        workspace=WORKSPACE,
        by_docid=lambda docid: list(rows),
        max_snippet_chars=max_chars,
        keeps_header=keeps_header,
    )


def paths(*entries: Entry, rows: tuple[tuple[str, str], ...] = ()) -> list[str]:
    return [hit.chunk.path for hit in hits(*entries, rows=rows)]


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("qmd://memory-dir-main/2026-02-20.md", "memory/2026-02-20.md"),
        ("qmd://memory-dir-main/Sub Dir/Straße & Co.md", "memory/Sub Dir/Straße & Co.md"),
        ("qmd://memory-dir-main/a?b#c%20d.md", "memory/a?b#c%20d.md"),
        ("qmd://memory-root-main/MEMORY.md", "MEMORY.md"),
        ("qmd://notes-main/deep/x.md", "qmd/notes-main/deep/x.md"),
        ("qmd://sessions-main/5d0c.md", "qmd/sessions-main/5d0c.md"),
    ],
)
def test_a_file_is_shown_from_the_workspace_or_by_its_collection(file: str, path: str) -> None:
    assert paths(entry(file)) == [path]


def test_a_folder_of_the_workspace_that_looks_like_a_virtual_name_is_not_taken_for_one() -> None:
    whole = Collection("all-main", WORKSPACE, "**/*.md", "custom")

    assert mapping.shown_path(whole, "qmd/foo.md", WORKSPACE) == "qmd/all-main/qmd/foo.md"


def test_the_source_is_that_of_the_collection() -> None:
    found = hits(entry("qmd://sessions-main/a.md"), entry("qmd://notes-main/a.md"))

    assert [hit.chunk.source for hit in found] == ["sessions", "memory"]


@pytest.mark.parametrize(
    "file",
    [
        "qmd://theirs/a.md",
        "qmd://notes-main",
        "qmd://notes-main/",
        "qmd://notes-main/../a.md",
        "qmd://",
        "/n/a.md",
        "",
    ],
)
def test_what_is_in_no_collection_of_ours_does_not_count(file: str) -> None:
    assert paths(entry(file)) == []


def test_copies_of_a_text_share_a_docid_and_both_are_shown() -> None:
    found = hits(entry("qmd://notes-main/a.md"), entry("qmd://notes-main/b.md"))

    assert [hit.chunk.path for hit in found] == ["qmd/notes-main/a.md", "qmd/notes-main/b.md"]
    assert len({hit.chunk.id for hit in found}) == 2


def test_a_file_in_two_collections_is_shown_once_with_its_better_score() -> None:
    outer = Collection("all-main", Path("/w"), "**/*.md", "custom")
    both = (
        entry("qmd://all-main/memory/a.md", 0.4),
        entry("qmd://memory-dir-main/a.md", 0.6),
    )

    found = mapping.hits(
        both,
        (MEMORY, outer),
        workspace=WORKSPACE,
        by_docid=lambda docid: [],
        max_snippet_chars=700,
    )

    assert [(hit.chunk.path, hit.score) for hit in found] == [("memory/a.md", 0.6)]


def test_the_best_comes_first_whatever_its_source() -> None:
    found = hits(
        entry("qmd://memory-dir-main/a.md", 0.62),
        entry("qmd://sessions-main/b.md", 0.70),
        entry("qmd://memory-dir-main/c.md", 0.69),
    )

    assert [hit.score for hit in found] == [0.70, 0.69, 0.62]


def test_equal_scores_keep_qmds_order() -> None:
    found = paths(entry("qmd://notes-main/b.md", 0.0), entry("qmd://notes-main/a.md", 0.0))

    assert found == ["qmd/notes-main/b.md", "qmd/notes-main/a.md"]


# --- without an address --------------------------------------------------------------------------


def test_a_docid_leads_to_the_file() -> None:
    assert paths(entry(""), rows=(("theirs", "x.md"), ("notes-main", "a.md"))) == [
        "qmd/notes-main/a.md"
    ]


def test_among_several_the_collection_that_is_named_wins_and_then_the_path_that_fits() -> None:
    rows = (("notes-main", "a.md"), ("notes-main", "b.md"), ("memory-dir-main", "c.md"))

    assert paths(entry("", collection="memory-dir-main"), rows=rows) == ["memory/c.md"]
    assert paths(entry("/n/b.md"), rows=rows) == ["qmd/notes-main/b.md"]


def test_a_collection_and_a_path_in_it_will_do_too() -> None:
    found = entry("a.md", docid="", collection="notes-main")

    assert paths(found) == ["qmd/notes-main/a.md"]


# --- lines ---------------------------------------------------------------------------------------


def test_the_header_tells_the_lines_and_is_not_shown() -> None:
    [hit] = hits(entry("qmd://notes-main/a.md"))

    assert (hit.chunk.start_line, hit.chunk.end_line) == (5, 8)
    assert hit.snippet == Snippet("five\nsix\nseven\neight", 5, 8)


def test_the_header_can_be_kept_as_the_reference_does() -> None:
    [hit] = hits(entry("qmd://notes-main/a.md"), keeps_header=True)

    assert hit.snippet.text.startswith("@@ -5,4 @@ (4 before, 1 after)\nfive")
    assert (hit.snippet.start_line, hit.snippet.end_line) == (5, 8)


def test_blank_lines_around_the_text_are_not_shown_and_do_not_shift_its_lines() -> None:
    [hit] = hits(entry("qmd://notes-main/a.md", snippet=HEAD + "\n  six\nseven\n"))

    assert hit.snippet == Snippet("  six\nseven", 6, 7)
    assert (hit.chunk.start_line, hit.chunk.end_line) == (5, 8)


@pytest.mark.parametrize(
    ("snippet", "line", "lines"),
    [
        ("@@ -3 @@\nx", None, (3, 3)),
        ("@@ -0,0 @@ (0 before, 0 after)\nx", None, (1, 1)),
        ("@@ -7,2 @@ (6 before, 0 after)", 9, (7, 8)),
        ("one\ntwo", 4, (4, 4)),
        ("one\ntwo", None, (1, 2)),
        ("", None, (1, 1)),
        ("text @@ -5,4 @@\n", None, (1, 2)),
    ],
)
def test_lines_come_from_the_header_else_from_the_best_line_else_from_the_text(
    snippet: str, line: int | None, lines: tuple[int, int]
) -> None:
    [hit] = hits(entry("qmd://notes-main/a.md", snippet=snippet, line=line))

    assert (hit.chunk.start_line, hit.chunk.end_line) == lines


def test_a_snippet_is_cut_in_utf16_units_and_between_characters() -> None:
    [hit] = hits(entry("qmd://notes-main/a.md", snippet=HEAD + "a😀😀\nb"), max_chars=4)

    assert hit.snippet == Snippet("a😀", 5, 5)


@given(st.text(), st.integers(1, 30), st.booleans())
def test_a_snippet_is_never_longer_than_allowed_and_lies_in_its_lines(
    text: str, max_chars: int, keeps_header: bool
) -> None:
    [hit] = hits(
        entry("qmd://notes-main/a.md", snippet=HEAD + text),
        max_chars=max_chars,
        keeps_header=keeps_header,
    )

    assert utf16.length(hit.snippet.text) <= max_chars
    assert 5 <= hit.snippet.start_line <= hit.snippet.end_line <= 8


# --- limits --------------------------------------------------------------------------------------


def test_a_caller_can_ask_for_less_but_not_for_more() -> None:
    assert limits.most_results(6, None) == 6
    assert limits.most_results(6, 2) == 2
    assert limits.most_results(6, 60) == 6


def test_what_does_not_fit_is_cut_and_ends_the_list() -> None:
    found = hits(*(entry(f"qmd://notes-main/{at}.md", snippet="x" * 10) for at in range(4)))

    kept = limits.injected(found, 25)

    assert [len(hit.snippet.text) for hit in kept] == [10, 10, 5]


def test_what_fits_exactly_leaves_no_room_for_a_stub() -> None:
    found = hits(*(entry(f"qmd://notes-main/{at}.md", snippet="x" * 10) for at in range(3)))

    assert len(limits.injected(found, 20)) == 2


@given(st.lists(st.text(max_size=20), max_size=6), st.integers(0, 60))
def test_the_budget_is_never_overdrawn_and_what_fits_is_whole(texts: list[str], most: int) -> None:
    found = hits(
        *(
            entry(f"qmd://notes-main/{at}.md", 1 - at / 10, snippet="@@ -1,9 @@\n" + text)
            for at, text in enumerate(texts)
        )
    )

    kept = limits.injected(found, most)

    assert sum(utf16.length(hit.snippet.text) for hit in kept) <= most
    assert kept[:-1] == found[: max(0, len(kept) - 1)]
    assert all(hit.snippet.start_line <= hit.snippet.end_line for hit in kept)
