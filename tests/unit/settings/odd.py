"""Settings files as nobody should write them, for laws about any file."""

import json
from typing import Any

from hypothesis import strategies as st

from ocmem.settings import schema

Strategy = st.SearchStrategy[Any]

ODD_STRINGS = [
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "\udcff",
    "é\u2028\ufeff",
    "~",
    "~/x",
    "~user",
    "../..",
    "/",
    "x" * 5000,
    "${HOME}",
    "${UNSET}",
    "$${HOME}",
    "${",
    "auto",
    "none",
    "builtin",
    "openai",
    "gemini",
    "ollama",
    "memory",
    "sessions",
    "main",
    "Alpha One",
    "http://[",
    "2026.9.6",
    "{agentId}",
    "openclaw.json",
    "more.json",
]
ODD_NUMBERS = [0, -1, 1, 0.5, 1.5, 2**53, -(2**63), 10**40, 1e308, 1e-320, -0.0]
NOT_NUMBERS = [float("nan"), float("inf"), float("-inf")]
ODD_KEYS = ["__proto__", "constructor", "prototype", "$include", "", ".", "a.b", "\ud800", "\0"]
KNOWN_KEYS = sorted(
    {
        name
        for table in (schema.OWN_NEWER, schema.MEMORY)
        for path in table.by_path
        for name in path.split(".")
    }
    | set(
        """agents defaults list entries memory search memorySearch models providers env vars
        shellEnv auth profiles order meta lastTouchedVersion openai id default workspace agentDir
        baseUrl headers apiKey api""".split()
    )
)
# Each setting accepts some of these.
VALUES: list[Any] = [
    *(True, False, None, 1, 7, 500, 0.5),
    *("x", "~/x", "openai", "gemini", "none", "auto", "ollama", "sqlite", "unicode61", "fused"),
    *("best", "http://x/v1", "${HOME}", " "),
    *([], ["memory"], ["a", "~/b"], [{"path": "a", "pattern": "*.md"}], {}, {"A": "1"}),
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.sampled_from(ODD_NUMBERS)
    | st.sampled_from(NOT_NUMBERS)
    | st.sampled_from(ODD_STRINGS)
    | st.text(max_size=5)
)
KEYS = st.sampled_from(KNOWN_KEYS) | st.sampled_from(ODD_KEYS)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
STRINGS = st.sampled_from(ODD_STRINGS)
# Most files should get past the first check, or nothing behind it is ever tried.
HARMLESS = st.sampled_from(
    [text for text in ODD_STRINGS if "\0" not in text and text != "${UNSET}"]
)


def mostly(usual: Strategy, odd: Strategy = TREES) -> Strategy:
    # A function of its own rather than one_of(): hypothesis would spell out all that is in it.
    @st.composite
    def either(draw: st.DrawFn) -> object:
        return draw(odd if draw(st.integers(0, 15)) == 0 else usual)

    return either()


def group(**optional: Strategy) -> Strategy:
    return mostly(st.fixed_dictionaries({}, optional=optional))


def of_table(table: schema.Table, prefix: str = "", *, own: bool = False) -> Strategy:
    """An object that may have every key of a table, mostly with values that it accepts."""
    optional: dict[str, Strategy] = {}
    for path, key in table.by_path.items():
        if path.startswith(prefix) and (own or not key.own):
            name, _, rest = path.removeprefix(prefix).partition(".")
            if rest:
                optional[name] = of_table(table, f"{prefix}{name}.", own=own)
            else:
                right = [key.default, *(value for value in VALUES if not key.check(value))]
                optional[name] = mostly(st.sampled_from(right), LEAVES)
    return st.fixed_dictionaries({}, optional=optional)


def entry(**more: Strategy) -> Strategy:
    places = mostly(HARMLESS, STRINGS)
    return st.fixed_dictionaries(
        {"id": mostly(HARMLESS)},
        optional={"default": st.booleans(), "workspace": places, "agentDir": places, **more},
    )


SERVICE = st.fixed_dictionaries(
    {"baseUrl": HARMLESS, "models": st.just([])},
    optional={"apiKey": HARMLESS, "headers": mostly(st.just({"A": "1"})), "api": HARMLESS},
)
COMMON = {
    "models": group(providers=st.dictionaries(HARMLESS, SERVICE, max_size=3)),
    "env": group(A=HARMLESS, OPENAI_API_KEY=HARMLESS, vars=group(B=HARMLESS)),
    "auth": group(
        profiles=st.dictionaries(HARMLESS, group(provider=HARMLESS, mode=HARMLESS), max_size=2),
        order=group(openai=st.lists(HARMLESS, max_size=2)),
    ),
    "meta": group(lastTouchedVersion=mostly(STRINGS)),
    "plugins": TREES,
}
CITATIONS = mostly(st.sampled_from(["on", "off", "auto"]))


def older(*, own: bool) -> Strategy:
    search = of_table(schema.OLDER, own=own)
    return group(
        agents=group(
            defaults=group(workspace=HARMLESS, memorySearch=search),
            list=mostly(st.lists(entry(memorySearch=search), max_size=3)),
        ),
        memory=group(
            citations=CITATIONS, backend=st.just("qmd"), qmd=of_table(schema.MEMORY, "qmd.")
        ),
        **COMMON,
    )


def newer(*, own: bool) -> Strategy:
    search = of_table(schema.OWN_NEWER if own else schema.NEWER, own=own)
    entries = st.dictionaries(HARMLESS, entry(memory=group(search=search)), max_size=3)
    return group(
        agents=group(defaults=group(workspace=HARMLESS), entries=mostly(entries)),
        memory=group(search=search, citations=CITATIONS),
        **COMMON,
    )


PROFILE = group(
    type=mostly(st.sampled_from(["api_key", "token", "oauth"])),
    mode=TREES,
    provider=mostly(st.just("openai")),
    key=mostly(STRINGS),
    token=STRINGS,
    access=STRINGS,
    expires=LEAVES,
)
STORE = group(
    profiles=mostly(st.dictionaries(STRINGS, PROFILE, max_size=3)),
    order=group(openai=mostly(st.lists(STRINGS, max_size=3))),
    usageStats=mostly(
        st.dictionaries(STRINGS, group(lastUsed=LEAVES, cooldownUntil=LEAVES), max_size=3)
    ),
)
RAW = (
    st.binary(max_size=60)
    | st.text(st.sampled_from("{}[]:,'\"\\/*ax01.+-eEuN$\n\t \u2028"), max_size=40).map(str.encode)
    | st.sampled_from(
        [b"", b"\xef\xbb\xbf", b"\xff\xfe{\0}\0", b"[" * 5000, b'{"a":' * 5000, b"{a:0x}", b"\0"]
    )
)


def written(trees: Strategy, *, include: bool = False) -> st.SearchStrategy[bytes]:
    """Files with such trees in them; `include` lets some take in another one."""
    if include:
        directive = st.sampled_from(["more.json", ["more.json", "more.json"]])
        beside = st.builds(
            lambda tree, name: {**tree, "$include": name} if isinstance(tree, dict) else tree,
            trees,
            directive,
        )
        trees = st.one_of(trees, trees, trees, beside)
    return mostly(trees.map(lambda tree: json.dumps(tree).encode()), RAW)


ENV_FILE = mostly(
    st.lists(
        st.builds(
            lambda name, value: f"{name}={value}".encode("utf-8", "replace"),
            st.sampled_from(["A", "B", "OPENAI_API_KEY", "OPENCLAW_PROFILE", "OPENCLAW_AGENT_DIR"]),
            HARMLESS,
        ),
        max_size=3,
    ).map(b"\n".join),
    RAW | st.text(st.sampled_from("AB=\"'`#: \n\r\\$\0é"), max_size=40).map(str.encode),
)
FILES = st.fixed_dictionaries(
    {},
    optional={
        "config": written(older(own=False) | newer(own=False), include=True),
        "overlay": written(older(own=True) | newer(own=True)),
        "more": written(older(own=False) | newer(own=False)),
        "auth": written(STORE),
        "old auth": written(st.dictionaries(STRINGS, PROFILE, max_size=2)),
        "here": ENV_FILE,
    },
)
