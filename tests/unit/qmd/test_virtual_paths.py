"""Files of QMD's collections are read by their virtual names, and nothing beside them."""

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from ocmem.core import citation, reader
from ocmem.errors import NotReadable
from ocmem.settings import Overrides, Settings, resolve
from ocmem.tools.memory_get import memory_get
from tests.unit.odd_json import TEXTS

LINES = "l1\nl2\nl3\nl4\n"
SECRET = "not in any collection"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    notes = {
        "ws/MEMORY.md": LINES,
        "ws/memory/a.md": "note a",
        "ws/other.md": "other",
        "ws/projects/p.md": "project",
        "ws/.hidden/h.md": "hidden",
        "ws/t.txt": "text",
        "ws/qmd/docs-main/a.md": "of that name in the workspace",
        "docs/a.md": LINES,
        "docs/deep/b c.md": "deep",
        "docs/crlf.md": "one\r\ntwo\r\nthree\r\n",
        "docs/t.txt": "text",
        "docs/%2e%2e/in.md": "percent",
        "docs2/x.md": SECRET,
        "x.md": SECRET,
        "extra/e.md": "extra",
    }
    for name, text in notes.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())
    (home / "docs/dir.md").mkdir()
    (home / "docs/link.md").symlink_to(home / "x.md")
    (home / "docs/near.md").symlink_to("a.md")
    (home / "docs/out").symlink_to(home / "docs2")
    (home / "docs/up").symlink_to("..")
    (home / "docs/inner").symlink_to("deep")
    (home / "ws/out").symlink_to(home / "docs2")
    (home / "ws/link.md").symlink_to("other.md")
    (home / "linked-docs").symlink_to("docs")
    os.mkfifo(home / "docs/pipe.md")
    return home


@pytest.fixture(scope="module")
def settings(home: Path) -> Settings:
    defaults = {"workspace": str(home / "ws"), "memorySearch": {"extraPaths": ["../extra"]}}
    config = home / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": defaults}}))
    env = {"HOME": str(home), "OCMEM_CONFIG": str(home / "none.json5")}
    return resolve(Overrides(state_dir=str(home / "state"), config=str(config)), env)


@pytest.fixture(scope="module")
def collections(home: Path) -> Mapping[str, Path]:
    return {
        "docs-main": home / "docs",
        "linked-main": home / "linked-docs",
        "gone-main": home / "gone",
        "memory-dir-main": home / "ws" / "memory",
    }


def refusal(
    settings: Settings, path: str, collections: Mapping[str, Path], *, whole: bool = False
) -> NotReadable:
    with pytest.raises(NotReadable) as caught:
        reader.read_lines(settings, path, collections=collections, whole_workspace=whole)
    return caught.value


@pytest.mark.parametrize(
    ("path", "stored", "text"),
    [
        ("qmd/docs-main/a.md", "qmd/docs-main/a.md", LINES),
        (" qmd/docs-main/deep/b c.md\n", "qmd/docs-main/deep/b c.md", "deep"),
        ("qmd/docs-main//deep/.././a.md", "qmd/docs-main/a.md", LINES),
        ("qmd/docs-main/inner/b c.md", "qmd/docs-main/inner/b c.md", "deep"),
        ("qmd/docs-main/%2e%2e/in.md", "qmd/docs-main/%2e%2e/in.md", "percent"),
        ("qmd/docs-main/crlf.md", "qmd/docs-main/crlf.md", "one\r\ntwo\r\nthree\r\n"),
        ("qmd/linked-main/a.md", "qmd/linked-main/a.md", LINES),
        ("qmd/memory-dir-main/a.md", "qmd/memory-dir-main/a.md", "note a"),
    ],
)
def test_a_virtual_name_leads_to_the_file_of_a_collection(
    settings: Settings, collections: Mapping[str, Path], path: str, stored: str, text: str
) -> None:
    found = reader.read_lines(settings, path, collections=collections)

    assert (found.text, found.path) == (text, stored)


def test_a_citation_of_a_virtual_name_works_as_printed(
    settings: Settings, collections: Mapping[str, Path]
) -> None:
    cited = citation.parse("qmd/docs-main/a.md#L2-L3")
    assert cited is not None
    path, start, end = cited

    found = reader.read_lines(
        settings, path, start=start, count=end - start + 1, collections=collections
    )

    assert found == reader.Excerpt("l2\nl3", "qmd/docs-main/a.md", 2, 3, total_lines=5)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("qmd/", "qmd/ is in no collection"),
        ("qmd/docs", "qmd/docs is in no collection"),
        ("qmd/Docs-Main/a.md", "qmd/Docs-Main/a.md is in no collection"),
        ("qmd//docs-main/a.md", "qmd//docs-main/a.md is in no collection"),
        ("qmd/../x.md", "qmd/../x.md is in no collection"),
        ("qmd/docs-main", "qmd/docs-main is a collection; name a file in it"),
        ("qmd/docs-main/deep/..", "qmd/docs-main/deep/.. is a collection; name a file in it"),
        ("qmd/docs-main/deep", "qmd/docs-main/deep is a folder; name a file in it"),
        ("qmd/docs-main/dir.md", "qmd/docs-main/dir.md is a folder; name a file in it"),
        ("qmd/docs-main/pipe.md", "qmd/docs-main/pipe.md is not a regular file"),
        (
            "qmd/docs-main/t.txt",
            "qmd/docs-main/t.txt is not a Markdown file: its name does not end in .md",
        ),
        (
            "qmd/docs-main/a.MD",
            "qmd/docs-main/a.MD is not a Markdown file: its name does not end in .md",
        ),
        ("qmd/docs-main/\0.md", "a path cannot hold a NUL character"),
        *(
            (
                f"qmd/docs-main/{name}",
                f"qmd/docs-main/{name} is a symbolic link, which is not followed",
            )
            for name in ("link.md", "near.md", "inner/../link.md")
        ),
        *(
            (f"qmd/docs-main/{name}", f"qmd/docs-main/{name} is not one of the memory files")
            for name in ("../x.md", "../docs2/x.md", "deep/../../x.md", "../docs2/none.md")
        ),
        *(
            (
                f"qmd/docs-main/{name}",
                f"qmd/docs-main/{name} leads out of the memory files through a symbolic link",
            )
            for name in ("out/x.md", "up/x.md", "up/docs2/x.md")
        ),
    ],
)
def test_every_other_name_is_refused(
    settings: Settings, collections: Mapping[str, Path], path: str, message: str
) -> None:
    error = refusal(settings, path, collections)

    assert str(error) == message
    assert error.errno is None


@pytest.mark.parametrize(
    "path",
    [
        "qmd/docs-main/none.md",
        "qmd/gone-main/a.md",
        "qmd/docs-main/..\\x.md",
        "qmd/docs-main/%2e%2e/x.md",
        "qmd/docs-main/..%2fx.md",
        "qmd/docs-main/{home}/x.md",
        "qmd/docs-main/\ud83d.md",
    ],
)
def test_a_name_of_no_file_is_missing(
    settings: Settings, home: Path, collections: Mapping[str, Path], path: str
) -> None:
    error = refusal(settings, path.format(home=home), collections)

    assert error.errno == errno.ENOENT


def test_a_hard_link_in_a_collection_is_a_file_of_it(
    settings: Settings, home: Path, collections: Mapping[str, Path]
) -> None:
    (home / "docs" / "hard.md").hardlink_to(home / "extra" / "e.md")

    assert reader.read_lines(settings, "qmd/docs-main/hard.md", collections=collections).text == (
        "extra"
    )


def test_without_collections_the_names_are_plain_paths(settings: Settings) -> None:
    with pytest.raises(NotReadable, match="is not one of the memory files"):
        reader.read_lines(settings, "qmd/docs-main/a.md")

    found = reader.read_lines(settings, "qmd/docs-main/a.md", whole_workspace=True)
    assert found.text == "of that name in the workspace"


def test_who_names_no_collection_is_told_which_there_are(
    settings: Settings, collections: Mapping[str, Path]
) -> None:
    some, none = (refusal(settings, "qmd/x/a.md", each).hint for each in (collections, {}))

    known = "docs-main, gone-main, linked-main, memory-dir-main"
    assert some == f"collections of this agent: {known}"
    assert none == "collections of this agent: none"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("other.md", "other"),
        ("projects/../projects/p.md", "project"),
        ("{home}/ws/projects/p.md", "project"),
        (".hidden/h.md", "hidden"),
        ("MEMORY.md", LINES),
        ("../extra/e.md", "extra"),
    ],
)
def test_the_whole_workspace_is_wider_than_its_memory(
    settings: Settings, home: Path, path: str, text: str
) -> None:
    found = reader.read_lines(settings, path.format(home=home), whole_workspace=True)

    assert found.text == text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("t.txt", "t.txt is not a Markdown file: its name does not end in .md"),
        ("projects", "projects is a folder; name a file in it"),
        ("link.md", "link.md is a symbolic link, which is not followed"),
        ("out/x.md", "out/x.md leads out of the memory files through a symbolic link"),
        ("../x.md", "../x.md is not one of the memory files"),
        ("/etc/passwd.md", "/etc/passwd.md is not one of the memory files"),
    ],
)
def test_the_whole_workspace_ends_at_its_border(
    settings: Settings, path: str, message: str
) -> None:
    error = refusal(settings, path, {}, whole=True)

    assert str(error) == message
    if "not one of" in message:
        also = ", and what memorySearch.extraPaths names"
        assert error.hint == f"any .md file below ~/ws can be read{also}"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "one\r\ntwo\r\nthree\r\n"),
        ({"from": 1}, "one\ntwo\nthree\n"),
        ({"from": 2, "lines": 1}, "two"),
        ({"lines": 2}, "one\ntwo"),
    ],
)
def test_the_agent_gets_lines_without_carriage_returns(
    settings: Settings, collections: Mapping[str, Path], given: dict[str, int], text: str
) -> None:
    path = "qmd/docs-main/crlf.md"

    reply = memory_get({"path": path, **given}, settings, collections=collections)

    assert reply.answer == {"text": text, "path": path}


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("other.md", {"text": "other", "path": "other.md"}),
        ("none.md", {"text": "", "path": "none.md"}),
        ("qmd/docs-main/deep//none.md", {"text": "", "path": "qmd/docs-main/deep/none.md"}),
    ],
)
def test_the_agent_reads_what_that_backend_would(
    settings: Settings, collections: Mapping[str, Path], path: str, answer: dict[str, str]
) -> None:
    reply = memory_get({"path": path}, settings, collections=collections)

    assert reply.answer == answer


@pytest.mark.parametrize(
    "path",
    ["qmd/docs-main/../x.md", "qmd/docs-main/out/x.md", "qmd/x/a.md", "qmd/docs-main", "../x.md"],
)
def test_the_agent_is_refused_in_the_same_two_words(
    settings: Settings, collections: Mapping[str, Path], path: str
) -> None:
    reply = memory_get({"path": path}, settings, collections=collections)

    assert (reply.answer["text"], reply.answer["error"]) == ("", "path required")


_PARTS = st.sampled_from(
    ["..", ".", "", "docs-main", "docs", "docs2", "out", "up", "inner", "deep", "a.md", "x.md"]
)
_ODD = TEXTS.filter(lambda text: "/" not in text)


@given(st.lists(_PARTS | _ODD, min_size=1, max_size=7), st.booleans())
@profile(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_spelling_leads_out(
    settings: Settings,
    home: Path,
    collections: Mapping[str, Path],
    parts: list[str],
    encodes: bool,
) -> None:
    rest = "/".join(parts)
    if encodes:
        rest = quote(rest, safe="", errors="replace")
    for path in (f"qmd/docs-main/{rest}", f"qmd/{rest}", rest, f"{home}/{rest}"):
        try:
            excerpt = reader.read_lines(
                settings, path, collections=collections, whole_workspace=True
            )
        except NotReadable:
            continue
        assert SECRET not in excerpt.text
        assert excerpt.path.endswith(".md")
