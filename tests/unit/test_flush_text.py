"""What people see of the flush, at a given time and width."""

from ocmem.cli import flush_text
from ocmem.core import standing
from ocmem.core.standing import Asked, Session, Standing
from ocmem.settings import flush

NOW_MS = 1_771_581_700_000.0
HOUR_MS = 3_600_000


def of(**session: object) -> Standing:
    return standing.standing(
        Session(**session),  # type: ignore[arg-type]
        flush.resolve({}, "main"),
        Asked(),
    )


def report(found: Standing, *, width: int = 80, warnings: tuple[str, ...] = ()) -> list[str]:
    text = flush_text.report(
        found,
        missing_key=None,
        target="memory/2026-02-20.md",
        warnings=warnings,
        is_verbose=False,
        width=width,
        is_colored=False,
    )
    return text.split("\n")


def listing(*found: Standing, width: int | None) -> str:
    return flush_text.listing(found, warnings=["odd"], now_ms=NOW_MS, width=width)


def test_a_session_has_a_row() -> None:
    key = "agent:main:telegram:group:-100123456780"
    one = of(key=key, tokens=178_000, updated_at_ms=NOW_MS - 2 * HOUR_MS)

    assert listing(one, of(key="x"), width=None) == (
        f"KEY{' ' * 36}  TOKENS  LEFT   %  FLUSH           UPDATED\n"
        f"{key}  178000     0  89  due                 2 h\n"
        f"x{' ' * 38}       –     –   –  tokens-unknown        –\n"
        "\n"
        "Warning  odd"
    )
    assert listing(one, of(key="x"), width=60) == (
        "KEY\n"
        "  TOKENS  LEFT   %  FLUSH           UPDATED\n"
        f"{key}\n"
        "  178000     0  89  due                 2 h\n"
        "x\n"
        "       –     –   –  tokens-unknown        –\n"
        "\n"
        "Warning  odd"
    )


def test_a_due_flush_names_its_file_and_another_says_how_far_it_is() -> None:
    assert "Would flush     yes, at the next turn -> memory/2026-02-20.md" in report(
        of(tokens=176_000)
    )
    assert "Would flush     no, 1 tokens to go (below-threshold)" in report(of(tokens=175_999))


def test_it_is_told_where_the_tokens_are_from() -> None:
    counted = of(tokens=9, source="transcript-tiktoken", method="o200k_base")
    stale = of(tokens=9, source="store", is_fresh=False)

    assert "Tokens          9 (counted with tiktoken, o200k_base)" in report(counted)
    assert "Tokens          9 (sessions.json, out of date)" in report(stale)


def test_warnings_are_broken_to_fit() -> None:
    lines = report(of(), width=40, warnings=("one two three four five six", "seven"))

    assert "Warning         one two three four five" in lines
    assert lines[lines.index("Warning         one two three four five") + 1 :][:2] == [
        "                six",
        "                seven",
    ]


def test_the_bar_does_not_grow_without_end() -> None:
    assert max(map(len, report(of(tokens=5), width=500))) == 100
