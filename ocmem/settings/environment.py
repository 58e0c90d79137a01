"""Variables: the real environment, then `.env` files, then the `env` block of a config."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ocmem.settings import paths
from ocmem.settings.reading import regular_bytes

# Where a variable may come from, beside options and the files that set some.
ENVIRONMENT, LOGIN_SHELL = "environment", "login shell"
_MOST_BYTES = 1_000_000
_ASSIGNMENT = re.compile(
    r"""
    ^[^\S\n]* (?:export[^\S\n]+)? (?P<name>[A-Za-z0-9_.-]+)
    (?: [^\S\n]*=[^\S\n]* | :[^\S\n]+ )
    (?P<value> '(?:\\'|[^'])*' | "(?:\\"|[^"])*" | `(?:\\`|[^`])*` | [^#\n]* )
    [^\S\n]* (?:\#.*)? $
    """,
    re.VERBOSE | re.MULTILINE,
)
_QUOTED = re.compile(r"""(['"`])(.*)\1""", re.DOTALL)
_SHELL_NAMES = ("OPENAI_API_KEY", "GEMINI_API_KEY")
# The reference imports these too, and asks the login shell for nothing if it has one of them.
_SHELL_NAMES_OF_OTHERS = """ANTHROPIC_API_KEY ANTHROPIC_OAUTH_TOKEN ZAI_API_KEY OPENROUTER_API_KEY
    AI_GATEWAY_API_KEY MINIMAX_API_KEY SYNTHETIC_API_KEY ELEVENLABS_API_KEY TELEGRAM_BOT_TOKEN
    DISCORD_BOT_TOKEN SLACK_BOT_TOKEN SLACK_APP_TOKEN OPENCLAW_GATEWAY_TOKEN
    OPENCLAW_GATEWAY_PASSWORD""".split()
_TRUE = ("1", "true", "yes", "on")
# Names that change how a program is loaded are never taken from a config file.
_LOADER_NAME = re.compile(
    r"(?i)(LD|DYLD)_.*|NODE_OPTIONS|NODE_PATH|PYTHON(PATH|HOME|STARTUP)|PERL5LIB|PERL5OPT|RUBYLIB"
    r"|RUBYOPT|BASH_ENV|ENV|SHELL|IFS|GCONV_PATH|SSLKEYLOGFILE"
)


@dataclass(frozen=True, slots=True)
class Variables(Mapping[str, str]):
    """Environment variables with the place each came from. Earlier layers beat later ones."""

    layers: tuple[tuple[str, Mapping[str, str]], ...] = field(repr=False)  # may hold keys

    def __getitem__(self, name: str) -> str:
        for _, values in self.layers:
            if name in values:
                return values[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for _, values in self.layers for name in values))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def origin(self, name: str) -> str | None:
        """The file or the option that set the variable, or one of the other places."""
        return next((origin for origin, values in self.layers if name in values), None)

    def filled(self, wanted: Mapping[str, str], origin: str) -> "Variables":
        """With values for what is unset or blank, and no more."""
        added = {name: text for name, text in wanted.items() if not self.get(name, "").strip()}
        if not added:
            return self
        kept = tuple(
            (place, {name: text for name, text in values.items() if name not in added})
            for place, values in self.layers
        )
        return Variables((*kept, (origin, added)))


def read(
    env: Mapping[str, str], cwd: Path | None, options: Sequence[tuple[str, Mapping[str, str]]]
) -> Variables:
    """The variables that a command sees before any config file is read.

    `options` are those of the command line that stand for variables.
    """
    layers: list[tuple[str, Mapping[str, str]]] = [*options, (ENVIRONMENT, dict(env))]
    if cwd is not None:
        _add(layers, cwd / ".env")
    known = Variables(tuple(layers))
    home = paths.home_dir(known)
    # Unlike everything else, this file is not looked for in a legacy state directory.
    folder = paths.state_dir_override(known, home) or home / paths.STATE_DIR_NAMES[0]
    _add(layers, folder / ".env")
    return Variables(tuple(layers))


def dotenv(text: str) -> dict[str, str]:
    """The assignments of a `.env` file; a later one of the same name wins."""
    found: dict[str, str] = {}
    for match in _ASSIGNMENT.finditer(text.replace("\r\n", "\n").replace("\r", "\n")):
        value = match["value"].strip()
        if value.startswith('"'):
            value = value.replace("\\n", "\n").replace("\\r", "\r")
        quoted = _QUOTED.fullmatch(value)
        found[match["name"]] = quoted[2] if quoted else value
    return found


def config_variables(block: object) -> dict[str, str]:
    """What an `env` block exports: its own strings before those under `vars`."""
    direct = block if isinstance(block, dict) else {}
    return {**_exported(direct.get("vars")), **_exported(direct)}


def with_login_shell(variables: Variables, block: object) -> Variables:
    """Keys that only the login shell knows, where `env.shellEnv` or its variable asks for them."""
    options = block.get("shellEnv") if isinstance(block, dict) else None
    options = options if isinstance(options, dict) else {}
    is_asked = variables.get("OPENCLAW_LOAD_SHELL_ENV", "").strip().lower() in _TRUE
    if not (options.get("enabled") is True or is_asked):
        return variables
    if any(variables.get(name, "").strip() for name in (*_SHELL_NAMES, *_SHELL_NAMES_OF_OTHERS)):
        return variables
    timeout_ms = options.get("timeoutMs") or variables.get("OPENCLAW_SHELL_ENV_TIMEOUT_MS")
    # Only the real environment says which shell, and what it sees: a folder's `.env` must not.
    env = next((values for place, values in variables.layers if place == ENVIRONMENT), {})
    found = _login_shell(env, timeout_s=_milliseconds(timeout_ms, 15_000) / 1000)
    wanted = {name: text for name in _SHELL_NAMES if (text := found.get(name, "").strip())}
    return variables.filled(wanted, LOGIN_SHELL)


def _login_shell(env: Mapping[str, str], *, timeout_s: float) -> dict[str, str]:
    import subprocess

    shell = env.get("SHELL", "").strip() or "/bin/sh"
    try:
        done = subprocess.run(
            [shell, "-l", "-c", "env -0"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    entries = done.stdout.decode("utf-8", "replace").split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def _exported(values: object) -> dict[str, str]:
    return {
        name: value
        for name, value in (values.items() if isinstance(values, dict) else ())
        if isinstance(value, str) and value.strip() and _is_allowed(name, value)
    }


def _is_allowed(name: str, value: str) -> bool:
    return not _LOADER_NAME.fullmatch(name) and "\0" not in value


def _milliseconds(value: object, default: int) -> float:
    try:
        number = float(value) if isinstance(value, int | float | str) else default
    except ValueError:
        return default
    return number if 0 < number < 3_600_000 else default


def _add(layers: list[tuple[str, Mapping[str, str]]], file: Path) -> None:
    try:
        data = regular_bytes(file, most=_MOST_BYTES)
    except (OSError, ValueError):
        return  # a missing or unreadable .env is no reason to stop
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    found = {name: value for name, value in dotenv(text).items() if "\0" not in value}
    if found:
        layers.append((os.fspath(file), found))
