"""`ocmem get`: a note, or the lines that a citation names."""

import json
import re

import pytest

from tests.cli.program import EXAMPLE, Program

TEN = "".join(f"line {number}\n" for number in range(1, 11))


def test_a_file_comes_out_verbatim(ocmem: Program) -> None:
    ocmem.example()

    done = ocmem("get", "memory/topics/slipway.md")

    assert (done.code, done.err) == (0, "")
    assert done.out == (EXAMPLE / "memory/topics/slipway.md").read_text()


@pytest.mark.parametrize(
    "text", ["", "no newline at the end", "a\r\nb\r\n", "\n\n\n", "é 한글 😀\n"]
)
def test_not_a_byte_is_added(ocmem: Program, text: str) -> None:
    ocmem.note("MEMORY.md", text)

    done = ocmem("get", "MEMORY.md")

    assert (done.code, done.out) == (0, text)


def test_lines_can_be_chosen(ocmem: Program) -> None:
    ocmem.note("memory/ten.md", TEN)

    both = ocmem("get", "memory/ten.md", "--from", "3", "--lines", "2")
    rest = ocmem("get", "memory/ten.md", "--from", "10")
    top = ocmem("get", "memory/ten.md", "--lines", "1")

    assert both.out == "line 3\nline 4"
    assert rest.out == "line 10\n"
    assert top.out == "line 1"


def test_a_citation_is_accepted_as_search_prints_it(ocmem: Program) -> None:
    ocmem.example()
    found = ocmem("search", "tomatoes", "--json")
    printed = re.findall(r"^Source: (.+)$", ocmem("search", "tomatoes").out, re.MULTILINE)

    for result, citation in zip(found.results, printed, strict=True):
        done = ocmem("get", citation)

        lines = (EXAMPLE / result["path"]).read_text().split("\n")
        assert done.code == 0
        assert done.out == "\n".join(lines[result["startLine"] - 1 : result["endLine"]])


def test_a_citation_of_one_line_gives_that_line(ocmem: Program) -> None:
    ocmem.note("memory/ten.md", TEN)

    assert ocmem("get", "memory/ten.md#L7").out == "line 7"


def test_json_says_which_lines_they_are(ocmem: Program) -> None:
    ocmem.note("memory/ten.md", TEN)

    done = ocmem("get", "memory/ten.md#L2-L4", "--json")

    assert (
        done.out
        == json.dumps(
            {
                "text": "line 2\nline 3\nline 4",
                "path": "memory/ten.md",
                "startLine": 2,
                "endLine": 4,
            },
            indent=2,
        )
        + "\n"
    )


def test_lines_past_the_end_are_no_text_and_a_warning(ocmem: Program) -> None:
    ocmem.note("memory/ten.md", TEN)

    done = ocmem("get", "memory/ten.md", "--from", "50")

    assert (done.code, done.out) == (0, "")
    assert "has only 11 lines" in done.err


@pytest.mark.parametrize(
    "args",
    [
        ["memory/ten.md#L2-L4", "--from", "1"],
        ["memory/ten.md#L2-L4", "--lines", "1"],
        ["memory/ten.md", "--from", "0"],
        ["memory/ten.md", "--from", "-1"],
        ["memory/ten.md", "--lines", "0"],
        ["memory/ten.md", "--lines", "x"],
        ["memory/ten.md#L4-L2"],
        ["memory/ten.md#L0"],
    ],
)
def test_lines_that_make_no_sense_are_a_usage_error(ocmem: Program, args: list[str]) -> None:
    ocmem.note("memory/ten.md", TEN)

    done = ocmem("get", *args)

    assert (done.code, done.out) == (1, "")
    assert done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "path",
    [
        "memory/missing.md",
        "memory/missing.md#L1-L2",
        "README.txt",
        "secret.md",
        "../secret.md",
        "memory/../../secret.md",
        "memory/notes.txt",
        "memory",
        "memory/link.md",
        "memory/out/secret.md",
        "/etc/passwd",
        " ",
    ],
)
def test_a_path_that_is_not_a_note_is_refused(ocmem: Program, path: str) -> None:
    ocmem.note("memory/notes.txt", "hidden")
    ocmem.note("README.txt", "hidden")
    ocmem.note("secret.md", "hidden")
    outside = ocmem.state / "secret.md"
    outside.write_text("hidden")
    (ocmem.workspace / "memory" / "link.md").symlink_to(outside)
    (ocmem.workspace / "memory" / "out").symlink_to(ocmem.state)

    for args in ([path], [path, "--json"]):
        done = ocmem("get", *args)

        assert (done.code, done.out) == (1, "")
        assert done.err
        assert "hidden" not in done.err
        assert "Traceback" not in done.err


def test_an_unreadable_file_is_an_error(ocmem: Program, permissions: None) -> None:
    ocmem.note("memory/closed.md", "hidden").chmod(0)

    done = ocmem("get", "memory/closed.md", bound=True)

    assert (done.code, done.out) == (1, "")
    assert "memory/closed.md cannot be read: Permission denied" in done.err


def test_get_needs_and_makes_no_index(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "tea\n")

    ocmem("get", "MEMORY.md")

    assert sorted(path.name for path in ocmem.state.iterdir()) == ["workspace"]
