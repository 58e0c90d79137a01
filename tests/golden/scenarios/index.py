"""`ocmem index`: what it says when all is well, and when some is not."""

from tests.fake_provider import FOREVER
from tests.golden.stage import Stage, scene


@scene
def index_plain(stage: Stage) -> None:
    """First run, second run, a change, a rebuild."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    stage.run("index")
    stage.run("index")
    stage.say("a note changes, one goes")
    stage.ocmem.note("MEMORY.md", "# Long-term memory\n\n- Prefers coffee now.\n")
    (stage.ocmem.workspace / "memory/2026-02-11.md").unlink()
    stage.run("index")
    stage.run("index", "--force")
    stage.run("index", "--quiet")


@scene
def index_verbose(stage: Stage) -> None:
    """With `--verbose`: first, unchanged, rebuilt."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    stage.run("index", "--verbose")
    stage.run("index", "--verbose")
    stage.run("index", "--force", "--verbose")


@scene
def index_verbose_without_provider(stage: Stage) -> None:
    """Keywords only, with `--verbose`."""
    stage.three_notes()
    stage.no_provider()

    stage.run("index", "--verbose")


@scene
def index_folder(stage: Stage) -> None:
    """A folder of notes that belongs to no agent."""
    folder = stage.ocmem.home / "vault"
    folder.mkdir()
    (folder / "monday.md").write_text("The heron stood on the pier.\n")
    stage.no_provider()

    stage.run("index", "--workspace", "vault", "--verbose")
    stage.run("search", "heron", "--workspace", "vault")
    stage.run("search", "heron", "--workspace", "nowhere")


@scene
def index_json(stage: Stage) -> None:
    """With `--json`: one document on stdout."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    stage.run("index", "--json")
    stage.run("index", "--json", "--verbose")
    stage.run("index", "--json", "--force")


@scene
def index_setting_changed(stage: Stage) -> None:
    """Another chunk size: the index is built anew, from the cache where that is possible."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()
    stage.ocmem.use(stage.fake, chunking={"tokens": 300})

    stage.run("status")
    stage.run("search", "plants", "--citations", "off")
    stage.run("index")


@scene
def index_one_agent_fails(stage: Stage) -> None:
    """The second of three agents fails; the others are indexed, the exit code is 1."""
    entries = []
    for name in ("alpha", "beta", "gamma"):
        workspace = stage.ocmem.home / name
        workspace.mkdir()
        (workspace / "MEMORY.md").write_text(f"I am {name}.\n")
        entries.append({"id": name, "workspace": f"~/{name}"})
    stage.ocmem.configure_all(
        {"agents": {"defaults": {"memorySearch": stage.openai}, "list": entries}}
    )
    stage.fake.add_fault("status", code=401, body="no", text="beta", times=FOREVER)

    stage.run("index")
    stage.run("index", "--json")
    stage.run("index", "--agent", "gamma")
