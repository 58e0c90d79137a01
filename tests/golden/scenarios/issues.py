"""Odd states of the files and of the index, and how each command takes them."""

from pathlib import Path

from tests.golden.stage import Stage, scene, scene_with_refusal


@scene
def issue_empty_memory_folder(stage: Stage) -> None:
    """An empty `memory/` and no `MEMORY.md`."""
    (stage.ocmem.workspace / "memory").mkdir(parents=True)
    stage.ocmem.use(stage.fake)

    _three_commands(stage)


@scene
def issue_workspace_missing(stage: Stage) -> None:
    """No workspace at all."""
    stage.ocmem.use(stage.fake)

    _three_commands(stage)


@scene
def issue_memory_folder_missing(stage: Stage) -> None:
    """`MEMORY.md` alone."""
    stage.ocmem.note("MEMORY.md", "Prefers tea over coffee.\n")
    stage.ocmem.use(stage.fake)

    _three_commands(stage)


@scene
def issue_extra_path_missing(stage: Stage) -> None:
    """An extra path that is not there."""
    stage.three_notes()
    stage.ocmem.use(stage.fake, extraPaths=["~/nowhere", "gone.md"])

    _three_commands(stage)


@scene_with_refusal
def issue_extra_path_not_accessible(stage: Stage) -> None:
    """An extra path behind a closed door, one that cannot be listed, one that cannot be read."""
    stage.three_notes()
    for name in ("closed", "unlisted"):
        (stage.ocmem.home / name / "notes").mkdir(parents=True)
        (stage.ocmem.home / name / "notes" / "a.md").write_text("a\n")
    secret = stage.ocmem.home / "secret.md"
    secret.write_text("secret\n")
    paths = ["~/closed/notes", "~/unlisted", "~/secret.md"]
    stage.ocmem.use(stage.fake, extraPaths=paths)
    doors = [stage.ocmem.home / "closed", stage.ocmem.home / "unlisted", secret]

    _behind(doors, stage)


@scene_with_refusal
def issue_note_unreadable(stage: Stage) -> None:
    """`MEMORY.md` without read permission, before anything is indexed."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    _behind([stage.ocmem.workspace / "MEMORY.md"], stage, "status --index")


@scene_with_refusal
def issue_note_unreadable_later(stage: Stage) -> None:
    """`MEMORY.md` loses its read permission after the first index: its rows stay."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()

    _behind([stage.ocmem.workspace / "MEMORY.md"], stage)


@scene_with_refusal
def issue_daily_note_unreadable(stage: Stage) -> None:
    """A note in `memory/` without read permission."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    _behind([stage.ocmem.workspace / "memory/2026-02-10.md"], stage)


@scene_with_refusal
def issue_memory_folder_unreadable(stage: Stage) -> None:
    """`memory/` without any permission, after the first index: its rows stay."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()

    _behind([stage.ocmem.workspace / "memory"], stage)


@scene_with_refusal
def issue_memory_folder_not_entered(stage: Stage) -> None:
    """`memory/` can be listed but not entered."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    _behind([stage.ocmem.workspace / "memory"], stage, mode=0o400)


@scene_with_refusal
def issue_subfolder_unreadable(stage: Stage) -> None:
    """A folder below `memory/` without permission."""
    stage.three_notes()
    stage.ocmem.note("memory/projects/boat.md", "Paint the boat.\n")
    stage.ocmem.use(stage.fake)

    _behind([stage.ocmem.workspace / "memory/projects"], stage)


@scene_with_refusal
def issue_workspace_unreadable(stage: Stage) -> None:
    """A workspace that may not be entered."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    _behind([stage.ocmem.workspace], stage)


@scene_with_refusal
def issue_workspace_behind_a_closed_door(stage: Stage) -> None:
    """A folder above the workspace may not be entered."""
    stage.ocmem.configure_all(
        {"agents": {"defaults": {"workspace": "~/closed/ws", "memorySearch": stage.openai}}}
    )
    (stage.ocmem.home / "closed" / "ws").mkdir(parents=True)

    _behind([stage.ocmem.home / "closed"], stage, "status --workspace closed/ws")


@scene
def issue_sessions_missing(stage: Stage) -> None:
    """Sessions are wanted, and there is no folder for them."""
    stage.three_notes()
    _use_sessions(stage)

    _three_commands(stage)


@scene_with_refusal
def issue_sessions_unreadable(stage: Stage) -> None:
    """A folder of transcripts without permission."""
    stage.three_notes()
    stage.transcripts()
    _use_sessions(stage)

    _behind([stage.ocmem.state / "agents/main/sessions"], stage)


@scene
def issue_memory_folder_gone(stage: Stage) -> None:
    """`memory/` goes away after the first index: rows are kept until it is back."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()
    memory = stage.ocmem.workspace / "memory"
    memory.rename(stage.ocmem.home / "unmounted")

    _three_commands(stage)
    stage.run("index", "--force")
    stage.say("it is back, with one note less")
    (stage.ocmem.home / "unmounted").rename(memory)
    (memory / "2026-02-11.md").unlink()
    stage.run("index")


@scene
def issue_name_not_utf8(stage: Stage) -> None:
    """A file name that is not UTF-8."""
    stage.three_notes()
    folder = str(stage.ocmem.workspace / "memory").encode()
    Path((folder + b"/caf\xe9.md").decode("utf-8", "surrogateescape")).write_text("x\n")
    stage.ocmem.use(stage.fake)

    _three_commands(stage)


@scene
def database_random_bytes(stage: Stage) -> None:
    """Random bytes where the index should be."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()
    stage.ocmem.shared_index.write_bytes(b"noise " * 1000)

    stage.run("status")
    stage.run("status", "--json")
    stage.run("status", "--index")
    stage.run("index")
    stage.run("search", "gateway", "--json")
    stage.run("ls")
    stage.run("index", "--force")
    stage.run("search", "gateway", "--citations", "off", "--strict", "--max-results", "1")


@scene
def database_damaged_pages(stage: Stage) -> None:
    """An index with damaged pages."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()
    data = stage.ocmem.shared_index.read_bytes()
    stage.ocmem.shared_index.write_bytes(data[:100] + b"\xff" * (len(data) - 100))

    stage.run("status")
    stage.run("index")
    stage.run("search", "gateway")
    stage.run("index", "--force")
    stage.run("status")


@scene
def database_is_a_folder(stage: Stage) -> None:
    """A folder where the index should be."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.shared_index.mkdir(parents=True)

    stage.run("status")
    stage.run("index")
    stage.run("search", "gateway")
    stage.run("index", "--force")


@scene_with_refusal
def database_folder_unreadable(stage: Stage) -> None:
    """The folder of the index may not be entered."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()

    _behind([stage.ocmem.shared_index.parent], stage)


def _use_sessions(stage: Stage) -> None:
    stage.ocmem.use(
        stage.fake, sources=["memory", "sessions"], experimental={"sessionMemory": True}
    )


def _three_commands(stage: Stage, *more: str, bound: bool = False) -> None:
    stage.run("status", bound=bound)
    stage.run("index", bound=bound)
    stage.run("search", "gateway", "--citations", "off", "--strict", bound=bound)
    stage.run("status", "--json", bound=bound)
    for line in more:
        stage.run(*line.split(), bound=bound)


def _behind(doors: list[Path], stage: Stage, *more: str, mode: int = 0) -> None:
    """The same while nobody may enter; opened again, so that the folder can be cleared away."""
    before = [(door, door.stat().st_mode) for door in doors]
    for door in doors:
        door.chmod(mode)
    try:
        _three_commands(stage, *more, bound=True)
    finally:
        for door, permissions in before:
            door.chmod(permissions)
