"""Glob patterns for stored paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.core import globs


@pytest.mark.parametrize(
    ("pattern", "excluded"),
    [
        ("drafts", ["memory/drafts/a.md", "memory/x/drafts/deep/b.md"]),
        ("drafts/", ["memory/drafts/a.md", "memory/x/drafts/deep/b.md"]),
        ("2026-*.md", ["memory/2026-01-01.md", "memory/x/2026-01-02.md"]),
        ("memory/*.md", ["memory/2026-01-01.md", "memory/b.md"]),
        ("memory/**/b.md", ["memory/x/drafts/deep/b.md", "memory/b.md"]),
        ("memory/x/**", ["memory/x/drafts/deep/b.md", "memory/x/2026-01-02.md"]),
        ("/memory/x", ["memory/x/drafts/deep/b.md", "memory/x/2026-01-02.md"]),
        ("?.md", ["memory/drafts/a.md", "memory/x/drafts/deep/b.md", "memory/b.md"]),
        ("x/drafts", []),
        ("draft", []),
        ("memory?b.md", []),
        ("[ab].md", ["memory/drafts/a.md", "memory/x/drafts/deep/b.md", "memory/b.md"]),
        ("[!a].md", ["memory/x/drafts/deep/b.md", "memory/b.md"]),
        ("2026-01-0[1-1].md", ["memory/2026-01-01.md"]),
        ("2026-01-0[2-1].md", []),
        ("memory[/]b.md", []),
        ("memory[^x]b.md", []),
        ("{2026-01-01,b}.md", ["memory/2026-01-01.md", "memory/b.md", "memory/x/drafts/deep/b.md"]),
        ("memory/{x/2026-*,{b,c}.md}", ["memory/x/2026-01-02.md", "memory/b.md"]),
        ("{b}.md", []),
        ("{b,c.md", []),
        ("b,c}.md", []),
        ("[b.md", []),
    ],
)
def test_exclude_globs_stay_within_a_folder_unless_doubled(
    pattern: str, excluded: list[str]
) -> None:
    paths = {
        "memory/drafts/a.md",
        "memory/x/drafts/deep/b.md",
        "memory/x/2026-01-02.md",
        "memory/2026-01-01.md",
        "memory/b.md",
    }

    is_excluded = globs.matcher([pattern])

    assert {path for path in paths if is_excluded(path)} == {*excluded}


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("{b}.md", "{b}.md"),
        ("{b,c.md", "{b,c.md"),
        ("a,b.md", "a,b.md"),
        ("[b.md", "[b.md"),
        ("[[]b].md", "[b].md"),
        ("[]!-]x.md", "]x.md"),
        ("[a-].md", "-.md"),
        ("[!].md", "!.md"),
        ("[\\^&&~|].md", "&.md"),
    ],
)
def test_brackets_and_braces_can_be_meant_as_they_are(pattern: str, path: str) -> None:
    assert globs.matcher([pattern])(path)


@given(pattern=st.text(st.sampled_from("ab*?[]!^-{},/\\&|~."), max_size=12))
def test_every_text_is_a_glob(pattern: str) -> None:
    globs.matcher([pattern])("a/b.md")
