"""Several agents: which command handles which, and how answers are told apart."""

from tests.golden.stage import Stage, scene


@scene
def agents_several(stage: Stage) -> None:
    """`Alpha One`, `beta` (the default, with a store of its own), `gamma` (disabled)."""
    _alpha_beta_gamma(stage)

    stage.run("index")
    stage.run("status")
    stage.run("status", "--json")
    stage.run("index", "--agent", "ALPHA one")
    stage.run("index", "--json")
    stage.run("status", "--agent", "beta", "--agent", "gamma")
    stage.run("index", "--verbose", "--agent", "beta")


@scene
def agents_search(stage: Stage) -> None:
    """One agent, several, all of them."""
    _alpha_beta_gamma(stage)

    stage.run("search", "tea", "--min-score", "0.01")
    stage.run("search", "tea", "--min-score", "0.01", "--agent", "alpha-one")
    stage.run("search", "tea", "--min-score", "0.01", "--agent", "alpha-one", "--agent", "beta")
    stage.run("search", "tea", "--min-score", "0.01", "--all-agents", "--json")
    stage.run("search", "xylophone", "--strict", "--all-agents")
    stage.run("search", "tea", "--agent", "gamma")
    stage.run("search", "tea", "--agent", "gamma", "--json")
    stage.run("search", "tea", "--all-agents", "--agent", "beta")


@scene
def agents_all_disabled(stage: Stage) -> None:
    """Memory search is switched off."""
    stage.three_notes()
    stage.ocmem.configure(enabled=False)

    stage.run("status")
    stage.run("status", "--json")
    stage.run("index")
    stage.run("index", "--json")
    stage.run("search", "tea")
    stage.run("search", "tea", "--json")
    stage.run("ls")
    stage.run("ls", "--json")


@scene
def agents_unknown(stage: Stage) -> None:
    """An id that no config mentions is normalised, with a warning."""
    stage.no_provider()

    stage.run("status", "--agent", "Nobody Here")
    stage.run("index", "--agent", "MAIN")


@scene
def agents_two_defaults(stage: Stage) -> None:
    """The first of two defaults counts."""
    stage.no_provider()
    both = [{"id": "one", "default": True}, {"id": "two", "default": True}]
    stage.ocmem.configure_all({"agents": {"list": both}})

    stage.run("search", "tea")
    stage.run("index")
    stage.run("status", "--json", "--agent", "two", "--agent", "TWO")


@scene
def agents_one_damaged(stage: Stage) -> None:
    """One agent's index is broken; the other still answers."""
    _alpha_beta_gamma(stage)
    stage.ocmem.index()
    (stage.ocmem.home / "stores" / "beta.db").write_bytes(b"noise " * 1000)

    stage.run("status")
    stage.run("status", "--json")
    stage.run("search", "tea", "--min-score", "0.01", "--all-agents")
    stage.run("search", "tea", "--min-score", "0.01", "--all-agents", "--json")
    stage.run("index")


def _alpha_beta_gamma(stage: Stage) -> None:
    alpha = stage.ocmem.state / "workspace-alpha-one"
    for workspace, text in ((alpha, "Alpha likes tea.\n"), (stage.ocmem.home / "ws", "Tea!\n")):
        (workspace / "memory").mkdir(parents=True)
        (workspace / "MEMORY.md").write_text(text)
    defaults = {"workspace": "~/ws", "memorySearch": stage.openai}
    store = {"path": "~/stores/{agentId}.db"}
    entries = [
        {"id": "Alpha One"},
        {"id": "beta", "default": True, "memorySearch": {"store": store}},
        {"id": "gamma", "memorySearch": {"enabled": False}},
    ]
    stage.ocmem.configure_all({"agents": {"defaults": defaults, "list": entries}})
