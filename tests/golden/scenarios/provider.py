"""Providers that cannot be had: no key, no server, no right to use it."""

from tests.fake_provider import FOREVER
from tests.golden.stage import Stage, scene


@scene
def provider_without_key(stage: Stage) -> None:
    """openai by name, and no key anywhere."""
    stage.three_notes()
    stage.ocmem.configure(provider="openai")

    stage.run("status")
    stage.run("status", "--deep")
    stage.run("status", "--deep", "--json")
    stage.run("index")
    stage.run("search", "gateway")
    stage.run("search", "gateway", "--json")


@scene
def provider_key_lost(stage: Stage) -> None:
    """The key goes after the first index: the index stays, and answers by keyword."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()
    url = stage.fake.base_url("openai")
    stage.ocmem.configure(provider="openai", remote={"baseUrl": url})

    stage.run("status")
    stage.run("index")
    stage.run("search", "gateway", "--strict", "--citations", "off")
    stage.run("search", "gateway", "--strict", "--json")
    stage.say("a note changes meanwhile")
    stage.ocmem.note("memory/2026-02-11.md", "# 2026-02-11\n\nBought a second gateway.\n")
    stage.run("status")
    stage.run("index")
    stage.run("index", "--force")
    stage.run("search", "gateway", "--strict", "--citations", "off")


@scene
def provider_refused(stage: Stage) -> None:
    """Nobody listens at the provider's address."""
    stage.ocmem.note("MEMORY.md", "Prefers tea over coffee.\n")
    stage.ocmem.use(stage.fake)
    stage.fake.stop()

    stage.run("status", "--deep")
    stage.run("index")
    stage.run("search", "gateway", "--quiet")


@scene
def provider_500(stage: Stage) -> None:
    """The provider fails, again and again."""
    stage.ocmem.note("MEMORY.md", "Prefers tea over coffee.\n")
    stage.ocmem.use(stage.fake)
    stage.fake.add_fault("status", code=500, body="boom", times=FOREVER)

    stage.run("index")
    stage.say("and then once only")
    stage.fake.faults.clear()
    stage.fake.add_fault("status", code=503, body="busy")
    stage.run("search", "tea", "--citations", "off", "--strict")


@scene
def provider_401(stage: Stage) -> None:
    """The provider does not like the key; this is not tried twice."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    body = '{"error":{"message":"invalid key"}}'
    stage.fake.add_fault("status", code=401, body=body, times=FOREVER)

    stage.run("status", "--deep")
    stage.run("status", "--deep", "--json")
    stage.run("status", "--index")
    stage.run("status", "--index", "--json")
    stage.run("index")
    stage.run("index", "--json")
    stage.run("search", "gateway")
    stage.run("search", "gateway", "--json")


@scene
def provider_401_later(stage: Stage) -> None:
    """The key is refused after the first index: rows so far answer, by keyword."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()
    stage.fake.add_fault("status", code=401, body="no", times=FOREVER)

    stage.run("search", "gateway", "--citations", "off", "--strict")
    stage.say("a note changes")
    stage.ocmem.note("memory/2026-02-11.md", "# 2026-02-11\n\nBought a second gateway.\n")
    stage.run("search", "gateway", "--citations", "off", "--strict")
    stage.run("search", "gateway", "--max-results", "1", "--json")
    stage.run("index")


@scene
def provider_fallback(stage: Stage) -> None:
    """gemini without a key, openai in its place."""
    stage.three_notes()
    _with_openai_key(stage, provider="gemini", fallback="openai")

    stage.run("status", "--deep")
    stage.run("status", "--json")
    stage.run("index", "--verbose")
    stage.run("status")
    stage.run("search", "tea", "--max-results", "1")
    stage.run("search", "tea", "--max-results", "1", "--json")


@scene
def provider_fallback_fails(stage: Stage) -> None:
    """Neither gemini nor its fallback has a key."""
    stage.three_notes()
    stage.ocmem.configure(provider="gemini", fallback="openai")

    stage.run("status", "--deep")
    stage.run("status", "--json")
    stage.run("index")


@scene
def provider_fallback_at_work(stage: Stage) -> None:
    """openai refuses its key in the middle of the day, and voyage takes over."""
    stage.three_notes()
    voyage = {
        "baseUrl": stage.fake.base_url("voyage"),
        "apiKey": stage.fake.key("voyage"),
        "models": [],
    }
    stage.ocmem.configure_all(
        {
            "agents": {"defaults": {"memorySearch": {**stage.openai, "fallback": "voyage"}}},
            "models": {"providers": {"voyage": voyage}},
        }
    )
    stage.run("index")
    stage.say("The service stops taking the key, and a note changes.")
    stage.fake.add_fault("status", code=401, body="no", dialect="openai", times=FOREVER)
    stage.ocmem.note("memory/2026-02-12.md", "# 2026-02-12\n\nTea with Mira.\n")

    stage.run("search", "tea", "--max-results", "1")
    stage.run("index", "--json")
    stage.run("search", "tea", "--max-results", "1", "--json")
    stage.run("status")
    stage.run("status", "--deep")
    stage.run("status", "--index")
    stage.say("It takes the key again.")
    stage.fake.faults.clear()
    stage.run("search", "tea", "--max-results", "1")
    stage.run("status")


@scene
def provider_auto_with_key(stage: Stage) -> None:
    """Nothing chosen, and a key in the environment."""
    stage.three_notes()
    _with_openai_key(stage)

    stage.run("status")


def _with_openai_key(stage: Stage, **memory_search: object) -> None:
    """Keys and URL where every agent finds them."""
    openai = {
        "baseUrl": stage.fake.base_url("openai"),
        "apiKey": stage.fake.key("openai"),
        "models": [],
    }
    stage.ocmem.configure_all(
        {
            "agents": {"defaults": {"memorySearch": memory_search}},
            "models": {"providers": {"openai": openai}},
        }
    )
