"""Where things are: home, state directory, config file, the display form of a path."""

import os
from collections.abc import Mapping
from pathlib import Path

from ocmem.errors import UsageError

Env = Mapping[str, str]

CONFIG_NAMES = ("openclaw.json", "clawdbot.json", "moldbot.json", "moltbot.json")
STATE_DIR_NAMES = (".openclaw", ".clawdbot", ".moldbot", ".moltbot")


def home_dir(env: Env) -> Path:
    """The reference's idea of home: OPENCLAW_HOME, HOME, USERPROFILE, the system's, or here."""
    system_home = _first_set(env, "HOME", "USERPROFILE") or os.path.expanduser("~")
    if system_home == "~":
        system_home = "."
    chosen = _first_set(env, "OPENCLAW_HOME")
    if chosen is None:
        return absolute(system_home)
    return absolute(expand_tilde(chosen, system_home))


def state_dir(env: Env, home: Path) -> Path:
    """The directory of indexes and transcripts; a legacy one counts while no `.openclaw` exists."""
    override = state_dir_override(env, home)
    if override is not None:
        return override
    candidates = [home / name for name in STATE_DIR_NAMES]
    return next((path for path in candidates if os.path.exists(path)), candidates[0])


def state_dir_override(env: Env, home: Path) -> Path | None:
    chosen = _first_set(env, "OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR")
    return None if chosen is None else expand(chosen, home)


def config_file(env: Env, home: Path) -> Path:
    """The `openclaw.json` to read; it need not exist."""
    chosen = _first_set(env, "OPENCLAW_CONFIG_PATH", "CLAWDBOT_CONFIG_PATH")
    if chosen is not None:
        return expand(chosen, home)
    override = state_dir_override(env, home)
    folders = [override] if override is not None else []
    folders += [home / name for name in STATE_DIR_NAMES]
    candidates = [folder / name for folder in folders for name in CONFIG_NAMES]
    fallback = state_dir(env, home) / CONFIG_NAMES[0]
    return next((path for path in candidates if os.path.exists(path)), fallback)


def overlay_file(env: Env, home: Path) -> Path:
    """ocmem's own settings file, for what OpenClaw would refuse; it need not exist."""
    chosen = _first_set(env, "OCMEM_CONFIG")
    if chosen is not None:
        return expand(chosen, home)
    import platformdirs

    return platformdirs.user_config_path("ocmem") / "config.json5"


def data_dir() -> Path:
    """Where indexes of folders live that are no agent's workspace."""
    import platformdirs

    return platformdirs.user_data_path("ocmem")


def expand(text: str, home: Path) -> Path:
    """As `expand_tilde`, and absolute."""
    return absolute(expand_tilde(text, str(home)))


def expand_tilde(text: str, home: str) -> str:
    """Trim, and replace a leading `~` (never `~user`)."""
    text = text.strip()
    if text == "~" or text.startswith(("~/", "~\\")):
        return home + text[1:]
    return text


def absolute(path: str | Path) -> Path:
    # abspath, not resolve(): symlinks stay as written, and `..` goes as in the reference.
    try:
        return Path(os.path.abspath(path))
    except FileNotFoundError:
        raise UsageError(f"{path}: the current folder is gone", hint="use a full path") from None


def is_file(path: Path) -> bool:
    # Not path.is_file(): that raises for a name too long, or below a folder that may not be read.
    return os.path.isfile(path)


def shorten(path: str | Path, *, env: Env, home: Path) -> str:
    """A path for people: `~` for home, `$OPENCLAW_HOME` where that is set."""
    text, base = str(path), str(home).rstrip("/")
    prefix = "$OPENCLAW_HOME" if _first_set(env, "OPENCLAW_HOME") else "~"
    if text in (base, str(home)):
        return prefix
    return prefix + text[len(base) :] if text.startswith(f"{base}/") else text


def _first_set(env: Env, *names: str) -> str | None:
    return next((value for name in names if (value := env.get(name, "").strip())), None)
