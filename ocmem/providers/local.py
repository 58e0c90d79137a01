"""A GGUF model on this machine, run by llama.cpp in this process; fetched once if need be."""

import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ocmem.core import utf16
from ocmem.core.embedder import Notice, Progress, no_notice
from ocmem.errors import EmbedderError
from ocmem.model import Vector
from ocmem.providers import gguf, llama, models
from ocmem.providers.models import WebFile, WebRepository
from ocmem.settings import Settings
from ocmem.settings.address import shown_url
from ocmem.settings.provider import local_guidance

MOST_TOKENS = 4096  # a chunk has at most 2048 bytes; room for more would be memory for nothing
_ENCODER_DECODERS = ("t5",)
_TINY = 1e-10
_DOWNLOAD_S = 60.0  # who has less time than this does not wait for a download
_MANIFEST_AGENT = "llama-cpp"  # without this word the hub leaves out which file it means
_MEGABYTE = 1_000_000

Load = Callable[[Path], tuple[llama.Engine, int]]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The configured model, and how to come by its file."""

    text: str  # as configured: a path, an `hf:` URI or a URL
    directory: Path
    hub: str
    token: str = field(repr=False)
    is_offline: bool
    notice: Notice
    progress: Progress | None  # None: nobody watches, so nothing is downloaded

    def path(self, *, is_hurried: bool) -> Path:
        """The file's path; what is here is used without asking anybody."""
        wanted = models.parse(self.text, hub=self.hub)
        try:
            here = self._here(wanted)
        except OSError as error:
            raise EmbedderError(f"{error.filename} cannot be read: {error.strerror}") from error
        return here or self._fetched(wanted, is_hurried=is_hurried)

    def _here(self, wanted: WebFile | WebRepository | None) -> Path | None:
        if wanted is None:
            places = models.candidates(self.text, directory=self.directory)
            return next((place for place in places if place.is_file()), None)
        names = wanted.names if isinstance(wanted, WebRepository) else [wanted.name]
        return models.find(names, directory=self.directory)

    def _fetched(self, wanted: WebFile | WebRepository | None, *, is_hurried: bool) -> Path:
        if wanted is None:
            place, *_ = models.candidates(self.text, directory=self.directory)
            raise EmbedderError(f'No model file found at "{place}"', hint=_SEE_PATH)
        absent = f"the model {shown_url(self.text)} is not in {self.directory}"
        if self.is_offline:
            raise EmbedderError(f"--offline: {absent}, and was not downloaded", hint=_BY_HAND)
        if is_hurried or self.progress is None:
            raise EmbedderError(f"{absent} yet", hint="download it by: ocmem index")
        from ocmem.providers import download, web

        if isinstance(wanted, WebRepository):
            manifest = web.Place(wanted.manifest_url, self.token)
            answer = web.fetch_small(manifest, user_agent=_MANIFEST_AGENT)
            wanted = wanted.file(_file_named_in(answer, manifest.shown))
        parts = wanted.parts()
        missing = [part for part in parts if not (self.directory / part.name).is_file()]
        for part in missing:
            is_hub = part.url.startswith(self.hub)
            self.notice(f"downloading {part.url.partition('?')[0]} to {self.directory}")
            download.fetch(
                web.Place(part.url, self.token if is_hub else ""),
                self.directory / part.name,
                report=_in_megabytes(self.progress, f"Downloading {part.name}, MB"),
                notice=self.notice,
            )
        return self.directory / parts[0].name


class LocalEmbedder:
    """Loads its model at the first embedding, and then keeps it."""

    group_bytes = 8000
    concurrency = 1  # one model, which uses all the cores it may

    def __init__(self, file: ModelFile, load: Load) -> None:
        self._file = file
        self._load = load
        self._loaded: tuple[llama.Engine, int] | None = None
        self._lock = threading.Lock()

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        return self._embed(texts, timeout_s=timeout_s, what="batch") if texts else []

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        return self._embed([text], timeout_s=timeout_s, what="query")[0]

    def fetch(self) -> Path:
        """The model's file, downloaded if it is not here yet."""
        return self._file.path(is_hurried=False)

    def _embed(self, texts: Sequence[str], *, timeout_s: float, what: str) -> list[Vector]:
        with self._lock:
            if self._loaded is None:
                path = self._file.path(is_hurried=timeout_s < _DOWNLOAD_S)
                self._loaded = self._load(path)
            engine, context = self._loaded
            deadline = time.monotonic() + timeout_s
            vectors: list[Vector] = []
            # One by one: in between there is a moment for the clock and for Ctrl-C.
            for text in texts:
                if time.monotonic() > deadline:
                    late = f"memory embeddings {what} timed out after {round(timeout_s, 1):g}s"
                    raise EmbedderError(late)
                vectors.append(_vector(engine, context, text))
            return vectors


def connect(
    settings: Settings, *, notice: Notice = no_notice, progress: Progress | None = None
) -> LocalEmbedder:
    local = settings.search.local
    file = ModelFile(
        text=settings.provider.model,
        directory=models.directory_of(local.model_cache_dir, home=settings.home),
        hub=models.hub_of(settings.env),
        token=models.token_of(settings.env, home=settings.home),
        is_offline=settings.offline,
        notice=notice,
        progress=progress,
    )
    return LocalEmbedder(file, load)


def load(path: Path) -> tuple[llama.Engine, int]:
    """The model in a file, and how many tokens it takes at once."""
    head = gguf.read_head(path)
    if head.architecture in _ENCODER_DECODERS:
        raise EmbedderError("Computing embeddings is not supported for encoder-decoder models.")
    if head.pooling == llama.POOLING_RANK:
        raise EmbedderError(f"{path} ranks texts, it does not embed them")
    context = min(head.context_length or MOST_TOKENS, MOST_TOKENS)
    # Where the file names no pooling, the last token's vector counts, as in OpenClaw.
    is_pooled = head.pooling > llama.POOLING_NONE
    try:
        engine = llama.load(
            path,
            context=context,
            threads=llama.usable_threads(),
            pooling=llama.MODEL_POOLING if is_pooled else llama.POOLING_LAST,
        )
    except ImportError as error:
        raise EmbedderError(local_guidance(f"xllamacpp cannot be loaded: {error}")) from error
    return engine, context


def normalized(values: Sequence[float]) -> Vector:
    """Of length one, with zeros for what is not finite; next to nothing is left as it is."""
    finite = [value if math.isfinite(value) else 0.0 for value in values]
    norm = math.sqrt(sum(value * value for value in finite))
    return finite if norm < _TINY else [value / norm for value in finite]


_SEE_PATH = "see local.modelPath; a relative path starts at local.modelCacheDir"
_BY_HAND = "download it once without --offline, or put the file there by hand"


def _vector(engine: llama.Engine, context: int, text: str) -> Vector:
    tokens = engine.tokenize(utf16.well_formed(text))
    if len(tokens) > context:
        raise EmbedderError(
            "Input is longer than the context size. Try to increase the context size or use "
            "another model that supports longer contexts.",
            hint=f"this model takes {context} tokens, the text has {len(tokens)}; "
            "for notes, lower chunking.tokens",
        )
    return normalized(engine.embed(tokens)) if tokens else []


def _file_named_in(manifest: bytes, where: str) -> str:
    try:
        name = json.loads(manifest)["ggufFile"]["rfilename"]
    except (ValueError, LookupError, TypeError):
        name = None
    if not isinstance(name, str) or not name:
        raise EmbedderError(f"{where} names no GGUF file", hint="name one: hf:user/repo/file.gguf")
    return name


def _in_megabytes(progress: Progress, label: str) -> Callable[[int, int], None]:
    shown = -1

    def report(done: int, total: int) -> None:
        nonlocal shown
        if done // _MEGABYTE != shown:
            shown = done // _MEGABYTE
            progress(label, shown, (total or done) // _MEGABYTE)

    return report
