"""Transcripts become one line a spoken turn, with a way back to their own lines."""

import json

import pytest

from ocmem.core import utf16
from ocmem.core.chunker import chunks_of
from ocmem.core.transcript import content_hash, flatten


def said(role: str, content: object, kind: str = "message") -> bytes:
    return (
        json.dumps({"type": kind, "message": {"role": role, "content": content}}).encode() + b"\n"
    )


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
    text, line_map = flatten([said("user", "a"), b"\n", said("assistant", "é")])

    assert content_hash(text, line_map) == utf16.sha256("User: a\nAssistant: é\n1,3")
    assert content_hash(text, [1, 2]) != content_hash(text, line_map)


def test_a_transcript_without_usable_text_has_the_hash_of_a_newline() -> None:
    text, line_map = flatten([b"", b"\n", said("system", "x"), said("user", [])])

    assert (text, line_map) == ("", [])
    assert content_hash(text, line_map).startswith("01ba4719c80b6fe9")


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
    ],
)
def test_what_is_no_spoken_turn_is_passed_over(line: bytes) -> None:
    assert flatten([line, said("user", "heard")]) == ("User: heard", [2])


def test_invalid_bytes_become_replacement_characters() -> None:
    line = b'{"type":"message","message":{"role":"user","content":"a\xffb"}}'

    assert flatten([line])[0] == "User: a\ufffdb"


def test_half_an_emoji_survives_until_it_is_hashed() -> None:
    line = b'{"type":"message","message":{"role":"user","content":"\\ud83d"}}'

    text, line_map = flatten([line])

    assert text == "User: \ud83d"
    assert content_hash(text, line_map) == utf16.sha256("User: \ufffd\n1")


def test_a_private_key_over_many_lines_is_masked_as_one() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nIBADAN\n-----END PRIVATE KEY-----"

    assert flatten([said("user", f"look:\n{pem}\ndone")])[0] == "User: look: *** done"
