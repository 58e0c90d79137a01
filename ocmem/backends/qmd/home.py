"""The agent's corner for QMD: its folders, the models it shares, and what QMD is started with."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ocmem.settings.qmd import QmdSettings

# To embed; to expand the query; to rank what was found.
_MODELS = {"search": 1, "vsearch": 1, "query": 3}
# They would lead QMD past the two folders that are the agent's own.
_LEADING_AWAY = ("INDEX_PATH", "QMD_CONFIG_DIR")


def environment(settings: QmdSettings, env: Mapping[str, str]) -> dict[str, str]:
    """What a QMD process sees: everything that we see, but the agent's places."""
    kept = {name: value for name, value in env.items() if name not in _LEADING_AWAY}
    return kept | {
        "XDG_CONFIG_HOME": str(settings.config_home),
        "XDG_CACHE_HOME": str(settings.cache_home),
        "NO_COLOR": "1",
    }


def working_folder(settings: QmdSettings) -> Path:
    """The workspace, or the nearest folder above it that is there."""
    places = (settings.workspace, *settings.workspace.parents)
    return next((place for place in places if place.is_dir()), Path("/"))


def prepare(settings: QmdSettings) -> None:
    """Make the agent's folders, for their owner only. Raises OSError."""
    folders = [settings.config_home / "qmd", settings.database.parent]
    if settings.exports_sessions:
        folders.append(settings.export_dir)
    for folder in folders:
        for each in (*reversed([above for above in folder.parents if not above.exists()]), folder):
            each.mkdir(mode=0o700, exist_ok=True)


def link_models(settings: QmdSettings, env: Mapping[str, str], home: Path) -> str | None:
    """Share the models that the user's own QMD has fetched; a warning if that does not work."""
    cache = env.get("XDG_CACHE_HOME", "").strip()
    shared = (Path(cache) if cache else home / ".cache") / "qmd" / "models"
    if settings.models.exists() or settings.models.is_symlink() or not shared.is_dir():
        return None
    try:
        settings.models.symlink_to(shared, target_is_directory=True)
    except FileExistsError:
        return None  # another run was faster
    except OSError as error:
        return f"QMD's models in {shared} cannot be shared: {error.strerror}"
    return None


def has_models(settings: QmdSettings, env: Mapping[str, str]) -> bool:
    """Whether as many models are here as the mode uses; the user may have named one of them."""
    return _count(settings, env) >= _MODELS[settings.mode]


def can_embed(settings: QmdSettings, env: Mapping[str, str]) -> bool:
    """Whether there is a model for that, as far as one can tell: any might be it."""
    return _count(settings, env) > 0


def _count(settings: QmdSettings, env: Mapping[str, str]) -> int:
    named = env.get("QMD_EMBED_MODEL", "")
    return sum(1 for _ in _models(settings.models)) + (bool(named) and Path(named).is_file())


def _models(folder: Path) -> Iterator[Path]:
    try:
        yield from folder.glob("*.gguf")
    except OSError:
        return
