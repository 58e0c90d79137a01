"""`ocmem tool`: what the agent sees, answer by answer."""

from tests.fake_provider import FOREVER
from tests.golden.stage import Stage, scene

GROUP = "agent:main:telegram:group:-100"
SEARCH, GET = "memory_search", "memory_get"


@scene
def tool_search(stage: Stage) -> None:
    """Hybrid search: citations by chat, and no match."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)

    stage.run("tool", SEARCH, '{"query": "gateway", "maxResults": 1}')
    stage.run("tool", SEARCH, '{"query": "gateway", "max_results": "1"}', "--session-key", GROUP)
    stage.run("tool", SEARCH, stdin='{"query": "tea", "minScore": 0.1, "maxResults": 2}')
    stage.run("tool", SEARCH, "-", "--envelope", stdin='{"query": "tea", "maxResults": 1}')
    stage.run("tool", SEARCH, '{"query": "xylophone"}')


@scene
def tool_search_modes(stage: Stage) -> None:
    """Other modes have other fields."""
    stage.three_notes()
    one = '{"query": "gateway", "maxResults": 1, "minScore": 0.1}'

    stage.ocmem.use(stage.fake, query={"hybrid": {"enabled": False}})
    stage.run("tool", SEARCH, one)
    stage.say("the key is lost")
    stage.ocmem.configure(provider="openai", remote={"baseUrl": stage.fake.base_url("openai")})
    stage.run("tool", SEARCH, one)
    stage.say("keywords only, by choice")
    stage.no_provider()
    stage.run("tool", SEARCH, one)


@scene
def tool_search_unavailable(stage: Stage) -> None:
    """The provider refuses, is out of quota, or search is off."""
    stage.three_notes()
    stage.ocmem.use(stage.fake)
    stage.ocmem.index()

    for code, body in ((401, "no"), (400, '{"code": "insufficient_quota"}')):
        stage.say(f"the provider says {code}")
        stage.fake.faults.clear()
        stage.fake.add_fault("status", code=code, body=body, times=FOREVER)
        stage.run("tool", SEARCH, '{"query": "gateway"}')
    stage.say("memorySearch.enabled: false")
    stage.ocmem.configure(enabled=False)
    stage.run("tool", SEARCH, '{"query": "gateway"}', "--envelope")
    stage.run("tool", GET, '{"path": "MEMORY.md"}')


@scene
def tool_search_fallback(stage: Stage) -> None:
    """openai has no index yet and refuses its key: voyage answers."""
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
    stage.fake.add_fault("status", code=401, body="no", dialect="openai", times=FOREVER)

    stage.run("tool", SEARCH, '{"query": "tea", "maxResults": 1}')


@scene
def tool_get(stage: Stage) -> None:
    """A note, some of its lines, a note that is not there, and what is none of them."""
    stage.three_notes()
    stage.no_provider()

    stage.run("tool", GET, '{"path": "MEMORY.md"}')
    stage.run("tool", GET, stdin='{"path": "memory/2026-02-10.md", "from": "3", "lines": 1}')
    stage.run("tool", GET, '{"path": "memory/none.md"}')
    stage.run("tool", GET, '{"path": "memory/2026-02-10.md#L1-L3"}')
    stage.run("tool", GET, '{"path": "../openclaw.json"}', "--envelope")


@scene
def tool_input(stage: Stage) -> None:
    """What cannot be understood: one line, and no answer."""
    stage.run("tool")
    stage.run("tool", "memory_write", "{}")
    stage.run("tool", SEARCH)
    stage.run("tool", SEARCH, "gateway")
    stage.run("tool", SEARCH, '["gateway"]')
    stage.run("tool", SEARCH, "{}")
    stage.run("tool", SEARCH, '{"query": "x", "maxResults": 0}')
    stage.run("tool", GET, '{"file": "MEMORY.md"}')
    stage.run("tool", GET, "{}", "MEMORY.md")


@scene
def tool_list(stage: Stage) -> None:
    """What an agent's model is told about the tools."""
    stage.run("tool", "--list")
    stage.run("tool", "--list", "--json")
