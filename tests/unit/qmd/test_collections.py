"""Which collections an agent has, their names, and how they are brought about."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.backends.qmd import collections
from ocmem.backends.qmd.collections import Collection, Listed, Plan, Wanted
from ocmem.settings import qmd as qmd_settings
from ocmem.settings.document import normalized_id

NAME = re.compile(r"[a-z0-9-]+")


def wanted(agent: str = "main", **qmd: Any) -> Wanted:  # noqa: ANN401
    settings = qmd_settings.resolve(
        {"qmd": qmd}, agent=agent, workspace=Path("/w"), home=Path("/h"), state_dir=Path("/s")
    )
    return collections.wanted(settings)


def names(agent: str = "main", **qmd: Any) -> list[str]:  # noqa: ANN401
    return [each.name for each in wanted(agent, **qmd).collections]


def collection(name: str, root: str = "/w", pattern: str = "**/*.md") -> Collection:
    return Collection(name, Path(root), pattern, "custom", name.removesuffix("-main"))


def listed(*collections: Collection) -> list[Listed]:
    return [Listed(each.name, str(each.root), each.pattern) for each in collections]


def test_every_kind_comes_in_its_order() -> None:
    found = wanted(paths=[{"path": "/n", "name": "notes"}], sessions={"enabled": True})

    assert [
        (each.name, str(each.root), each.pattern, each.source) for each in found.collections
    ] == [
        ("memory-root-main", "/w", "MEMORY.md", "memory"),
        ("memory-alt-main", "/w", "memory.md", "memory"),
        ("memory-dir-main", "/w/memory", "**/*.md", "memory"),
        ("notes-main", "/n", "**/*.md", "memory"),
        ("sessions-main", "/s/agents/main/qmd/sessions", "**/*.md", "sessions"),
    ]
    assert found.warnings == ()


def test_the_default_memory_can_be_left_out() -> None:
    assert names(includeDefaultMemory=False, paths=[{"path": "/n"}]) == ["custom-1-main"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Docs & Notes", "docs-notes-main"),
        ("  Docs  ", "docs-main"),
        ("a__b..c", "a-b-c-main"),
        ("-a-", "a--main"),
        ("한글", "main"),
        ("ÄB", "b-main"),
    ],
)
def test_a_name_is_lowered_and_cleaned(name: str, expected: str) -> None:
    assert names(includeDefaultMemory=False, paths=[{"path": "/n", "name": name}]) == [expected]


@pytest.mark.parametrize("place", ["/w", "/", "/w/memory", "/s/agents/main/sessions"])
def test_a_folder_that_sessions_cannot_be_exported_into_is_not_searched_for_them(
    place: str,
) -> None:
    found = wanted(sessions={"enabled": True, "exportDir": place})

    assert "sessions-main" not in [each.name for each in found.collections]
    assert "sessions cannot be exported into" in found.warnings[0]


def test_an_unnamed_path_has_its_number_and_skipped_ones_count() -> None:
    paths = [{"path": ""}, {"path": "/a"}, {"path": "/b", "name": "B"}, {"path": "/c"}]

    assert names(includeDefaultMemory=False, paths=paths) == [
        "custom-2-main",
        "b-main",
        "custom-4-main",
    ]


def test_a_second_use_of_a_name_is_numbered() -> None:
    paths = [
        {"path": f"/{at}", "name": name} for at, name in enumerate(["n", "N", "n !", "n-main"])
    ]

    assert names(includeDefaultMemory=False, paths=paths) == [
        "n-main",
        "n-main-2",
        "n--main",
        "n-main-main",
    ]


def test_a_path_cannot_take_the_name_of_the_default_memory() -> None:
    assert names(paths=[{"path": "/n", "name": "memory-dir"}])[-1] == "memory-dir-main-2"


def test_the_agents_name_is_cleaned_too() -> None:
    assert names("alpha_one")[0] == "memory-root-alpha-one"


def test_the_same_files_under_two_names_are_one_collection_and_a_warning() -> None:
    found = wanted(paths=[{"path": "memory"}, {"path": "memory", "pattern": "*.md"}])

    assert [each.name for each in found.collections][3:] == ["custom-2-main"]
    [warning] = found.warnings
    assert "/w/memory" in warning
    assert "memory-dir-main" in warning


@given(
    st.lists(
        st.fixed_dictionaries(
            {"path": st.text(st.characters(exclude_characters="\0"), max_size=5)},
            optional={"name": st.text(max_size=8)},
        ),
        max_size=8,
    ),
    st.text(max_size=8).map(normalized_id),
)
def test_names_are_always_plain_and_never_shared(paths: list[dict[str, str]], agent: str) -> None:
    found = names(agent, paths=paths, sessions={"enabled": True})

    assert len(set(found)) == len(found)
    assert all(NAME.fullmatch(name) for name in found)


# --- the plan ------------------------------------------------------------------------------------


def test_what_is_right_already_is_left_alone() -> None:
    each = collection("notes-main")

    assert collections.plan([each], listed(each)).is_empty


def test_what_is_not_there_is_added() -> None:
    each = collection("notes-main")

    assert collections.plan([each], []) == Plan((), (each,))


@pytest.mark.parametrize(
    "now", [Listed("notes-main", "/else", "**/*.md"), Listed("notes-main", "/w", "*.md")]
)
def test_what_is_about_other_files_is_made_anew(now: Listed) -> None:
    each = collection("notes-main")

    assert collections.plan([each], [now]) == Plan(("notes-main",), (each,))


def test_what_qmd_does_not_tell_the_folder_of_is_made_anew() -> None:
    each = collection("notes-main")

    assert collections.plan([each], [Listed("notes-main", None, None)]).removes == ("notes-main",)
    assert collections.plan([each], [Listed("notes-main", "/w", None)]).is_empty


def test_a_folder_reached_through_a_link_is_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    there = [Listed("notes-main", str(tmp_path / "real"), "**/*.md")]

    assert collections.plan([collection("notes-main", str(tmp_path / "link"))], there).is_empty


@pytest.mark.parametrize("root", ["/w", None])
def test_a_name_from_before_there_were_agents_is_replaced(root: str | None) -> None:
    each = collection("notes-main")

    plan = collections.plan([each], [Listed("notes", root, "**/*.md")])

    assert plan == Plan(("notes",), (each,))


def test_but_not_if_it_is_about_other_files() -> None:
    each = collection("notes-main")

    assert collections.plan([each], [Listed("notes", "/else", "**/*.md")]).removes == ()


def test_what_else_is_there_stays_unless_it_is_in_the_way() -> None:
    each = collection("notes-main")
    stranger = Listed("old-name-main", "/w", "**/*.md")
    neighbour = Listed("theirs", "/t", "**/*.md")

    assert collections.plan([each], [stranger, neighbour]).removes == ("old-name-main",)


def test_two_names_that_changed_places_are_both_made_anew() -> None:
    first, second = collection("a-main", "/1"), collection("b-main", "/2")
    now = [Listed("a-main", "/2", "**/*.md"), Listed("b-main", "/1", "**/*.md")]

    assert collections.plan([first, second], now) == Plan(("a-main", "b-main"), (first, second))


ROOTS = st.sampled_from(["/1", "/2", "/3"])
PATTERNS = st.sampled_from(["**/*.md", "*.md"])
BASES = st.sampled_from(["a", "b", "c", "d"])


@given(
    st.dictionaries(BASES, st.tuples(ROOTS, PATTERNS)),
    st.dictionaries(
        st.sampled_from(["a", "a-main", "b", "b-main", "c-main", "x"]),
        st.tuples(ROOTS | st.none(), PATTERNS | st.none()),
    ),
)
def test_once_a_plan_is_carried_out_nothing_is_left_to_do(
    places: dict[str, tuple[str, str]],
    before: dict[str, tuple[str | None, str | None]],
) -> None:
    unique = {place: base for base, place in places.items()}
    asked = [collection(f"{base}-main", *place) for place, base in unique.items()]
    now = {name: Listed(name, *place) for name, place in before.items()}

    plan = collections.plan(asked, now.values())
    for name in plan.removes:
        del now[name]
    for each in plan.adds:
        assert each.name not in now
        # As in QMD: one name for the same files.
        assert (str(each.root), each.pattern) not in [(x.root, x.pattern) for x in now.values()]
        now[each.name] = Listed(each.name, str(each.root), each.pattern)

    assert collections.plan(asked, now.values()).is_empty


# --- overlaps ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("/w", "MEMORY.md"), ("/w", "memory.md"), False),
        (("/w", "MEMORY.md"), ("/w/memory", "**/*.md"), False),
        (("/w", "**/*.md"), ("/w/memory", "**/*.md"), True),
        (("/w/memory", "**/*.md"), ("/w", "**/*.md"), True),
        (("/w", "**/*.md"), ("/w", "MEMORY.md"), True),
        (("/w/a", "**/*.md"), ("/w/ab", "**/*.md"), False),
    ],
)
def test_two_collections_can_have_a_file_in_common(
    first: tuple[str, str], second: tuple[str, str], expected: bool
) -> None:
    pair = [collection("a-main", *first), collection("b-main", *second)]

    assert collections.overlap(pair) == expected
