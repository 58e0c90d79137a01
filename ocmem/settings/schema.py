"""Every setting about memory: its default, what it accepts, and who knows it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ocmem.settings import checks
from ocmem.settings.checks import Check, expected

Json = dict[str, Any]

REFERENCE_PROVIDERS = ("openai", "gemini", "voyage", "mistral", "local")
OWN_PROVIDERS = ("builtin", "none")


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. `own` keys may stand only in ocmem's own file."""

    path: str
    check: Check
    default: Any = None
    own: bool = False


class Table:
    """The keys that one object of a settings file may have, by dotted path."""

    def __init__(self, *keys: Key) -> None:
        self.by_path = {key.path: key for key in keys}
        parts = {key.path.rsplit(".", depth)[0] for key in keys for depth in range(1, 4)}
        self.groups = parts - {*self.by_path}


KEYS = (
    Key("enabled", checks.a_bool, True),
    Key("sources", checks.list_of(checks.one_of("memory", "sessions")), ["memory"]),
    Key("extraPaths", checks.list_of(checks.a_path), []),
    Key("exclude", checks.list_of(checks.a_string), [], own=True),
    Key("experimental.sessionMemory", checks.a_bool, False),
    Key("provider", checks.one_of(*REFERENCE_PROVIDERS, "auto"), "auto"),
    Key("fallback", checks.one_of(*REFERENCE_PROVIDERS, "none"), "none"),
    Key("model", checks.a_string, ""),
    Key("remote.baseUrl", checks.a_string),
    Key("remote.apiKey", checks.a_string),
    Key("remote.headers", checks.map_of(checks.a_string), {}),
    Key("remote.batch.enabled", checks.a_bool, False),
    Key("remote.batch.wait", checks.a_bool, True),
    Key("remote.batch.concurrency", checks.whole(above=0), 2),
    Key("remote.batch.pollIntervalMs", checks.whole(least=0), 2000),
    Key("remote.batch.timeoutMinutes", checks.whole(above=0), 60),
    Key("remote.maxItems", checks.whole(above=0), own=True),
    Key("remote.dimensions", checks.whole(above=0), own=True),
    Key("remote.requestsPerMinute", checks.whole(above=0), own=True),
    Key("local.modelPath", checks.a_path),
    Key("local.modelCacheDir", checks.a_path),
    Key("store.driver", checks.one_of("sqlite"), "sqlite"),
    Key("store.path", checks.a_path),
    Key("store.vector.enabled", checks.a_bool, True),
    Key("store.vector.extensionPath", checks.a_path),
    Key("chunking.tokens", checks.whole(above=0), 400),
    Key("chunking.overlap", checks.whole(least=0), 80),
    Key("sync.onSessionStart", checks.a_bool, True),
    Key("sync.onSearch", checks.a_bool, True),
    Key("sync.watch", checks.a_bool, True),
    Key("sync.watchDebounceMs", checks.whole(least=0), 1500),
    Key("sync.intervalMinutes", checks.whole(least=0), 0),
    Key("sync.sessions.deltaBytes", checks.whole(least=0), 100_000),
    Key("sync.sessions.deltaMessages", checks.whole(least=0), 50),
    Key("query.maxResults", checks.whole(above=0), 6),
    Key("query.minScore", checks.a_share, 0.35),
    Key("query.ranker", checks.one_of("openclaw", "fused", "auto"), "auto", own=True),
    Key("query.snippet", checks.one_of("best", "head"), own=True),
    Key("query.hybrid.enabled", checks.a_bool, True),
    Key("query.hybrid.vectorWeight", checks.a_share, 0.7),
    Key("query.hybrid.textWeight", checks.a_share, 0.3),
    Key("query.hybrid.candidateMultiplier", checks.whole(above=0), 4),
    Key("query.hybrid.mmr.enabled", checks.a_bool, False),
    Key("query.hybrid.mmr.lambda", checks.a_share, 0.7),
    Key("query.hybrid.temporalDecay.enabled", checks.a_bool, False),
    Key("query.hybrid.temporalDecay.halfLifeDays", checks.whole(above=0), 30),
    Key("cache.enabled", checks.a_bool, True),
    Key("cache.maxEntries", checks.whole(above=0)),
)
# What OpenClaw 2026.8 and later has under `memory.search`; the rest is fixed there.
NEWER_KEYS = (
    Key("provider", checks.a_string),
    Key("fallback", checks.a_string),
    Key("extraPaths", checks.list_of(checks.a_path_or_place)),
    Key("remote.apiKey", checks.a_key),
    Key("remote.headers", checks.map_of(checks.a_key), {}),
    Key("store.fts.tokenizer", checks.one_of("unicode61", "trigram")),
    Key("rememberAcrossConversations", checks.anything),
    Key("inputType", checks.a_string),
    Key("queryInputType", checks.a_string),
    Key("documentInputType", checks.a_string),
    Key("outputDimensionality", checks.whole(above=0)),
    Key("multimodal", checks.anything),
)
_NEWER_KEPT = """enabled sources experimental.sessionMemory model remote.baseUrl
    remote.batch.enabled local.modelPath store.vector.enabled store.vector.extensionPath
    query.maxResults query.minScore cache.enabled""".split()
_NEWER_USED = """provider fallback extraPaths remote.apiKey remote.headers
    outputDimensionality""".split()
_A_VERDICT = checks.one_of("allow", "deny")
_A_MATCH = checks.an_object(
    channel=checks.a_string,
    chatType=checks.one_of("direct", "group", "channel", "dm"),
    keyPrefix=checks.a_string,
    rawKeyPrefix=checks.a_string,
)
_A_RULE = checks.an_object("action", action=_A_VERDICT, match=_A_MATCH)
_A_SCOPE = checks.an_object(default=_A_VERDICT, rules=checks.list_of(_A_RULE))
MEMORY_KEYS = (
    Key("backend", checks.one_of("builtin", "qmd"), "builtin"),
    Key("citations", checks.one_of("auto", "on", "off"), "auto"),
    Key("qmd.command", checks.a_string, "qmd"),
    Key("qmd.searchMode", checks.one_of("search", "vsearch", "query"), "search"),
    Key("qmd.includeDefaultMemory", checks.a_bool, True),
    Key("qmd.paths", checks.list_of(checks.a_place("name", "pattern")), []),
    Key("qmd.sessions.enabled", checks.a_bool, False),
    Key("qmd.sessions.exportDir", checks.a_path),
    Key("qmd.sessions.retentionDays", checks.whole(least=0)),
    Key("qmd.update.interval", checks.a_duration, "5m"),
    Key("qmd.update.debounceMs", checks.whole(least=0), 15_000),
    Key("qmd.update.onBoot", checks.a_bool, True),
    Key("qmd.update.waitForBootSync", checks.a_bool, False),
    Key("qmd.update.embedInterval", checks.a_duration, "60m"),
    Key("qmd.update.commandTimeoutMs", checks.whole(least=0), 30_000),
    Key("qmd.update.updateTimeoutMs", checks.whole(least=0), 120_000),
    Key("qmd.update.embedTimeoutMs", checks.whole(least=0), 120_000),
    Key("qmd.limits.maxResults", checks.whole(above=0), 6),
    Key("qmd.limits.maxSnippetChars", checks.whole(above=0), 700),
    Key("qmd.limits.maxInjectedChars", checks.whole(above=0), 4000),
    Key("qmd.limits.timeoutMs", checks.whole(least=0), 4000),
    Key("qmd.mcporter.enabled", checks.a_bool, False),
    Key("qmd.mcporter.serverName", checks.a_string, "qmd"),
    Key("qmd.mcporter.startDaemon", checks.a_bool, True),
    Key("qmd.scope", _A_SCOPE),
)

OLDER = Table(*KEYS)
NEWER = Table(*(key for key in KEYS if key.path in _NEWER_KEPT), *NEWER_KEYS)
OWN_NEWER = Table(*KEYS, *NEWER_KEYS)
# What of it has an effect here: the rest of the newer keys is accepted and ignored.
USED_NEWER = Table(
    *(key for key in KEYS if key.path in _NEWER_KEPT),
    *(key for key in NEWER_KEYS if key.path in _NEWER_USED),
)
MEMORY = Table(*MEMORY_KEYS)

# What ocmem's own file may say where OpenClaw knows fewer names.
_OWN_CHOICES = {
    "provider": checks.one_of(*REFERENCE_PROVIDERS, *OWN_PROVIDERS, "auto"),
    "fallback": checks.one_of(*REFERENCE_PROVIDERS, *OWN_PROVIDERS),
}


def default_of(path: str) -> Any:  # noqa: ANN401
    return OLDER.by_path[path].default


def lookup(values: Json, path: str) -> Any:  # noqa: ANN401
    """The leaf at a dotted path; null counts as absent."""
    here: Any = values
    for name in path.split("."):
        if not isinstance(here, dict):
            return None
        here = here.get(name)
    return here


def problems(values: object, table: Table, *, where: str, own: bool) -> Iterator[str]:
    """What is wrong with the values of an object, before what it should not have at all."""
    yield from _problems(values, table, where=where, prefix="", own=own)


def only_known(values: Json, table: Table, *, prefix: str = "") -> Json:
    """A copy without what the table does not have."""
    known: Json = {}
    for name, value in values.items():
        path = f"{prefix}{name}"
        if path in table.groups and isinstance(value, dict):
            known[name] = only_known(value, table, prefix=f"{path}.")
        elif path in table.by_path:
            known[name] = value
    return known


def unknown_keys(values: object, table: Table, *, own: bool, prefix: str = "") -> Iterator[str]:
    """Dotted paths that the table does not have."""
    if not isinstance(values, dict):
        return
    for name, value in values.items():
        path = f"{prefix}{name}"
        key = table.by_path.get(path)
        if path in table.groups:
            yield from unknown_keys(value, table, own=own, prefix=f"{path}.")
        elif key is None or (key.own and not own):
            yield path


def _problems(values: object, table: Table, *, where: str, prefix: str, own: bool) -> Iterator[str]:
    if values is None:
        return
    if not isinstance(values, dict):
        yield f"{where}: {expected('object', values)}"
        return
    unknown = []
    for name, value in values.items():
        path = f"{prefix}{name}"
        key = table.by_path.get(path)
        if key is not None and (own or not key.own):
            check = _OWN_CHOICES.get(path, key.check) if own and table is OLDER else key.check
            if value is not None:
                yield from checks.at(f"{where}.{name}", check(value))
        elif path in table.groups:
            yield from _problems(value, table, where=f"{where}.{name}", prefix=f"{path}.", own=own)
        else:
            unknown.append(name)
    if unknown and table is not NEWER:  # what a newer release adds is none of our business
        yield f"{where}: {checks.unrecognized(unknown)}"
