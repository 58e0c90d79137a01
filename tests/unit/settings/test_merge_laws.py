"""ocmem's own file over OpenClaw's, leaf by leaf: what holds for any two files."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ocmem.settings import schema
from ocmem.settings.document import merge, normalized_id
from ocmem.settings.search import Layer, find, resolve
from tests.unit.settings.home import Json

LEAVES = st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=3)
NAMES = st.sampled_from("abc")
TREES = st.dictionaries(
    NAMES,
    st.recursive(
        st.none() | LEAVES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
    ),
    max_size=3,
)
# Objects in which a name stands for the same kind of thing everywhere, as in settings.
INNER = st.fixed_dictionaries({}, optional={"x": LEAVES, "y": st.none() | LEAVES})
SETTINGS = st.fixed_dictionaries({}, optional={"leaf": LEAVES, "inner": INNER})

IDS = st.sampled_from(["main", "Main", "alpha-one", "Alpha One", "ALPHA one", "b"])
ENTRIES = st.lists(
    st.builds(lambda id, inner: {"id": id, "inner": inner}, IDS, INNER),
    max_size=4,
    unique_by=lambda entry: normalized_id(entry["id"]),
)


def with_agents(entries: list[Json]) -> Json:
    return {"agents": {"list": entries}}


def leaves(tree: object, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:
    if not isinstance(tree, dict):
        return {path: tree}
    return {
        place: leaf
        for name, inner in tree.items()
        for place, leaf in leaves(inner, (*path, name)).items()
    }


@given(base=TREES, over=TREES)
def test_neither_side_is_changed(base: Json, over: Json) -> None:
    before = copy.deepcopy((base, over))

    merge(base, over)

    assert (base, over) == before


@given(tree=TREES)
def test_nothing_changes_nothing(tree: Json) -> None:
    assert merge(tree, {}) == tree
    assert merge(tree, tree) == tree


@given(base=SETTINGS, over=SETTINGS)
def test_every_leaf_comes_from_the_upper_file_or_else_from_the_lower(
    base: Json, over: Json
) -> None:
    merged = leaves(merge(base, over))

    upper, lower = leaves(over), leaves(base)
    for place in {*upper, *lower}:
        expected = upper.get(place)
        assert merged.get(place) == (lower.get(place) if expected is None else expected)


@given(one=SETTINGS, two=SETTINGS, three=SETTINGS)
def test_merging_is_associative_where_kinds_agree(one: Json, two: Json, three: Json) -> None:
    left = leaves(merge(merge(one, two), three))
    right = leaves(merge(one, merge(two, three)))

    def told(found: dict[tuple[str, ...], object]) -> dict[tuple[str, ...], object]:
        return {place: leaf for place, leaf in found.items() if leaf is not None and leaf != {}}

    assert told(left) == told(right)


@given(base=ENTRIES, over=ENTRIES)
def test_agents_merge_by_id_and_keep_their_order_and_spelling(
    base: list[Json], over: list[Json]
) -> None:
    merged = merge(with_agents(base), with_agents(over))["agents"]["list"]

    known = [normalized_id(entry["id"]) for entry in base]
    added = [entry["id"] for entry in over if normalized_id(entry["id"]) not in known]
    assert [entry["id"] for entry in merged] == [entry["id"] for entry in base] + added
    for entry in over:
        same = [each for each in merged if normalized_id(each["id"]) == normalized_id(entry["id"])]
        assert len(same) == 1
        for place, leaf in leaves(entry["inner"]).items():
            assert leaf is None or leaf == {} or leaves(same[0]["inner"])[place] == leaf


@given(one=ENTRIES, two=ENTRIES, three=ENTRIES)
def test_agents_merge_the_same_in_whatever_order_files_are_taken_together(
    one: list[Json], two: list[Json], three: list[Json]
) -> None:
    a, b, c = map(with_agents, (one, two, three))

    left = merge(merge(a, b), c)["agents"]["list"]
    right = merge(a, merge(b, c))["agents"]["list"]

    assert [entry["id"] for entry in left] == [entry["id"] for entry in right]


def test_an_id_that_stands_twice_is_merged_where_it_is_looked_up() -> None:
    base = with_agents([{"id": "a", "n": 1}, {"id": "A", "n": 2}])
    over = with_agents([{"id": "a", "m": 3}, {"id": "b"}, {"id": "B", "m": 4}])

    assert merge(base, over)["agents"]["list"] == [
        {"id": "a", "n": 1, "m": 3},
        {"id": "A", "n": 2},
        {"id": "b", "m": 4},
    ]


# Layers of memory settings

NUMBERS = st.integers(1, 50)
SEARCHES = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "chunking": st.fixed_dictionaries({}, optional={"tokens": NUMBERS, "overlap": NUMBERS}),
        "query": st.fixed_dictionaries(
            {},
            optional={
                "maxResults": st.none() | NUMBERS,
                "minScore": st.floats(0, 1),
                "hybrid": st.fixed_dictionaries(
                    {},
                    optional={
                        "vectorWeight": st.floats(0, 1),
                        "textWeight": st.floats(0, 1),
                        "candidateMultiplier": NUMBERS,
                    },
                ),
            },
        ),
        "extraPaths": st.lists(st.sampled_from(["a", " a ", "b", "", "c"]), max_size=3),
    },
)
ORIGINS: Any = ("own agent", "agent", "own defaults", "defaults")
LAYERS = st.lists(SEARCHES, min_size=4, max_size=4).map(
    lambda searches: [Layer(*pair) for pair in zip(ORIGINS, searches, strict=True)]
)


@given(layers=LAYERS)
def test_every_setting_is_that_of_the_first_layer_that_has_it(layers: list[Layer]) -> None:
    for key in schema.KEYS:
        set_by = [each for each in layers if schema.lookup(each.values, key.path) is not None]
        found = find(layers, key.path)

        assert found.layer is (set_by[0] if set_by else None)
        expected = schema.lookup(set_by[0].values, key.path) if set_by else key.default
        assert found.value == expected


@given(layers=LAYERS)
def test_resolved_values_are_always_in_range(layers: list[Layer]) -> None:
    search = resolve(layers)

    assert 0 <= search.chunk_overlap < search.chunk_tokens
    assert 1 <= search.query.candidate_multiplier <= 20
    assert abs(search.query.vector_weight + search.query.text_weight - 1) < 1e-9
    assert 0 <= search.query.min_score <= 1
    assert search.query.max_results >= 1
    assert search.sources == ("memory",)


@given(layers=LAYERS)
def test_extra_paths_are_those_of_the_defaults_then_those_of_the_agent(
    layers: list[Layer],
) -> None:
    listed = [schema.lookup(layer.values, "extraPaths") for layer in layers]
    own_agent, agent, own_defaults, defaults = listed
    shared = own_defaults if own_defaults is not None else defaults or []
    mine = own_agent if own_agent is not None else agent or []

    expected = dict.fromkeys(path.strip() for path in shared + mine if path.strip())

    assert resolve(layers).extra_paths == tuple(expected)
