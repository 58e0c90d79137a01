"""`ocmem status` in its forms, with everything in order."""

from tests.golden.stage import Stage, scene


@scene
def status_nothing_there(stage: Stage) -> None:
    """No config, no key, no workspace."""
    stage.no_provider()

    stage.run("status")
    stage.run("status", "--deep")
    stage.run("status", "--json")


@scene
def status_keywords_only(stage: Stage) -> None:
    """Three notes, `provider: none`, before and after the first index."""
    stage.three_notes()
    stage.no_provider()

    stage.run("status")
    stage.run("status", "--index")
    stage.run("status")
    stage.run("status", "--deep", "--json")


@scene
def status_builtin(stage: Stage) -> None:
    """Three notes, no key: the built-in model."""
    stage.three_notes()

    stage.run("status")
    stage.run("status", "--index")


@scene
def status_before_first_index(stage: Stage) -> None:
    """Three notes and an OpenAI-compatible server, not indexed yet."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    stage.run("status")
    stage.run("status", "--deep")
    stage.run("status", "--json")


@scene
def status_after_index(stage: Stage) -> None:
    """Three notes and an OpenAI-compatible server, indexed."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    stage.run("index")
    stage.run("status")
    stage.run("status", "--deep")
    stage.run("status", "--json")
    stage.run("status", "--deep", "--json")
    stage.run("status", "--verbose")


@scene
def status_after_a_change(stage: Stage) -> None:
    """A note changes, one appears, one goes."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()

    stage.say("a note is written to")
    stage.ocmem.note("MEMORY.md", "# Long-term memory\n\n- Prefers coffee now.\n")
    stage.run("status")
    stage.run("status", "--index")
    stage.say("one note goes, another comes")
    (stage.ocmem.workspace / "memory/2026-02-11.md").rename(stage.ocmem.workspace / "memory.md")
    stage.run("status")


@scene
def status_index(stage: Stage) -> None:
    """Index first, then look."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    stage.run("status", "--index")
    stage.run("status", "--index", "--json")
    stage.ocmem.note("memory/2026-02-12.md", "# 2026-02-12\n\nRain.\n")
    stage.say("another note")
    stage.run("status", "--index", "--verbose")
    stage.ocmem.note("memory/2026-02-13.md", "# 2026-02-13\n\nMore rain.\n")
    stage.say("and another")
    stage.run("status", "--index", "--verbose", "--json")


@scene
def status_switches(stage: Stage) -> None:
    """Sessions on, vector and hybrid off, a cap on the cache, batch on."""
    stage.three_notes()
    stage.ocmem.configure(
        **{**stage.openai, "remote": {**stage.remote, "batch": {"enabled": True}}},
        sources=["memory", "sessions"],
        experimental={"sessionMemory": True},
        store={"vector": {"enabled": False}},
        query={"hybrid": {"enabled": False}},
        cache={"maxEntries": 100},
    )

    stage.run("status")
    stage.run("status", "--json")
    stage.run("index")
    stage.run("status")


@scene
def status_switched_on(stage: Stage) -> None:
    """Indexed without vector and keyword tables, which are then wanted."""
    stage.three_notes()
    off = {"enabled": False}
    stage.ocmem.use(stage.fake, store={"vector": off}, query={"hybrid": off})
    stage.ocmem.index()
    stage.ocmem.use(stage.fake)

    stage.run("status")
    stage.run("index")
    stage.run("status")
    stage.run("search", "gateway", "--citations", "off", "--strict", "--max-results", "1")


@scene
def status_cache_off(stage: Stage) -> None:
    """No cache, no vectors to look up, hybrid on."""
    stage.three_notes()
    stage.ocmem.use(stage.fake, cache={"enabled": False}, store={"vector": {"enabled": False}})
    stage.ocmem.index()

    stage.run("status")
    stage.run("status", "--json")


@scene
def status_sessions(stage: Stage) -> None:
    """Transcripts beside notes."""
    stage.three_notes()
    stage.transcripts()
    stage.ocmem.use(
        stage.fake, sources=["memory", "sessions"], experimental={"sessionMemory": True}
    )

    stage.run("status")
    stage.run("index", "--verbose")
    stage.run("status")


@scene
def status_extra_paths(stage: Stage) -> None:
    """Extra paths: resolved for people, as configured in JSON."""
    stage.three_notes()
    notes = stage.ocmem.home / "notes"
    notes.mkdir()
    (notes / "garden.md").write_text("Plant tulips.\n")
    stage.ocmem.note("../shared.md", "The code of the gate is 4711.\n")
    stage.ocmem.use(stage.fake, extraPaths=[" ~/notes ", "../shared.md"])

    stage.run("index", "--verbose")
    stage.run("status")
    stage.run("status", "--json")
    stage.run("search", "tulips", "--citations", "off", "--strict", "--min-score", "0.1")


@scene
def status_wrong_extension(stage: Stage) -> None:
    """A sqlite-vec library that is not there: indexing still works."""
    stage.three_notes()
    vector = {"extensionPath": "/nonexistent/vec0.so"}
    stage.ocmem.use(stage.fake, store={"vector": vector})

    stage.run("status")
    stage.run("status", "--json")
    stage.run("index")
    stage.run("status")
    stage.run("search", "gateway", "--citations", "off", "--strict")
