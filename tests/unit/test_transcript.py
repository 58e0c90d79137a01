"""Transcripts become one line a spoken turn, with a way back to their own lines."""

import io
import json
from collections.abc import Iterable

import pytest

from ocmem.core import utf16
from ocmem.core.chunker import chunks_of
from ocmem.core.transcript import MOST_LINE_BYTES, Transcript, content_hash, turns


def said(role: str, content: object, kind: str = "message") -> bytes:
    return (
        json.dumps({"type": kind, "message": {"role": role, "content": content}}).encode() + b"\n"
    )


def flatten(lines: Iterable[bytes]) -> tuple[str, list[int]]:
    spoken = [*turns(lines)]
    return "\n".join(turn for _, turn in spoken), [number for number, _ in spoken]


def test_turns_are_numbered_by_their_place_in_the_transcript() -> None:
    lines = [
        b'{"type":"session","id":"s"}\n',
        said("user", "Where does the\n\trouter\u3000stand? "),
        b"\n",
        said(
            "assistant", [{"type": "text", "text": " In the "}, {"type": "text", "text": "hall."}]
        ),
        said("toolResult", "irrelevant"),
        said("assistant", [{"type": "thinking", "thinking": "hm"}]),
        b"{torn\n",
        said("user", "   "),
        said("user", "My API_KEY=shortkey"),
        said("user", "not spoken", kind="custom"),
        said("assistant", "Keep it safe.").rstrip(b"\n"),
    ]

    text, line_map = flatten(lines)

    assert text.split("\n") == [
        "User: Where does the router stand?",
        "Assistant: In the hall.",
        "User: My API_KEY=***",
        "Assistant: Keep it safe.",
    ]
    assert line_map == [2, 4, 9, 11]
    assert [(c.start_line, c.end_line) for c in chunks_of(text, tokens=400, overlap=80)] == [(1, 4)]


def test_the_hash_covers_the_text_and_the_line_numbers() -> None:
    spoken = [*turns([said("user", "a"), b"\n", said("assistant", "é")])]

    assert content_hash(spoken) == utf16.sha256("User: a\nAssistant: é\n1,3")
    assert content_hash([(1, "User: a"), (2, "Assistant: é")]) != content_hash(spoken)


def test_a_transcript_without_usable_text_has_the_hash_of_a_newline() -> None:
    spoken = [*turns([b"", b"\n", said("system", "x"), said("user", [])])]

    assert spoken == []
    assert content_hash(spoken).startswith("01ba4719c80b6fe9")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"null",
        b'"message"',
        b"[" * 100_000,
        b'{"type":"message"}',
        b'{"type":"message","message":"user"}',
        b'{"type":"message","message":{"role":["user"],"content":"x"}}',
        said("User", "x"),
        said("user ", "x"),
        said("user", None),
        said("user", {"type": "text", "text": "x"}),
        said("user", ["x", None, 3]),
        said("user", [{"type": "image", "text": "x"}, {"type": "text", "text": 5}]),
        said("user", [{"type": "text", "text": "\ufeff\n"}]),
        said("user", "x", kind="Message"),
        said("user", "x").replace(b"{", b'{"n":NaN,', 1),
        said("user", "x").replace(b"{", b'{"n":-Infinity,', 1),
    ],
)
def test_what_is_no_spoken_turn_is_passed_over(line: bytes) -> None:
    assert flatten([line, said("user", "heard")]) == ("User: heard", [2])


def test_a_number_of_any_length_is_a_number() -> None:
    line = said("user", "x").replace(b"{", b'{"n":' + b"9" * 5000 + b",", 1)

    assert flatten([line])[0] == "User: x"


def test_invalid_bytes_become_replacement_characters() -> None:
    line = b'{"type":"message","message":{"role":"user","content":"a\xffb"}}'

    assert flatten([line])[0] == "User: a\ufffdb"


def test_half_an_emoji_survives_until_it_is_hashed() -> None:
    line = b'{"type":"message","message":{"role":"user","content":"\\ud83d"}}'

    spoken = [*turns([line])]

    assert spoken == [(1, "User: \ud83d")]
    assert content_hash(spoken) == utf16.sha256("User: \ufffd\n1")


def test_a_private_key_over_many_lines_is_masked_as_one() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nIBADAN\n-----END PRIVATE KEY-----"

    assert flatten([said("user", f"look:\n{pem}\ndone")])[0] == "User: look: *** done"


def test_a_role_may_be_spelled_with_escapes() -> None:
    line = b'{"type":"message","message":{"role":"\\u0075ser","content":"x"}}'

    assert flatten([line]) == ("User: x", [1])


def test_an_open_transcript_ends_where_it_ended_when_it_was_opened() -> None:
    file = io.BytesIO(said("user", "a") + said("assistant", "b"))
    spoken = Transcript(file, file.getbuffer().nbytes)
    first = [*spoken]

    file.seek(0, io.SEEK_END)
    file.write(said("user", "c"))

    assert first == [*spoken] == [(1, "User: a"), (2, "Assistant: b")]


def test_a_line_that_is_still_being_written_is_no_turn_yet() -> None:
    whole = said("user", "a") + said("assistant", "b")
    torn = Transcript(io.BytesIO(whole), len(whole) - 5)

    assert [*torn] == [(1, "User: a")]
    assert [*Transcript(io.BytesIO(whole), len(whole) - 1)] == [
        (1, "User: a"),
        (2, "Assistant: b"),
    ]


@pytest.mark.parametrize("surplus", [0, 1, 3_000_000])
def test_a_line_beyond_all_measure_is_passed_over_and_counted(surplus: int) -> None:
    frame = len(said("user", ""))
    most = said("user", "x" * (MOST_LINE_BYTES - frame))
    long = said("user", "x" * (MOST_LINE_BYTES - frame + surplus))
    data = long + said("user", "after")

    numbers = [number for number, _ in Transcript(io.BytesIO(data), len(data))]

    assert len(most) == MOST_LINE_BYTES
    assert numbers == ([1, 2] if surplus == 0 else [2])
