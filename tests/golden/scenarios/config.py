"""A config that cannot be used, and what is said about it."""

from tests.golden.stage import Stage, scene, scene_with_refusal


@scene
def config_invalid(stage: Stage) -> None:
    """Values out of range, keys that nobody knows."""
    stage.ocmem.configure(bogus=1, query={"maxResults": 0, "minScore": 2}, provider="acme")

    for args in (["status"], ["status", "--json"], ["index"], ["search", "tea", "--json"], ["ls"]):
        stage.run(*args)


@scene
def config_broken(stage: Stage) -> None:
    """JSON5 that ends too early."""
    stage.ocmem.state.mkdir()
    stage.ocmem.config.write_text("{ agents: {\n")

    stage.run("status")


@scene
def config_missing_variable(stage: Stage) -> None:
    """A variable that is not set."""
    stage.ocmem.configure(provider="openai", remote={"apiKey": "${NOPE_KEY}"})

    stage.run("status")


@scene
def config_old_place(stage: Stage) -> None:
    """`memorySearch` at the top."""
    stage.ocmem.configure_all({"memorySearch": {"provider": "openai"}})

    stage.run("status")


@scene
def config_provider_incomplete(stage: Stage) -> None:
    """`models.providers.openai` with nothing but a key."""
    stage.ocmem.configure_all({"models": {"providers": {"openai": {"apiKey": "key-openai"}}}})

    stage.run("status")


@scene
def config_own_file_invalid(stage: Stage) -> None:
    """A mistake in ocmem's own file."""
    stage.ocmem.configure_own(provider="acme")

    stage.run("status")

    stage.ocmem.overlay.write_text("{ provider: 'builtin', agnets: {} }")

    stage.run("status")


@scene
def config_own_provider_in_the_wrong_file(stage: Stage) -> None:
    """A provider that OpenClaw would refuse."""
    stage.ocmem.configure(provider="builtin")

    stage.run("status")


@scene_with_refusal
def config_unreadable(stage: Stage) -> None:
    """A config file without read permission."""
    stage.ocmem.configure(provider="openai")
    stage.ocmem.config.chmod(0)

    stage.run("status", bound=True)
