"""`ocmem status`: the reference's layout, and nothing created."""

import os

import pytest

from tests.cli.program import Program
from tests.fake_provider import FOREVER, FakeProvider

STATUS_FIELDS = [
    "backend",
    "files",
    "chunks",
    "dirty",
    "workspaceDir",
    "dbPath",
    "provider",
    "model",
    "requestedProvider",
    "sources",
    "extraPaths",
    "sourceCounts",
    "cache",
    "fts",
    "vector",
    "batch",
    "custom",
]


def three_notes(ocmem: Program) -> None:
    ocmem.note("MEMORY.md", "# Long-term memory\n\n- Prefers tea over coffee.\n")
    ocmem.note("memory/2026-02-10.md", "# 2026-02-10\n\nDeployed the gateway.\n")
    ocmem.note("memory/2026-02-11.md", "# 2026-02-11\n\nQuiet day.\n")


def dirty(ocmem: Program) -> bool:
    (entry,) = ocmem("status", "--json").json
    return bool(entry["status"]["dirty"])


def test_without_a_provider_the_layout_is_the_reference_one(ocmem: Program) -> None:
    ocmem.configure_own(provider="none")

    done = ocmem("status")

    assert done.code == 0
    assert done.out == (
        "Memory Search (main)\n"
        "Provider: none (requested: none)\n"
        "Model: none\n"
        "Sources: memory\n"
        "Indexed: 0/0 files · 0 chunks\n"
        "Dirty: yes\n"
        "Store: ~/.openclaw/memory/main.ocmem.sqlite\n"
        "Workspace: ~/.openclaw/workspace\n"
        "By source:\n"
        "  memory · 0/0 files · 0 chunks\n"
        "Vector: unknown\n"
        "FTS: ready\n"
        "Embedding cache: enabled (0 entries)\n"
        "Batch: disabled (failures 0/2)\n"
        "Issues:\n"
        "  memory directory missing (~/.openclaw/workspace/memory)\n"
        "\n"
    )


def test_deep_with_openai_has_the_layout_of_the_reference(
    ocmem: Program, fake: FakeProvider
) -> None:
    three_notes(ocmem)
    ocmem.use(fake)
    ocmem.index()

    lines = ocmem("status", "--deep").out.split("\n")

    (path,) = [line for line in lines if line.startswith("Vector path: ")]
    assert "vec0" in path
    lines.remove(path)
    assert lines == [
        "Memory Search (main)",
        "Provider: openai (requested: openai)",
        "Model: text-embedding-3-small",
        "Sources: memory",
        "Indexed: 3/3 files · 3 chunks",
        "Dirty: no",
        "Store: ~/.openclaw/memory/main.sqlite",
        "Workspace: ~/.openclaw/workspace",
        "Embeddings: ready",
        "By source:",
        "  memory · 3/3 files · 3 chunks",
        "Vector: ready",
        "Vector dims: 16",
        "FTS: ready",
        "Embedding cache: enabled (3 entries)",
        "Batch: disabled (failures 0/2)",
        "",
        "",
    ]


def test_a_failed_probe_is_shown_and_not_a_failure(ocmem: Program, fake: FakeProvider) -> None:
    three_notes(ocmem)
    ocmem.use(fake)
    fake.add_fault("status", code=401, body="no", times=FOREVER)

    text = ocmem("status", "--deep")
    as_json = ocmem("status", "--deep", "--json")

    assert text.code == 0
    assert "\nEmbeddings: unavailable\nEmbeddings error: openai embeddings failed: 401" in text.out
    assert as_json.json[0]["embeddingProbe"]["ok"] is False


def test_json_fields_come_in_their_order(ocmem: Program, fake: FakeProvider) -> None:
    three_notes(ocmem)
    ocmem.use(fake)
    ocmem.index()

    (plain,) = ocmem("status", "--json").json
    (deep,) = ocmem("status", "--deep", "--json").json

    assert list(plain) == ["agentId", "status", "scan"]
    assert list(deep) == ["agentId", "status", "embeddingProbe", "scan"]
    assert deep["embeddingProbe"] == {"ok": True}
    assert list(plain["status"]) == STATUS_FIELDS
    assert plain["status"]["dbPath"] == str(ocmem.shared_index)
    assert plain["status"]["vector"].pop("extensionPath")
    assert plain["status"]["vector"] == {"enabled": True, "available": True, "dims": 16}
    assert plain["status"]["custom"] == {"searchMode": "hybrid"}
    assert plain["scan"] == {
        "sources": [{"source": "memory", "totalFiles": 3, "issues": []}],
        "totalFiles": 3,
        "issues": [],
    }


def test_without_a_provider_there_is_no_model(ocmem: Program) -> None:
    ocmem.configure_own(provider="none")

    (entry,) = ocmem("status", "--json").json

    assert list(entry["status"]) == [name for name in STATUS_FIELDS if name != "model"]
    assert entry["status"]["custom"]["searchMode"] == "fts-only"


@pytest.mark.parametrize("args", [[], ["--json"], ["--deep"]])
def test_status_creates_nothing(ocmem: Program, args: list[str]) -> None:
    three_notes(ocmem)
    before = sorted(map(str, ocmem.home.rglob("*")))

    done = ocmem("status", *args)

    assert done.code == 0
    assert sorted(map(str, ocmem.home.rglob("*"))) == before


def test_status_changes_no_index(ocmem: Program) -> None:
    three_notes(ocmem)
    ocmem.index()
    ocmem.note("MEMORY.md", "changed\n")
    before = {path: path.read_bytes() for path in ocmem.own_index.parent.iterdir()}

    ocmem("status", "--deep")

    assert {path: path.read_bytes() for path in ocmem.own_index.parent.iterdir()} == before


def test_dirty_is_a_real_comparison(ocmem: Program) -> None:
    three_notes(ocmem)

    states = [dirty(ocmem)]
    ocmem.index()
    states.append(dirty(ocmem))
    ocmem.note("MEMORY.md", "# Changed\n")
    states.append(dirty(ocmem))
    ocmem.index()
    states.append(dirty(ocmem))
    (ocmem.workspace / "MEMORY.md").unlink()
    states.append(dirty(ocmem))

    assert states == [True, False, True, False, True]


def test_a_touched_file_is_not_a_changed_one(ocmem: Program) -> None:
    three_notes(ocmem)
    ocmem.index()

    os.utime(ocmem.workspace / "MEMORY.md", (1, 1))

    assert not dirty(ocmem)


def test_index_comes_first_when_asked_for(ocmem: Program, fake: FakeProvider) -> None:
    three_notes(ocmem)
    ocmem.use(fake)

    done = ocmem("status", "--index")

    assert done.code == 0
    assert done.out.startswith("Memory index complete.\nMemory Search (main)\n")
    assert "Indexed: 3/3 files · 3 chunks\nDirty: no\n" in done.out
    assert "Embeddings: ready\n" in done.out


def test_an_index_run_that_fails_is_told_on_both_streams(
    ocmem: Program, fake: FakeProvider
) -> None:
    three_notes(ocmem)
    ocmem.use(fake)
    fake.add_fault("status", code=401, body="no", times=FOREVER)

    done = ocmem("status", "--index")

    assert done.code == 1
    assert done.out.startswith("Memory index failed: openai embeddings failed: 401")
    assert "\nIndex error: openai embeddings failed: 401" in done.out
    assert done.err.startswith("Memory index failed: openai embeddings failed: 401")


def test_the_builtin_model_is_called_english(ocmem: Program) -> None:
    three_notes(ocmem)

    done = ocmem("status")

    assert "Provider: builtin (requested: auto)\n" in done.out
    assert "builtin is an English model" in done.out


def test_an_unreadable_note_is_an_issue(ocmem: Program, permissions: None) -> None:
    three_notes(ocmem)
    (ocmem.workspace / "MEMORY.md").chmod(0)

    done = ocmem("status", bound=True)

    assert done.code == 0
    assert "\nIssues:\n  ~/.openclaw/workspace/MEMORY.md not readable (EACCES)\n" in done.out


def test_an_unreadable_folder_leaves_the_total_open(ocmem: Program, permissions: None) -> None:
    three_notes(ocmem)
    ocmem.index()
    memory = ocmem.workspace / "memory"
    memory.chmod(0)

    done = ocmem("status", bound=True)

    memory.chmod(0o700)
    assert done.code == 0
    assert "Indexed: 3/? files · 3 chunks\n" in done.out
    assert "memory directory not accessible (~/.openclaw/workspace/memory): EACCES" in done.out
