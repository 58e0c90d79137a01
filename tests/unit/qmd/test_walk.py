"""Which files QMD looks at, by names alone."""

from pathlib import Path

import pytest

from ocmem.backends.qmd import walk
from ocmem.backends.qmd.collections import Collection

FILES = [
    "a.md",
    "b.txt",
    "sub/c.md",
    "sub/deep/d.md",
    ".hidden/e.md",
    "sub/.f.md",
    "node_modules/g.md",
    "sub/build/h.md",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    (tmp_path / "linked").symlink_to(tmp_path / "sub")
    return tmp_path


def collection(root: Path, pattern: str) -> Collection:
    return Collection("name", root, pattern, "custom")


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("**/*.md", 3),
        ("*.md", 1),
        ("a.md", 1),
        ("sub/c.md", 1),
        ("absent.md", 0),
        ("link.md", 0),
        ("sub/*.md", 1),
        ("*.md,sub/**/*.md", 3),
        ("*.{md,txt}", 2),
        ("**/*.txt", 1),
    ],
)
def test_files_are_counted_as_qmd_would(root: Path, pattern: str, files: int) -> None:
    assert walk.count(collection(root, pattern)) == files


def test_folders_that_matter_are_seen_too(root: Path) -> None:
    deep = [seen for seen in walk.walk(collection(root, "**/*.md")) if seen.is_folder]
    flat = [seen for seen in walk.walk(collection(root, "*.md")) if seen.is_folder]

    assert (len(deep), len(flat)) == (3, 1)


def test_a_folder_that_is_not_there_has_nothing(root: Path) -> None:
    assert list(walk.walk(collection(root / "absent", "**/*.md"))) == []
