"""Who may search through QMD: the shape of the rules, checked at every level."""

import pytest

from tests.unit.settings.home import Home


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ([], [": Invalid input: expected object, received array"]),
        ("deny", [": Invalid input: expected object, received string"]),
        (
            {"rules": {}, "default": "maybe", "x": 1},
            [
                ".default: Invalid input",
                ".rules: Invalid input: expected array, received object",
                ': Unrecognized key: "x"',
            ],
        ),
        (
            {"rules": ["deny", None]},
            [
                ".rules.0: Invalid input: expected object, received string",
                ".rules.1: Invalid input: expected object, received null",
            ],
        ),
        ({"rules": [{}]}, [".rules.0.action: Invalid input"]),
        ({"rules": [{"action": None}]}, [".rules.0.action: Invalid input"]),
        (
            {"rules": [{"action": "allow"}, {"action": "block", "when": 1, "why": 2}]},
            [
                ".rules.1.action: Invalid input",
                '.rules.1: Unrecognized keys: "when", "why"',
            ],
        ),
        (
            {"rules": [{"action": "deny", "match": "group"}]},
            [".rules.0.match: Invalid input: expected object, received string"],
        ),
        (
            {"rules": [{"action": "deny", "match": {"chatType": "Group", "channel": 5, "id": 1}}]},
            [
                ".rules.0.match.channel: Invalid input: expected string, received number",
                ".rules.0.match.chatType: Invalid input",
                '.rules.0.match: Unrecognized key: "id"',
            ],
        ),
        (
            {"rules": [{"action": "deny", "match": {"keyPrefix": [], "rawKeyPrefix": True}}]},
            [
                ".rules.0.match.keyPrefix: Invalid input: expected string, received array",
                ".rules.0.match.rawKeyPrefix: Invalid input: expected string, received boolean",
            ],
        ),
    ],
)
def test_the_scope_of_qmd_is_checked_at_every_level(
    home: Home, scope: object, expected: list[str]
) -> None:
    home.write({"memory": {"qmd": {"scope": scope}}})

    assert home.problems() == [f"memory.qmd.scope{text}" for text in expected]


@pytest.mark.parametrize(
    "scope",
    [
        None,
        {},
        {"default": "allow"},
        {"default": None, "rules": None},
        {"default": "deny", "rules": []},
        {"rules": [{"action": "deny"}, {"action": "allow", "match": None}]},
        *(
            {"rules": [{"action": "allow", "match": {"chatType": kind, "channel": "x"}}]}
            for kind in ("direct", "group", "channel", "dm")
        ),
        {"rules": [{"action": "deny", "match": {"keyPrefix": "", "rawKeyPrefix": "agent:"}}]},
    ],
)
def test_a_scope_of_the_right_shape_is_accepted(home: Home, scope: object) -> None:
    home.write({"memory": {"qmd": {"scope": scope}}})

    assert home.resolve().backend == "builtin"
