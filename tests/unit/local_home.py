"""Settings that name a local model, and how a call with it fails."""

import json
from pathlib import Path

import pytest

from ocmem.core.embedder import Embedder
from ocmem.errors import EmbedderError
from ocmem.settings import Overrides, Settings, resolve

TIMEOUT_S = 600.0
TEXT = "the dentist is at the harbour"


def settings_of(
    folder: Path, model: str | Path = "", *, offline: bool = False, **env: str
) -> Settings:
    search = {"provider": "local", "local": {"modelPath": str(model)} if model else {}}
    config = folder / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": {"memorySearch": search}}}))
    names = {"HOME": str(folder), "OPENCLAW_CONFIG_PATH": str(config)}
    own = {"OCMEM_CONFIG": str(folder / "ocmem.json")}
    return resolve(Overrides(offline=offline), names | own | env)


def failure(embedder: Embedder, text: str = TEXT, timeout_s: float = TIMEOUT_S) -> EmbedderError:
    with pytest.raises(EmbedderError) as caught:
        embedder.embed_query(text, timeout_s=timeout_s)
    return caught.value
