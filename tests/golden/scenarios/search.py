"""`ocmem search`: layouts and fields by mode, and empty answers."""

from tests.golden.stage import Stage, scene


@scene
def search_reference_layout(stage: Stage) -> None:
    """The reference's list in the reference's layout."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()

    stage.run("search", "gateway", "--citations", "off", "--strict")
    stage.run("search", "--query", "tea", "--max-results", "1", "--citations", "off", "--strict")
    stage.run("search", "xylophone", "--citations", "off", "--strict")


@scene
def search_hybrid(stage: Stage) -> None:
    """Vectors and keywords, on the file that OpenClaw shares."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    stage.run("search", "gateway")
    stage.run("search", "gateway", "--json")
    stage.run("search", "--query", "tea", "--max-results", "1", "--json", "--strict")
    stage.run("search", "gateway", "--explain", "--max-results", "1")
    stage.run("search", "gateway", "--explain", "--max-results", "1", "--json")


@scene
def search_vector_only(stage: Stage) -> None:
    """Hybrid search switched off."""
    stage.three_notes()
    stage.ocmem.use(stage.fake, query={"hybrid": {"enabled": False}})

    stage.run("search", "gateway", "--min-score", "0.1", "--citations", "off", "--strict")
    stage.run("search", "gateway", "--min-score", "0.1", "--max-results", "1", "--json", "--strict")


@scene
def search_keywords_only(stage: Stage) -> None:
    """`provider: none`."""
    stage.three_notes()
    stage.no_provider()

    stage.run("search", "gateway")
    stage.run("search", "gateway", "--citations", "off", "--strict")
    stage.run("search", "tea", "--json")
    stage.run("search", "tea", "--json", "--strict")


@scene
def search_no_matches(stage: Stage) -> None:
    """Nothing found is an answer; stderr says why."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    stage.run("search", "xylophone", "--strict")
    stage.run("search", "xylophone", "--strict", "--json")
    stage.run("search", "tea", "--min-score", "0.99")
    stage.run("search", "   ")
    stage.run("search", "   ", "--json")


@scene
def search_without_query(stage: Stage) -> None:
    """A query is needed."""
    stage.run("search")
    stage.run("search", "--query=")
    stage.run("search", "--json")
    stage.run("search", "tea", "--query=")


@scene
def search_no_sync(stage: Stage) -> None:
    """Answers from what is there, and from nothing."""
    stage.three_notes()
    stage.no_provider()

    stage.run("search", "gateway", "--no-sync")
    stage.run("search", "gateway", "--no-sync", "--json")
    stage.ocmem.index()
    stage.say("indexed; then a note is added")
    stage.ocmem.note("memory/2026-02-12.md", "# 2026-02-12\n\nA third gateway.\n")
    stage.run("search", "third gateway", "--no-sync", "--max-results", "1")
    stage.run("search", "third gateway", "--no-sync", "--max-results", "1", "--json")


@scene
def search_control_characters(stage: Stage) -> None:
    """Piped output is verbatim, and a path is what the index calls it."""
    stage.ocmem.note("memory/odd name.md", "tea\twith \x1b[31mred\x1b[0m and é 茶\r\nsecond line")
    stage.no_provider()

    stage.run("search", "tea")
    stage.run("search", "tea", "--json")
