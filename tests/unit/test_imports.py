"""What is loaded when, and which layer may know which."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ocmem
from ocmem.settings.provider import has_local_engine
from tests import tiny_gguf
from tests.fake_qmd import FakeQmd

HEAVY = {"rich", "httpx", "numpy", "watchdog", "tiktoken", "pydantic", "xllamacpp"}
LAYERS = ["model", "errors", "settings", "core", "providers", "backends", "tools", "watch", "cli"]
PACKAGE = Path(ocmem.__file__).parent
EXAMPLE = Path(__file__).parent.parent / "example-workspace"


def _loaded(code: str, home: Path, **more: str) -> set[str]:
    probe = f"import sys\n{code}\nprint(*sorted(sys.modules), file=sys.stderr)"
    env = {"HOME": str(home), "PATH": os.environ["PATH"], **more}
    done = subprocess.run(
        [sys.executable, "-c", probe], env=env, capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def _run(*args: str) -> str:
    return f"sys.argv = ['ocmem', *{args!r}]\nfrom ocmem.cli import main\nassert main() == 0"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(option: str, tmp_path: Path) -> None:
    assert not HEAVY & _loaded(_run(option), tmp_path)


def test_importing_the_package_loads_none_of_its_modules(tmp_path: Path) -> None:
    loaded = _loaded("import ocmem", tmp_path)

    assert {name for name in loaded if name.startswith("ocmem")} == {"ocmem"}


def test_a_json_search_with_nothing_to_sync_loads_nothing_heavy(tmp_path: Path) -> None:
    args = ("search", "when is the dentist", "--json", "--workspace", str(EXAMPLE))
    first = _loaded(_run(*args), tmp_path)

    second = _loaded(_run(*args), tmp_path)

    assert "numpy" in first  # it had to index
    assert "tokenizers" in second  # it did embed the query
    assert not HEAVY & second


def test_a_small_folder_is_indexed_without_numpy(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("The boat is called Heron.\n")

    loaded = _loaded(_run("index", "--workspace", str(notes)), tmp_path)

    assert "tokenizers" in loaded
    assert not HEAVY & loaded


@pytest.mark.skipif(not has_local_engine(), reason="xllamacpp has no wheel for this machine")
def test_a_search_with_a_local_model_loads_llama_cpp_and_no_network_stack(tmp_path: Path) -> None:
    state = tmp_path / ".openclaw"
    (state / "workspace").mkdir(parents=True)
    (state / "workspace" / "MEMORY.md").write_text("The boat.\n")
    model = tiny_gguf.bert(tmp_path / "m.gguf")
    search = {"provider": "local", "local": {"modelPath": str(model)}}
    config = {"agents": {"defaults": {"memorySearch": search}}}
    (state / "openclaw.json").write_text(json.dumps(config))
    _loaded(_run("index"), tmp_path)

    loaded = _loaded(_run("search", "boat", "--json"), tmp_path)

    assert HEAVY & loaded == {"xllamacpp"}
    assert "xllamacpp" not in _loaded(_run("status"), tmp_path)


def test_a_piped_search_does_not_load_rich(tmp_path: Path) -> None:
    args = ("search", "dentist", "--workspace", str(EXAMPLE))
    _loaded(_run(*args), tmp_path)

    assert not HEAVY & _loaded(_run(*args), tmp_path)


def test_the_agents_tools_load_nothing_heavy_and_reading_no_index(tmp_path: Path) -> None:
    place = ("--workspace", str(EXAMPLE))
    search = ("tool", "memory_search", '{"query": "dentist"}', *place)
    _loaded(_run(*search), tmp_path)

    searched = _loaded(_run(*search), tmp_path)
    got = _loaded(_run("tool", "memory_get", '{"path": "MEMORY.md"}', *place), tmp_path)

    assert "tokenizers" in searched  # it did embed the query
    assert not HEAVY & searched
    assert not (HEAVY | {"apsw", "tokenizers", "ocmem.backends.builtin"}) & got


@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("search", "dentist", "--json"),
        ("index",),
        ("index", "--dry-run"),
        ("status", "--json"),
        ("warmup",),
        ("get", "MEMORY.md"),
        ("tool", "memory_search", '{"query": "dentist"}'),
        ("tool", "memory_get", '{"path": "MEMORY.md"}'),
    ],
)
def test_without_qmd_nothing_of_it_is_loaded(args: tuple[str, ...], tmp_path: Path) -> None:
    workspace = tmp_path / ".openclaw" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("The dentist is on Thursday.\n")
    (tmp_path / ".openclaw" / "openclaw.json").write_text('{"memory": {"backend": "builtin"}}')

    loaded = _loaded(_run(*args), tmp_path)

    assert not {name for name in loaded if ".qmd" in name or name.endswith("store.qmd_index")}


def test_a_search_that_qmd_answers_loads_nothing_heavy(tmp_path: Path) -> None:
    fake = FakeQmd(tmp_path / "fake")
    workspace = tmp_path / ".openclaw" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("The dentist is on Thursday.\n")
    limits = {"timeoutMs": 60_000}
    config = {"memory": {"backend": "qmd", "qmd": {"command": str(fake.command), "limits": limits}}}
    (tmp_path / ".openclaw" / "openclaw.json").write_text(json.dumps(config))

    loaded = _loaded(_run("search", "dentist", "--json"), tmp_path, FAKE_QMD=str(fake.folder))

    assert "ocmem.backends.qmd.front" in loaded
    assert not (HEAVY | {"tokenizers"}) & loaded


def test_every_layer_imports_only_from_its_left() -> None:
    wrong = []
    for file in PACKAGE.rglob("*.py"):
        layer = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if layer not in LAYERS:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ocmem."):
                target = (node.module or "").split(".")[1]
                if LAYERS.index(target) > LAYERS.index(layer):
                    wrong.append(f"{file.relative_to(PACKAGE)} imports {node.module}")

    assert wrong == []
