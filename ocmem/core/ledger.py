"""Batch jobs under way, remembered beside the index: what was paid for is fetched, not repeated."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from ocmem.core import embedder, utf16
from ocmem.core.jobs import ledger_path
from ocmem.core.store.rows import CacheKey
from ocmem.errors import IndexReadOnly
from ocmem.model import Pending
from ocmem.settings import ProviderChoice, Settings

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose vectors a job brings, and a hash of where it runs: Voyage's key does not say that."""

    cache_key: CacheKey
    endpoint: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One job. `chunks` has the hash of each text by its custom id."""

    id: str
    owner: Owner
    created_ms: int
    chunks: dict[str, str]


class Ledger:
    """The list of one index. Whoever writes it holds the lock of the index."""

    def __init__(self, path: Path, entries: list[Entry]) -> None:
        self.path = path
        self.entries = entries

    def of(self, owner: Owner) -> list[Entry]:
        return [entry for entry in self.entries if entry.owner == owner]

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.save()

    def remove(self, entry: Entry) -> None:
        self.entries = [other for other in self.entries if other is not entry]
        self.save()

    def save(self) -> None:
        """Replace the file at once; without entries there is none."""
        new = self.path.with_name(f"{self.path.name}.new")
        try:
            if not self.entries and not self.path.exists():
                return
            if not self.entries:
                self.path.unlink()
                return
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with open(os.open(new, flags, 0o600), "w") as file:  # noqa: PTH123 - not a path
                json.dump({"version": _VERSION, "jobs": list(map(_json, self.entries))}, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
        except OSError as error:
            raise IndexReadOnly(f"{self.path} cannot be written: {error.strerror}") from error


def read(path: Path) -> list[Entry] | None:
    """What is on the list; None if it cannot be understood."""
    try:
        found = json.loads(path.read_text())
        if found["version"] != _VERSION:
            return None
        return [_entry(job) for job in found["jobs"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def put_aside(path: Path) -> Path:
    """Move a list that nobody can read out of the way; nothing is deleted."""
    aside = path.with_name(f"{path.name}.broken-{time.strftime('%Y%m%d-%H%M%S')}")
    try:
        path.replace(aside)
    except OSError as error:
        raise IndexReadOnly(f"{path} cannot be moved: {error.strerror}") from error
    return aside


def owner_of(choice: ProviderChoice) -> Owner:
    where = choice.endpoint.base_url if choice.endpoint is not None else ""
    return Owner(embedder.identity_of(choice).cache_key, utf16.sha256(where))


def pending(settings: Settings) -> Pending | None:
    """What is under way for the provider in use, by the list alone; nothing is changed."""
    mine = Ledger(Path(), read(ledger_path(settings.index_path)) or []).of(
        owner_of(settings.provider)
    )
    return Pending(len(mine), sum(len(entry.chunks) for entry in mine)) if mine else None


def _json(entry: Entry) -> dict[str, object]:
    return {
        "provider": entry.owner.cache_key.provider,
        "model": entry.owner.cache_key.model,
        "providerKey": entry.owner.cache_key.provider_key,
        "endpoint": entry.owner.endpoint,
        "id": entry.id,
        "createdAt": entry.created_ms,
        "chunks": entry.chunks,
    }


def _entry(job: dict[str, object]) -> Entry:
    names = [job[key] for key in ("provider", "model", "providerKey", "endpoint", "id")]
    chunks = job["chunks"]
    if not isinstance(chunks, dict):
        raise TypeError("chunks")
    texts = [*names, *chunks, *chunks.values()]
    created = job["createdAt"]
    if not all(isinstance(text, str) for text in texts) or not isinstance(created, int):
        raise TypeError("a job")
    provider, model, provider_key, endpoint, id = map(str, names)
    owner = Owner(CacheKey(provider, model, provider_key), endpoint)
    return Entry(id, owner, created, chunks)
