"""`$include`: other files merged in, none from outside the config's folder."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.settings.document import load, parse
from ocmem.settings.environment import Variables
from ocmem.settings.include import MOST_BYTES, Includer, deep_merge
from tests.unit.settings.home import Home

NOTHING = Variables(())


def values(home: Home) -> Any:  # noqa: ANN401
    return load(home.config, NOTHING).written


def problem(home: Home) -> str:
    (found,) = home.problems()
    return found.removeprefix("<root>: ")


def include(home: Home, name: str, content: object) -> Path:
    return home.file(home.state / name, content)


# What is merged


def test_a_file_stands_where_its_directive_stood(home: Home) -> None:
    include(home, "agents.json5", "// mine\n{defaults: {workspace: '~/w'},}")
    home.write({"agents": {"$include": "./agents.json5"}, "x": 1})

    assert values(home) == {"agents": {"defaults": {"workspace": "~/w"}}, "x": 1}
    assert home.resolve().workspace == home.root / "w"


def test_the_whole_config_may_be_elsewhere(home: Home) -> None:
    include(home, "real.json", {"memory": {"citations": "off"}})
    home.write({"$include": "real.json"})

    assert home.resolve().citations == "off"


def test_several_files_are_merged_from_left_to_right(home: Home) -> None:
    include(home, "a.json", {"x": {"a": 1, "b": 1}, "list": [1, 2], "n": 1, "t": {"deep": 1}})
    include(home, "b.json", {"x": {"b": 2, "c": 2}, "list": [2, 3], "n": None, "t": "text"})
    home.write({"$include": ["a.json", "b.json"]})

    assert values(home) == {
        "x": {"a": 1, "b": 2, "c": 2},
        "list": [1, 2, 2, 3],
        "n": None,
        "t": "text",
    }


def test_no_files_are_an_empty_object(home: Home) -> None:
    home.write({"x": {"$include": []}})

    assert values(home) == {"x": {}}


def test_keys_beside_a_directive_lie_over_what_it_brings(home: Home) -> None:
    include(home, "a.json", {"x": {"a": 1, "b": 1}, "list": [1]})
    home.write({"x": {"b": 2}, "$include": "a.json", "list": [2], "y": 3})

    assert values(home) == {"x": {"a": 1, "b": 2}, "list": [1, 2], "y": 3}


def test_directives_may_stand_in_lists_and_beside_others(home: Home) -> None:
    include(home, "a.json", {"id": "a"})
    include(home, "list.json", [1, 2])
    home.write({"agents": [{"$include": "a.json"}], "beside": {"$include": "list.json"}})

    assert values(home) == {"agents": [{"id": "a"}], "beside": [1, 2]}


def test_a_directive_beside_a_directive_is_followed(home: Home) -> None:
    include(home, "a.json", {"x": {"a": 1}})
    include(home, "b.json", {"b": 2})
    home.write({"$include": "a.json", "x": {"$include": "b.json"}})

    assert values(home) == {"x": {"a": 1, "b": 2}}


def test_an_included_file_includes_relative_to_itself(home: Home) -> None:
    include(home, "sub/a.json", {"$include": "b.json", "up": {"$include": "../c.json"}})
    include(home, "sub/b.json", {"b": 1})
    include(home, "c.json", {"c": 1})
    home.write({"$include": "sub/a.json"})

    assert values(home) == {"b": 1, "up": {"c": 1}}


def test_an_absolute_path_inside_the_folder_is_fine(home: Home) -> None:
    file = include(home, "a.json", {"a": 1})
    home.write({"$include": str(file)})

    assert values(home) == {"a": 1}


def test_one_file_may_be_included_twice(home: Home) -> None:
    include(home, "a.json", [1])
    home.write({"x": {"$include": "a.json"}, "y": {"$include": ["a.json", "a.json"]}})

    assert values(home) == {"x": [1], "y": [1, 1]}


def test_keys_that_would_change_javascripts_objects_are_skipped(home: Home) -> None:
    include(home, "a.json", {"__proto__": 1, "x": {"constructor": 1, "a": 1}})
    home.write({"$include": ["a.json", "a.json"], "prototype": 2, "x": {"__proto__": 3, "b": 2}})

    assert values(home) == {"x": {"a": 1, "b": 2}}


def test_variables_in_an_included_file_are_filled_in(home: Home) -> None:
    include(home, "a.json", {"workspace": "${NOTES}"})
    home.write({"env": {"NOTES": "~/notes"}, "agents": {"defaults": {"$include": "a.json"}}})

    assert home.resolve().workspace == home.root / "notes"


def test_the_own_file_may_include_too(home: Home) -> None:
    home.file(home.root / "more.json", {"memorySearch": {"exclude": ["private"]}})
    home.own({"agents": {"defaults": {"$include": "more.json"}}})

    assert home.resolve().search.exclude == ("private",)


# What is refused


@pytest.mark.parametrize(
    ("directive", "kind"),
    [
        (5, "number"),
        (1.5, "number"),
        (True, "boolean"),
        (None, "null"),
        ({"a": 1}, "object"),
        ([["a.json"]], "array"),
        (["a.json", 5], "number"),
        ([None], "null"),
    ],
)
def test_a_directive_names_files(home: Home, directive: object, kind: str) -> None:
    include(home, "a.json", {})
    home.write({"x": {"$include": directive}})

    expected = "Invalid $include value: expected string or array of strings, got"
    assert problem(home) == f"{expected} {kind}"


@pytest.mark.parametrize("content", ([1], "text", 5, None, True))
@pytest.mark.parametrize("directive", ["a.json", ["a.json"]])
def test_beside_other_keys_only_an_object_will_do(
    home: Home, content: object, directive: object
) -> None:
    include(home, "a.json", content if not isinstance(content, str) else f'"{content}"')
    home.write({"x": {"$include": directive, "y": 1}})

    assert problem(home) == "Sibling keys require included content to be an object"


@pytest.mark.parametrize(
    "name", ["../a.json", "/etc/passwd", "sub/../../a.json", "..", ".", "", "../.openclaw-x/a.json"]
)
def test_a_path_must_not_leave_the_folder(home: Home, name: str) -> None:
    home.file(home.root / "a.json", {})
    home.write({"$include": name})

    assert problem(home) == f"Include path escapes config directory: {name} (root: {home.state})"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_symlink_must_not_leave_the_folder_either(home: Home, what: str) -> None:
    outside = home.file(home.root / "elsewhere" / "a.json", {})
    home.state.mkdir()
    linked = {"file": outside, "folder": outside.parent}[what]
    (home.state / "link").symlink_to(linked)
    name = {"file": "link", "folder": "link/a.json"}[what]
    home.write({"$include": name})

    assert problem(home) == (
        f"Include path resolves outside config directory (symlink): {name} (root: {home.state})"
    )


def test_a_symlink_inside_the_folder_is_fine(home: Home) -> None:
    file = include(home, "a.json", {"a": 1})
    (home.state / "link.json").symlink_to(file)
    home.write({"$include": "link.json"})

    assert values(home) == {"a": 1}


def test_the_folder_itself_may_be_a_symlink(home: Home) -> None:
    (home.root / "real").mkdir()
    home.state.symlink_to(home.root / "real")
    include(home, "a.json", {"a": 1})
    home.write({"$include": "a.json"})

    assert values(home) == {"a": 1}


def test_a_cycle_is_shown_from_its_beginning(home: Home) -> None:
    b = include(home, "b.json", {"$include": "./sub/../c.json"})
    c = include(home, "c.json", {"x": [{"$include": "b.json"}]})
    home.write({"$include": "b.json"})

    assert problem(home) == f"Circular include detected: {home.config} -> {b} -> {c} -> {b}"


def test_a_file_that_includes_itself_is_a_cycle(home: Home) -> None:
    home.write({"$include": "openclaw.json"})

    assert problem(home) == f"Circular include detected: {home.config} -> {home.config}"


@pytest.mark.parametrize(("files", "fits"), [(10, True), (11, False)])
def test_includes_go_ten_deep(home: Home, files: int, fits: bool) -> None:
    for depth in range(1, files):
        include(home, f"{depth}.json", {"$include": f"{depth + 1}.json"})
    include(home, f"{files}.json", {"bottom": True})
    home.write({"$include": "1.json"})

    if fits:
        assert values(home) == {"bottom": True}
    else:
        assert problem(home) == "Maximum include depth (10) exceeded at: 11.json"


@pytest.mark.parametrize(("size", "fits"), [(MOST_BYTES, True), (MOST_BYTES + 1, False)])
def test_a_file_has_at_most_two_mebibytes(home: Home, size: int, fits: bool) -> None:
    file = include(home, "a.json", '{"a": 1}' + " " * (size - 8))
    home.write({"$include": "a.json"})

    if fits:
        assert values(home) == {"a": 1}
    else:
        assert problem(home) == (
            f"Failed to read include file: a.json (resolved: {file}): larger than 2097152 bytes"
        )


def hard_link(file: Path) -> None:
    other = file.with_name("other")
    other.write_text("{}")
    os.link(other, file)


UNREADABLE: list[tuple[Callable[[Path], object], str]] = [
    (lambda file: None, "No such file or directory"),
    (hard_link, "not a regular file with one name"),
    (os.mkfifo, "not a regular file with one name"),
    (Path.mkdir, "Is a directory"),
    (lambda file: file.symlink_to(file), "Too many levels of symbolic links"),
]


@pytest.mark.parametrize(("make", "reason"), UNREADABLE)
def test_a_file_that_cannot_be_read_is_named(
    home: Home, make: Callable[[Path], object], reason: str
) -> None:
    home.write({"$include": "a.json"})
    file = home.state / "a.json"
    make(file)

    text = f"Failed to read include file: a.json (resolved: {file}): "
    # A folder opens on some systems and not on others; both are refused.
    assert problem(home) in (text + reason, text + "not a regular file with one name")


@pytest.mark.parametrize("name", ["a\\u0000b", "\\ud800.json"])
def test_a_name_that_no_file_can_have_is_refused(home: Home, name: str) -> None:
    home.write(f'{{"$include": "{name}"}}')

    assert problem(home).startswith("Failed to read include file: ")
    assert problem(home).endswith(": not a usable path")


def test_a_file_that_is_no_json5_is_named_with_line_and_column(home: Home) -> None:
    file = include(home, "a.json", "{\n  a: @\n}")
    home.write({"$include": "a.json"})

    assert problem(home) == (
        f"Failed to parse include file: a.json (resolved: {file}): "
        "SyntaxError: JSON5: invalid character '@' at 2:6"
    )


@pytest.mark.parametrize("count", [100, 100_000])
def test_a_deeply_nested_file_is_refused(home: Home, count: int) -> None:
    include(home, "a.json", "[" * count)
    home.write({"$include": "a.json"})

    assert "Failed to parse include file: a.json" in problem(home)


# Laws

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
KEYS = st.sampled_from(["a", "b", "c", "__proto__", "constructor", "prototype"])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, TREES, max_size=4)


def of_shape(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects in which a key has a value of the same kind wherever it is."""
    inner = st.fixed_dictionaries({}, optional={"leaf": leaf, "list": st.lists(leaf, max_size=3)})
    return st.fixed_dictionaries({}, optional={"leaf": leaf, "inner": inner})


@given(base=OBJECTS, over=OBJECTS)
def test_a_merge_has_every_safe_key_of_both(base: Any, over: Any) -> None:  # noqa: ANN401
    merged = deep_merge(base, over)

    assert isinstance(merged, dict)
    unsafe = {"__proto__", "constructor", "prototype"}
    assert merged.keys() == (base.keys() | over.keys()) - unsafe


@given(base=TREES, over=LEAVES)
def test_a_later_leaf_replaces_whatever_was_there(base: object, over: object) -> None:
    assert deep_merge(base, over) == over


@given(base=st.lists(TREES, max_size=3), over=st.lists(TREES, max_size=3))
def test_arrays_are_put_one_after_the_other(base: list[object], over: list[object]) -> None:
    assert deep_merge(base, over) == base + over


@given(one=of_shape(LEAVES), two=of_shape(LEAVES), three=of_shape(LEAVES))
def test_merging_is_associative_where_kinds_agree(one: object, two: object, three: object) -> None:
    left = deep_merge(deep_merge(one, two), three)

    assert left == deep_merge(one, deep_merge(two, three))


@given(tree=OBJECTS)
def test_a_tree_without_directives_comes_back_as_it_is(tree: object) -> None:
    includer = Includer(Path("/nowhere"), parse)

    assert includer.resolve(tree, Path("/nowhere/openclaw.json")).value == tree
