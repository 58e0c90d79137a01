"""What the generations of QMD print, and what is made of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.backends.qmd import answers
from ocmem.backends.qmd.answers import Entry
from ocmem.backends.qmd.collections import Listed
from ocmem.backends.qmd.process import Output
from ocmem.errors import QmdError

CAPTURED = """[
  {
    "docid": "#b65e65",
    "score": 0.69,
    "file": "qmd://memory-dir-main/2026-02-20.md",
    "line": 6,
    "title": "2026-02-20",
    "snippet": "@@ -5,4 @@ (4 before, 1 after)\\n\\nRouter model: Omada ER605, VLAN 10 for IoT."
  }
]
"""
ENTRY = Entry(
    docid="b65e65",
    score=0.69,
    file="qmd://memory-dir-main/2026-02-20.md",
    line=6,
    snippet="@@ -5,4 @@ (4 before, 1 after)\n\nRouter model: Omada ER605, VLAN 10 for IoT.",
)
LISTING = """Collections (4):

memory-root-main (qmd://memory-root-main/)
  Pattern:  MEMORY.md
  Files:    1
  Updated:  2s ago

docs-main (qmd://docs-main/) [excluded]
  Pattern:  **/*.md
  Ignore:   drafts/**
  Files:    0
  Updated:  1d ago
"""


def read(stdout: str, stderr: str = "") -> list[Entry]:
    return answers.entries(Output(0, stdout, stderr))


def test_a_captured_answer_is_understood() -> None:
    assert read(CAPTURED) == [ENTRY]


@pytest.mark.parametrize(
    "noise",
    [
        "QMD Warning: GPU init failed\n",
        "[node-llama-cpp] loaded\n",
        "[1/3] expanding [lex, vec]\n",
        "progress: []  done\n",
        "\ufeff",
    ],
)
def test_noise_around_the_array_is_no_matter(noise: str) -> None:
    assert read(noise + CAPTURED) == [ENTRY]
    assert read(CAPTURED + noise) == [ENTRY]


@pytest.mark.parametrize(
    "nothing",
    [
        "[]",
        " [] \n",
        "some warning\n[]\n",
        "No results found.",
        "no results found",
        "No results found above minimum score threshold.",
        "warning: no results found",
        "[qmd] No results found.",
        "Searching ...\nNo results found.\n",
    ],
)
def test_nothing_found_is_said_in_many_ways(nothing: str) -> None:
    assert read(nothing) == []


def test_it_may_be_said_on_the_other_stream_when_this_one_is_silent() -> None:
    assert read("", "No results found.\n") == []
    assert read(CAPTURED, "No results found.\n") == [ENTRY]


def test_a_note_about_no_results_does_not_hide_results() -> None:
    raw = json.loads(CAPTURED)
    raw[0]["snippet"] = "@@ -1,1 @@\nNo results found.\n"

    assert len(read(json.dumps(raw, indent=2))) == 1


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "   \n",
        "Segmentation fault",
        CAPTURED[:-20],
        '{"results": 1}',
        '["a", "b"]',
        "[1, 2]",
        "[" * 100_000,
    ],
)
def test_what_is_no_list_of_results_is_an_error(broken: str) -> None:
    with pytest.raises(QmdError) as caught:
        read(broken)

    assert caught.value.cause == "output"
    assert len(str(caught.value)) < 400


def test_fields_that_are_missing_or_odd_have_values_that_do_no_harm() -> None:
    odd = [
        {"docid": "#abc", "score": "high", "line": True, "snippet": None, "file": 3},
        {"docid": 7, "file": "qmd://a/b.md", "line": -2, "collection": "a"},
        {"score": 1},
    ]

    assert read(json.dumps(odd)) == [
        Entry("abc", 0.0, "", None, ""),
        Entry("", 0.0, "qmd://a/b.md", None, "", "a"),
    ]


@given(st.lists(st.builds(lambda text: {"docid": "#1", "snippet": text}, st.text()), min_size=1))
def test_no_text_in_a_snippet_confuses_the_reading(raw: list[dict[str, str]]) -> None:
    found = read(json.dumps(raw, ensure_ascii=False))

    assert [entry.snippet for entry in found] == [each["snippet"] for each in raw]


@given(st.text())
def test_any_text_at_all_is_an_answer_or_an_error_with_a_name(text: str) -> None:
    try:
        read(text)
    except QmdError as error:
        assert error.cause == "output"


# --- collections ---------------------------------------------------------------------------------


def test_a_listing_in_text_has_names_and_patterns() -> None:
    assert answers.listing(LISTING) == [
        Listed("memory-root-main", None, "MEMORY.md"),
        Listed("docs-main", None, "**/*.md"),
    ]


def test_a_listing_in_text_may_have_folders() -> None:
    text = "notes\n  Mask: *.md\n  Path: /my notes\n\nothers (qmd://others/)\n"

    assert answers.listing(text) == [
        Listed("notes", "/my notes", "*.md"),
        Listed("others", None, None),
    ]


def test_a_listing_may_be_json() -> None:
    raw = ["a", {"name": "b", "path": "/b", "mask": "*.md"}, {"name": "c", "pattern": "x"}, {}]

    assert answers.listing(json.dumps(raw)) == [
        Listed("a", None, None),
        Listed("b", "/b", "*.md"),
        Listed("c", None, "x"),
    ]


def test_no_collections_are_none() -> None:
    assert answers.listing("No collections found. Run 'qmd collection add .' to create one.") == []
    assert answers.listing("[]") == []
    assert answers.listing("") == []


def test_the_folder_of_a_collection_is_shown() -> None:
    text = "Collection: docs-main\n  Path:     /home/me/my docs\n  Pattern:  **/*.md\n"

    assert answers.shown_path(text) == "/home/me/my docs"
    assert answers.shown_path("Collection: docs-main\n") is None
