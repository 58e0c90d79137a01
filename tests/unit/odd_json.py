"""Whatever a model could write where an object of parameters is expected."""

from hypothesis import strategies as st

TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)
_PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.sampled_from(["MEMORY.md", "memory/one.md", "alpha", "1e3", "2 lines", "\0", "\ud800"])
)
_NAMES = st.sampled_from(
    ["query", "maxResults", "max_results", "minScore", "path", "from", "lines"]
)
VALUES = st.recursive(
    _PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES | TEXTS, inner, max_size=5),
    max_leaves=8,
)
OBJECTS = st.dictionaries(_NAMES, VALUES, max_size=5)
