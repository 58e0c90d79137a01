"""`ocmem config`: every setting with its value and where that came from."""

import json
from typing import Any

import pytest

from ocmem.cli import table
from tests.cli.program import Program, everything

DEFAULTS = "agents.defaults.memorySearch"
SECRET = "sk-live-0123456789abcdef"


def config(ocmem: Program, *args: str, **env: str) -> dict[str, Any]:
    done = ocmem("config", "--json", *args, bound=False, **env)
    assert (done.code, done.err) == (0, "")
    found: dict[str, Any] = done.json
    return found


def setting(ocmem: Program, key: str, *args: str, **env: str) -> dict[str, Any]:
    found = {each["key"]: each for each in config(ocmem, *args, **env)["settings"]}
    return {name: value for name, value in found[key].items() if name != "key"}


def row(text: str, key: str) -> str:
    (line,) = [line for line in text.splitlines() if line.split(" ")[0] == key]
    return line


# Where a value came from


def test_without_any_file_everything_is_a_default(ocmem: Program) -> None:
    found = config(ocmem)

    assert list(found) == [
        "agentId",
        "dialect",
        "paths",
        "pathOrigins",
        "sharesIndex",
        "settings",
        "notes",
    ]
    assert {each["origin"]["kind"] for each in found["settings"]} == {"default"}
    assert {each["key"]: each["value"] for each in found["settings"]}["query.maxResults"] == 6


def test_the_older_dialect_is_quoted_with_its_own_keys(ocmem: Program) -> None:
    entry = {"id": "Work", "memorySearch": {"query": {"minScore": 0.2}}}
    defaults = {"memorySearch": {"query": {"minScore": 0.5, "maxResults": 9}}}
    ocmem.configure_all({"agents": {"defaults": defaults, "list": [entry]}})

    file = str(ocmem.config)
    assert setting(ocmem, "query.maxResults") == {
        "value": 9,
        "origin": {"kind": "file", "file": file, "key": f"{DEFAULTS}.query.maxResults"},
    }
    assert setting(ocmem, "query.minScore", "--agent", "work") == {
        "value": 0.2,
        "origin": {
            "kind": "file",
            "file": file,
            "key": "agents.list.Work.memorySearch.query.minScore",
        },
    }


def test_the_newer_dialect_is_quoted_with_its_own_keys(ocmem: Program) -> None:
    entry = {"memory": {"search": {"query": {"minScore": 0.2}}}}
    ocmem.configure_all(
        {
            "agents": {"entries": {"work": entry}},
            "memory": {"search": {"query": {"minScore": 0.5, "maxResults": 9}}},
        }
    )

    assert config(ocmem)["dialect"] == "newer"
    origin = {"kind": "file", "file": str(ocmem.config)}
    assert setting(ocmem, "query.maxResults") == {
        "value": 9,
        "origin": {**origin, "key": "memory.search.query.maxResults"},
    }
    assert setting(ocmem, "query.minScore", "--agent", "work") == {
        "value": 0.2,
        "origin": {**origin, "key": "agents.entries.work.memory.search.query.minScore"},
    }


def test_keys_of_a_newer_release_that_mean_nothing_here_are_noted(ocmem: Program) -> None:
    ocmem.configure_all({"memory": {"search": {"hologram": True, "query": {"maxResults": 9}}}})

    (note,) = config(ocmem)["notes"]

    assert "hologram" in note
    assert ocmem("config").out.endswith(f"\n\n{note}\n")


def test_ocmems_own_file_comes_before_the_shared_one(ocmem: Program) -> None:
    ocmem.configure(query={"maxResults": 9, "minScore": 0.5})
    ocmem.configure_own(query={"maxResults": 3})

    assert setting(ocmem, "query.maxResults") == {
        "value": 3,
        "origin": {
            "kind": "file",
            "file": str(ocmem.overlay),
            "key": f"{DEFAULTS}.query.maxResults",
        },
    }
    assert setting(ocmem, "query.minScore")["origin"]["file"] == str(ocmem.config)


@pytest.mark.parametrize(
    ("memory_search", "key", "value", "asked"),
    [
        ({"query": {"hybrid": {"candidateMultiplier": 50}}},
         "query.hybrid.candidateMultiplier", 20, 50),
        ({"query": {"hybrid": {"vectorWeight": 1, "textWeight": 1}}},
         "query.hybrid.vectorWeight", 0.5, 1),
        ({"chunking": {"tokens": 100, "overlap": 100}}, "chunking.overlap", 99, 100),
        ({"sources": ["memory", "sessions"]}, "sources", ["memory"], ["memory", "sessions"]),
    ],
)  # fmt: skip
def test_what_was_adjusted_says_from_what(
    ocmem: Program, memory_search: dict[str, Any], key: str, value: object, asked: object
) -> None:
    ocmem.configure(**memory_search)

    found = setting(ocmem, key)
    text = row(ocmem("config").out, key)

    assert (found["value"], found["configured"]) == (value, asked)
    assert found["origin"]["key"] == f"{DEFAULTS}.{key}"
    assert text.endswith(f"(adjusted from {json.dumps(asked, separators=(',', ':'))})")


def test_a_provider_that_was_found_says_what_was_asked_for(ocmem: Program) -> None:
    found = setting(ocmem, "provider")

    assert (found["value"], found["configured"]) == ("builtin", "auto")
    assert row(ocmem("config").out, "provider").split()[1:] == ["builtin", "default", "(auto)"]


def test_a_provider_without_a_key_says_so(ocmem: Program) -> None:
    ocmem.configure(provider="openai")

    assert setting(ocmem, "provider")["note"].startswith("No API key found for provider")
    assert 'No API key found for provider "openai".' in row(ocmem("config").out, "provider")


# Secrets


@pytest.mark.parametrize("where", ["remote", "shared", "profile", "environment", "dotenv"])
def test_a_key_is_only_ever_set_or_not_set(ocmem: Program, where: str) -> None:
    env = {}
    settings: dict[str, Any] = {"provider": "openai"}
    shared: dict[str, Any] = {}
    if where == "remote":
        settings["remote"] = {"apiKey": SECRET}
    elif where == "shared":
        shared = {"openai": {"baseUrl": "http://127.0.0.1:1/v1", "apiKey": SECRET, "models": []}}
    elif where == "environment":
        env["OPENAI_API_KEY"] = SECRET
    ocmem.configure_all(
        {"agents": {"defaults": {"memorySearch": settings}}, "models": {"providers": shared}}
    )
    if where == "profile":
        store = ocmem.state / "agents" / "main" / "agent" / "auth-profiles.json"
        store.parent.mkdir(parents=True)
        profile = {"type": "api_key", "provider": "openai", "key": SECRET}
        store.write_text(json.dumps({"version": 1, "profiles": {"openai:default": profile}}))
    elif where == "dotenv":
        (ocmem.state / ".env").write_text(f"OPENAI_API_KEY={SECRET}\n")

    found = setting(ocmem, "remote.apiKey", **env)

    assert found["value"] == "set"
    assert found["origin"]["kind"] != "default"
    for args in ([], ["--json"], ["--changed"], ["paths"], ["paths", "--export"]):
        done = ocmem("config", *args, bound=False, **env)
        assert done.code == 0
        assert SECRET not in done.out + done.err


def test_no_key_is_not_set(ocmem: Program) -> None:
    ocmem.configure(provider="openai")

    assert setting(ocmem, "remote.apiKey")["value"] == "not set"


def test_headers_show_their_names_only(ocmem: Program) -> None:
    headers = {"X-Token": SECRET, "X-Team": "blue"}
    remote = {"apiKey": "k", "headers": headers}
    ocmem.configure(provider="openai", remote=remote)

    text, as_json = ocmem("config"), ocmem("config", "--json")

    assert setting(ocmem, "remote.headers")["value"] == {"X-Token": "set", "X-Team": "set"}
    assert "X-Token" in row(text.out, "remote.headers")
    assert not any(word in text.out + as_json.out for word in (SECRET, "blue"))


def test_a_password_in_a_url_is_not_shown(ocmem: Program) -> None:
    ocmem.configure(
        provider="openai", remote={"apiKey": "k", "baseUrl": f"https://me:{SECRET}@host/v1"}
    )

    outs = ocmem("config").out + ocmem("config", "--json").out

    assert SECRET not in outs
    assert "@host/v1" in outs


def test_no_command_shows_what_is_secret_in_an_address(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "one\n")
    model = f"https://u:{SECRET}@hf.co/x.gguf"
    remote = {"apiKey": "k", "baseUrl": f"http://user:p@{SECRET}@127.0.0.1:1/v1?api_key={SECRET}"}
    ocmem.configure(provider="openai", model=model, remote=remote, local={"modelPath": model})
    runs = [["config"], ["status", "--deep"], ["search", "one"], ["index"]]

    for run in [*runs, *([*run, "--json"] for run in runs), ["index", "--verbose"]]:
        done = ocmem(*run)
        assert SECRET not in done.out + done.err, run


def test_no_command_shows_what_is_secret_in_the_address_of_a_model(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "one\n")
    ocmem.configure(
        provider="local", local={"modelPath": f"https://u:{SECRET}@127.0.0.1:1/x.gguf?k={SECRET}"}
    )
    runs = [["config"], ["status", "--deep"], ["search", "one"], ["warmup"], ["index", "--dry-run"]]

    for run in [*runs, *([*run, "--json"] for run in runs), ["index", "--verbose"]]:
        done = ocmem("--offline", *run)
        assert SECRET not in done.out + done.err, run


def test_an_address_with_a_query_is_refused_without_being_quoted(ocmem: Program) -> None:
    remote = {"apiKey": "k", "baseUrl": f"http://127.0.0.1:1/v1?api_key={SECRET}"}
    ocmem.configure(provider="openai", remote=remote)

    done = ocmem("status", "--deep")

    assert "Invalid URL: must not have a question mark" in done.out
    assert SECRET not in done.out + done.err


# The table


def test_the_table_names_file_and_key(ocmem: Program) -> None:
    ocmem.configure(query={"maxResults": 9})

    done = ocmem("config")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Agent main\n\nState directory   ~/.openclaw  ")
    line = row(done.out, "query.maxResults")
    assert line.split(maxsplit=2)[1:] == [
        "9",
        f"~/.openclaw/openclaw.json: {DEFAULTS}.query.maxResults",
    ]


def test_long_values_do_not_push_the_origins_away(ocmem: Program) -> None:
    paths = [f"~/{'long' * 20}/{name}" for name in ("a", "b", "c")]
    ocmem.configure(extraPaths=paths)

    lines = ocmem("config").out.splitlines()

    (header,) = [line for line in lines if line.startswith("SETTING")]
    start = lines.index(next(line for line in lines if line.startswith("extraPaths ")))
    assert [line.split()[-1] for line in lines[start : start + 3]] == paths
    assert lines[start + 3].strip() == f"~/.openclaw/openclaw.json: {DEFAULTS}.extraPaths"
    assert lines[start + 3].index("~") == header.index("FROM")
    assert header.index("FROM") < 90


def test_a_narrow_terminal_has_the_origin_below_the_value(ocmem: Program) -> None:
    ocmem.configure(query={"maxResults": 9})

    narrow = ocmem.on_terminal("config", columns=60).splitlines()
    wide = ocmem.on_terminal("config", columns=300).splitlines()

    at = next(n for n, line in enumerate(narrow) if line.startswith("query.maxResults "))
    assert narrow[at].split() == ["query.maxResults", "9"]
    assert narrow[at + 1] == f"  from ~/.openclaw/openclaw.json: {DEFAULTS}.query.maxResults"
    assert narrow[at + 2].split() == ["query.minScore", "0.35"]
    assert wide == ocmem("config").out.splitlines()


def test_a_value_cannot_drive_the_terminal_or_break_the_table(ocmem: Program) -> None:
    ocmem.configure(provider="openai", model="two\nlines\x1b[31m")

    line = row(ocmem("config").out, "model")

    assert line.split()[1] == "two␊lines␛[31m"


def test_columns_stand_below_each_other_whatever_the_script(ocmem: Program) -> None:
    ocmem.configure(provider="openai", model="日本語の名前", local={"modelPath": "비밀"})

    lines = ocmem("config").out.splitlines()

    (header,) = [line for line in lines if line.startswith("SETTING")]
    for key in ("model", "local.modelPath", "enabled"):
        line = row("\n".join(lines), key)
        before = line[: line.index("default" if key == "enabled" else "~/.openclaw")]
        assert table.width(before) == header.index("FROM")


def test_changed_leaves_out_what_nobody_set(ocmem: Program) -> None:
    ocmem.configure(query={"maxResults": 9}, cache={"enabled": True})

    as_json = config(ocmem, "--changed")
    text = ocmem("config", "--changed").out

    assert [each["key"] for each in as_json["settings"]] == ["query.maxResults", "cache.enabled"]
    assert "query.minScore" not in text
    assert row(text, "cache.enabled").endswith(f"{DEFAULTS}.cache.enabled")


def test_changed_may_leave_nothing(ocmem: Program) -> None:
    done = ocmem("config", "--changed")

    assert done.code == 0
    assert "SETTING" not in done.out
    assert done.out.startswith("Agent main\n\nState directory ")


# Nothing is touched


@pytest.mark.parametrize(
    "args", [[], ["--json"], ["paths"], ["paths", "--json"], ["paths", "--export"]]
)
def test_nothing_is_created_or_written(ocmem: Program, args: list[str]) -> None:
    ocmem.note("MEMORY.md", "one\n")
    ocmem.configure(provider="openai")
    before = everything(ocmem.home)

    done = ocmem("config", *args)

    assert done.code == 0
    assert everything(ocmem.home) == before
