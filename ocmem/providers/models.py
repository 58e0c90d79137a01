"""Which file a configured model means: its name in the models directory, and its web address.

The names are those under which OpenClaw keeps what it downloaded, so that both share one copy.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from ocmem.errors import EmbedderError
from ocmem.settings.paths import Env

HUB = "https://huggingface.co/"
_PREFIXES = ("hf://", "huggingface://", "hf:", "huggingface:", "hf.co/", "huggingface.co/")
_MAIN = "main"
_USUAL_QUANT = "Q4_K_M"
_QUANT = re.compile(r"[-._](I?Q\d(?:_[A-Z0-9]+)*|BF16|F16|F32|MXFP4)$", re.IGNORECASE)
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
_ANY_COUNT = "-00001-of-?????.gguf"
_RESERVED = re.compile('[<>:"/\\\\|?*\x00-\x1f\x80-\x9f]+')
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class WebFile:
    """A model file of one part, or one part of several."""

    name: str
    url: str

    def parts(self) -> list["WebFile"]:
        """All parts of a model that was split, in order; otherwise itself alone."""
        match = _PART.search(self.name)
        if match is None:
            return [self]
        old = match.group()
        count = int(match[2])
        return [
            WebFile(self.name.removesuffix(old) + new, self.url.replace(old, new))
            for new in (f"-{at:05}-of-{count:05}.gguf" for at in range(1, count + 1))
        ]


@dataclass(frozen=True, slots=True)
class WebRepository:
    """A model by the name of its repository; which file that is, the hub's manifest says."""

    hub: str
    user: str
    repo: str
    tag: str  # a quantisation; empty for the hub's own choice

    @property
    def manifest_url(self) -> str:
        path = "/".join(map(_quoted, (self.user, self.repo, "manifests", self.tag or "latest")))
        return f"{self.hub}v2/{path}"

    @property
    def names(self) -> list[str]:
        """Patterns of the names under which it may be here already."""
        bases = [f".{self.tag.upper()}"] if self.tag else [f".{_USUAL_QUANT}", ""]
        return [self._base + base + end for base in bases for end in (".gguf", _ANY_COUNT)]

    def file(self, path: str) -> WebFile:
        """The file that the manifest named."""
        match = _PART.search(path)
        end = match.group() if match else ".gguf"
        quant = f".{self.tag.upper()}" if self.tag else _quant_of(path.removesuffix(end))
        address = "/".join(map(_quoted, (self.user, self.repo, "resolve", _MAIN)))
        url = f"{self.hub}{address}/{quote(path)}?download=true"
        return WebFile(self._base + quant + end, url)

    @property
    def _base(self) -> str:
        is_suffixed = self.repo.lower().endswith("-gguf")
        base = _filename(self.repo[: -len("-gguf")] if is_suffixed else self.repo)
        return _prefix(self.user, self.repo, _MAIN, [], f"{base}.gguf") + base


def parse(text: str, *, hub: str = HUB) -> WebFile | WebRepository | None:
    """What a model's URI or URL stands for; None for the path of a file."""
    prefix = next((prefix for prefix in _PREFIXES if text.startswith(prefix)), None)
    if prefix is not None:
        return _hub_model(text.removeprefix(prefix), text, hub)
    if text.lower().startswith(("http:", "https:")):
        return _web_file(text)
    return None


def candidates(text: str, *, directory: Path) -> list[Path]:
    """Where a model that is given as a path may be, best first."""
    # Below the models directory, as in OpenClaw; where we are, as its automatic choice has it.
    return [directory / text, Path(text).absolute()]


def find(names: list[str], *, directory: Path) -> Path | None:
    """The first part of a model that is completely in the directory."""
    for name in names:
        found = [directory / name]
        if name.endswith(_ANY_COUNT):
            found = sorted(directory.glob(escape(name.removesuffix(_ANY_COUNT)) + _ANY_COUNT))
        for path in found:
            parts = WebFile(path.name, "").parts()
            if all((directory / part.name).is_file() for part in parts):
                return directory / parts[0].name
    return None


def hub_of(env: Env) -> str:
    """The hub's address, with a slash at its end."""
    given = env.get("MODEL_ENDPOINT", "").strip() or env.get("HF_ENDPOINT", "").strip()
    return f"{given.rstrip('/')}/" if given else HUB


def token_of(env: Env, *, home: Path) -> str:
    """The hub's token: from the environment, or from where the hub's own tools keep it."""
    return env.get("HF_TOKEN", "").strip() or next(_stored_tokens(env, home), "")


def directory_of(model_cache_dir: str | None, *, home: Path) -> Path:
    """Where models are kept; OpenClaw's own place unless configured."""
    given = (model_cache_dir or "").strip()
    return Path(given).absolute() if given else home / ".node-llama-cpp" / "models"


def _stored_tokens(env: Env, home: Path) -> Iterator[str]:
    cache = env.get("XDG_CACHE_HOME", "").strip() or home / ".cache"
    folder = env.get("HF_HOME", "").strip() or Path(cache) / "huggingface"
    for path in (env.get("HF_TOKEN_PATH", "").strip(), Path(folder) / "token"):
        try:
            token = Path(path).read_text(encoding="utf-8").strip() if path else ""
        except (OSError, ValueError):
            continue
        if token:
            yield token


def _hub_model(rest: str, text: str, hub: str) -> WebFile | WebRepository:
    user, _, rest = rest.partition("/")
    repo, _, path = rest.partition("/")
    if not user or not repo or repo.startswith(":"):
        raise EmbedderError(f"Invalid Hugging Face URI: {text}")
    if not path or ":" in repo:
        repo, _, tag = repo.partition(":")
        return WebRepository(hub, user, repo, tag.strip())
    path, _, branch = path.partition("#")
    if not path:
        raise EmbedderError(f"Invalid Hugging Face URI: {text}")
    return _hub_file(hub, user, repo, branch or _MAIN, path)


def _hub_file(hub: str, user: str, repo: str, branch: str, path: str) -> WebFile:
    *folders, last = path.split("/")
    name = _gguf_name(last)
    address = "/".join(map(_quoted, (user, repo, "resolve", branch)))
    url = f"{hub}{address}/{'/'.join(map(_quoted, path.split('/')))}?download=true"
    return WebFile(_prefix(user, repo, branch, folders, name) + name, url)


def _web_file(url: str) -> WebFile:
    parts = urlsplit(url)
    if not parts.hostname:
        raise EmbedderError("Invalid URL: not a web address", hint="see local.modelPath")
    if parts.username is not None or parts.password is not None:
        raise EmbedderError("Invalid URL: must not hold a user name or password")
    path = [unquote(part) for part in parts.path.split("/")[1:]]
    is_hub = parts.hostname in ("huggingface.co", "hf.co") and len(path) > 4
    if is_hub and path[2] in ("resolve", "blob"):
        user, repo, _, branch, *rest = path
        return _hub_file(f"{parts.scheme}://{parts.netloc}/", user, repo, branch, "/".join(rest))
    return WebFile(_gguf_name(path[-1] if path else ""), url)


def _prefix(user: str, repo: str, branch: str, folders: list[str], name: str) -> str:
    parts = ["hf", _filename(user)]
    if branch != _MAIN or not _is_named_after(name, repo):
        parts.append(_filename(repo))
    if branch != _MAIN:
        parts.append(_filename(branch))
    stems = {name[: -len(".gguf")].lower(), _PART.sub("", name).lower()}
    if folders and folders[-1].lower() in stems:
        folders = folders[:-1]
    if folders:
        parts.append(_filename("__".join(folders)))
    return "_".join(parts) + "_"


def _is_named_after(name: str, repo: str) -> bool:
    if not repo.lower().endswith("-gguf") or not name.lower().endswith(".gguf"):
        return False
    return name[: -len(".gguf")].lower().startswith(repo[: -len("-gguf")].lower())


def _gguf_name(text: str) -> str:
    head, dot, tail = text.lower().partition(".gguf")
    if tail.startswith(".part"):
        raise EmbedderError(
            f"the model is cut in pieces: {text}", hint="join them into one file, and name that"
        )
    name = _filename(text[: len(head) + len(dot)])
    return name if dot else f"{name or 'model'}.gguf"


def _quant_of(path: str) -> str:
    if _USUAL_QUANT.lower() in path.lower():
        return f".{_USUAL_QUANT}"
    match = _QUANT.search(path)
    return f".{match[1].upper()}" if match else ""


def _filename(text: str) -> str:
    """`text` as one component of a path that every system accepts."""
    text = _RESERVED.sub("!", unicodedata.normalize("NFD", text))
    if re.fullmatch(r"\.+", text):
        return "!"
    stem, dot, end = text.rpartition(".")
    if len(text) > _LONGEST_NAME and dot:
        return f"{stem[: max(1, _LONGEST_NAME - len(end) - 1)]}.{end}"
    return text[:_LONGEST_NAME]


def _quoted(text: str) -> str:
    return quote(text, safe="!'()*")
