"""Command lines that make no sense."""

from tests.golden.stage import Stage, scene


@scene
def usage_errors(stage: Stage) -> None:
    """What is not known, what is missing, what is too much."""
    stage.run("status", "--bogus")
    stage.run("search", "tea", "--bogus")
    stage.run("search", "tea", "-x")
    stage.run("bogus")
    stage.run("--bogus", "status")
    stage.run("search", "tea", "--agent")
    stage.run("search", "--query")
    stage.run("search", "tea", "--max-results")
    stage.run("index", "--workspace")
    stage.run("search", "tea", "cake")
    stage.run("search", "tea", "cake", "pie")
    stage.run("status", "extra")


@scene
def usage_profile(stage: Stage) -> None:
    """Profiles: errors, and what a good one changes."""
    stage.no_provider()

    stage.run("--profile", "no good", "status")
    stage.run("--profile=", "status")
    stage.run("status", "--profile")
    stage.run("--dev", "--profile", "work", "status")
    stage.run("--profile", "work", "status")
    stage.run("status", "--dev")
    stage.run("status", OPENCLAW_PROFILE="work")
