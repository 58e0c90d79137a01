"""`ocmem warmup` where QMD is the backend."""

import time
from dataclasses import replace

from ocmem.backends.qmd.backend import QmdBackend
from ocmem.backends.qmd.sessions import Exporter
from ocmem.cli import common
from ocmem.cli.common import Given
from ocmem.core.warmup import Warmup
from ocmem.errors import OcmemError, QmdError
from ocmem.settings import Settings

PROBE = "test"
_WAIT_S = 600.0  # for another run that holds the index
_PATIENCE_MS = 600_000  # models that are loaded for the first time


def warmed(settings: Settings, given: Given) -> Warmup:
    """What a first search would wait for: collections, models, vectors, and one search."""
    progress = common.ProgressLine(is_quiet=bool(given.get("quiet")))
    warmup = Warmup(settings, progress.notice, progress)
    backend = QmdBackend(settings)
    backend.retry()
    warmup.step("qmd", lambda: _found(backend))
    if backend.qmd.mode != "search":
        warmup.step("models", lambda: _fetched(backend, is_offline=settings.offline))
    warmup.step("update", lambda: _updated(backend))
    warmup.step("search", lambda: _searched(backend, _PATIENCE_MS))
    if backend.qmd.mode != "search":  # the first one has loaded the models
        warmup.step("again", lambda: _searched(backend, backend.qmd.limits.timeout_ms))
    return warmup


def _found(backend: QmdBackend) -> str:
    facts = backend.status(asks_version=True)
    if facts.trouble is not None:
        raise facts.trouble
    return f"{facts.version} ({facts.location})"


def _fetched(backend: QmdBackend, *, is_offline: bool) -> str:
    if backend.status().has_models:
        return "on this machine"
    if is_offline:
        raise QmdError(
            "QMD's models are not on this machine, and --offline fetches none",
            cause="models",
            hint="searchMode: search needs none",
        )
    backend.fetch_models(wait_s=_WAIT_S)
    if not backend.status().has_models:
        models = backend.settings.shown(backend.qmd.models)
        raise QmdError(f"QMD fetched its models, but there are none in {models}", cause="models")
    return "fetched"


def _updated(backend: QmdBackend) -> str:
    export = Exporter(backend.settings, time.time() * 1000)
    report = backend.index(force=True, wait_s=_WAIT_S, export=export, command="warmup")
    for text in report.warnings:
        common.warn(text)
    told = f"{report.counts.total} documents"
    if backend.qmd.mode != "search" and report.pending:
        raise QmdError(f"{report.pending} of {told} have no vectors", cause="models")
    return told


def _searched(backend: QmdBackend, timeout_ms: int) -> str:
    configured = backend.qmd
    limits = replace(configured.limits, timeout_ms=timeout_ms)
    backend.qmd = replace(configured, limits=limits)
    try:
        return f"{len(backend.search(PROBE).hits)} results"
    except OcmemError:
        backend.retry()  # whoever searches next may find out for themselves
        raise
    finally:
        backend.qmd = configured
