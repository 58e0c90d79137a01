"""What the command line says about settings."""

from dataclasses import dataclass

from ocmem.model import Source


@dataclass(frozen=True, slots=True)
class Overrides:
    """Options that beat both settings files; None leaves a thing to them."""

    agents: tuple[str, ...] = ()
    workspace: str | None = None
    state_dir: str | None = None
    config: str | None = None
    profile: str | None = None
    is_dev: bool = False  # the profile was asked for as `--dev`
    backend: str | None = None
    provider: str | None = None
    sources: tuple[Source, ...] = ()
    offline: bool = False
    failure: str | None = None  # why the provider failed when tried: its fallback is to step in

    @property
    def agent(self) -> str | None:
        """The agent that settings are resolved for; the last of several."""
        return self.agents[-1] if self.agents else None
