"""One small search, worked through: the very scores that the reference printed for it."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ocmem.backends.builtin import BuiltinBackend
from ocmem.core.search import Wanted
from ocmem.model import Vector
from ocmem.settings import Overrides, resolve

FILES = {
    "MEMORY.md": "alpha router setup\n",
    "memory/2026-02-01.md": "alpha alpha beta\n",
    "memory/plan.md": "beta plan router\n",
    "memory/zz.md": "nothing here\n",
}
DATED, PLAN, ZZ = "memory/2026-02-01.md", "memory/plan.md", "memory/zz.md"
EXACT = 1e-15


class CountingEmbedder:
    """A vector is the number of `alpha`, the number of `beta`, and 1."""

    group_bytes = 8000
    concurrency = 1

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        return [self.embed_query(text, timeout_s=timeout_s) for text in texts]

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        words = re.findall(r"\w+", text)
        return [float(words.count("alpha")), float(words.count("beta")), 1.0]


def results(
    home: Path,
    asked: str,
    *,
    max_results: int = 6,
    min_score: float = 0.0,
    **memory_search: object,
) -> list[tuple[str, float]]:
    """Index the four files under these settings, search, and give (path, score) in order."""
    workspace = home / "workspace"
    for name, text in FILES.items():
        file = workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    remote = {"baseUrl": "http://127.0.0.1:1/v1", "apiKey": "test-key"}
    search = {"provider": "openai", "remote": remote, **memory_search}
    defaults: dict[str, Any] = {"workspace": str(workspace), "memorySearch": search}
    config = home / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": defaults}}), encoding="utf-8")
    env = {"HOME": str(home), "OCMEM_CONFIG": str(home / "absent.json5")}
    settings = resolve(Overrides(state_dir=str(home / "state"), config=str(config)), env=env)
    backend = BuiltinBackend(settings, embedder=CountingEmbedder())
    backend.index(force=True, wait_s=0)
    configured = settings.search.query
    wanted = Wanted(
        query=asked,
        max_results=max_results,
        min_score=min_score,
        fused_min_score=None,
        ranker="openclaw",
        strict=True,
        half_life_days=None,
        mmr_lambda=configured.mmr_lambda if configured.mmr else None,
        sources=settings.search.sources,
        snippet=None,
        now_ms=0.0,
    )
    return [(hit.chunk.path, hit.score) for hit in backend.search(wanted, sync=False).hits]


def assert_same(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> None:
    assert [path for path, _ in found] == [path for path, _ in expected]
    scores = [score for _, score in expected]
    assert [score for _, score in found] == pytest.approx(scores, rel=0, abs=EXACT)


DEFAULT = [
    ("MEMORY.md", 0.9999999999999998),
    (DATED, 0.6062177821993827),
    (ZZ, 0.49497473835945127),
    (PLAN, 0.35),
]


def test_by_default_meaning_and_keywords_are_weighed_seven_to_three(tmp_path: Path) -> None:
    assert_same(results(tmp_path, "alpha router"), DEFAULT)


def test_the_last_result_just_passes_the_default_floor(tmp_path: Path) -> None:
    assert_same(results(tmp_path, "alpha router", min_score=0.35), DEFAULT)


def test_without_the_vector_store_the_cosines_are_those_of_doubles(tmp_path: Path) -> None:
    found = results(tmp_path, "alpha router", store={"vector": {"enabled": False}})

    assert_same(
        found,
        [
            ("MEMORY.md", 0.9999999999999998),
            (DATED, 0.6062177826491071),
            (ZZ, 0.4949747468305832),
            (PLAN, 0.3499999999999999),
        ],
    )


def test_without_the_vector_store_the_last_result_just_fails_the_default_floor(
    tmp_path: Path,
) -> None:
    off = {"vector": {"enabled": False}}

    found = results(tmp_path, "alpha router", min_score=0.35, store=off)

    assert [path for path, _ in found] == ["MEMORY.md", DATED, ZZ]


def test_without_hybrid_the_cosine_is_the_score(tmp_path: Path) -> None:
    found = results(tmp_path, "alpha router", query={"hybrid": {"enabled": False}})

    assert_same(
        found,
        [
            ("MEMORY.md", 0.9999999999999998),
            (DATED, 0.8660254031419754),
            (ZZ, 0.7071067690849304),
            (PLAN, 0.5),
        ],
    )


def test_diversity_changes_the_order_and_not_the_scores(tmp_path: Path) -> None:
    mmr = {"mmr": {"enabled": True, "lambda": 0.5}}

    found = results(tmp_path, "alpha router", query={"hybrid": mmr})

    scores = dict(DEFAULT)
    assert_same(found, [(path, scores[path]) for path in ("MEMORY.md", ZZ, DATED, PLAN)])


def test_equal_weights_count_half_each(tmp_path: Path) -> None:
    weights = {"vectorWeight": 1, "textWeight": 1}

    found = results(tmp_path, "alpha router", max_results=2, query={"hybrid": weights})

    assert_same(found, [("MEMORY.md", 0.9999999999999999), (DATED, 0.4330127015709877)])


def test_two_notes_with_the_same_word_tie(tmp_path: Path) -> None:
    found = results(tmp_path, "router")

    assert {path for path, _ in found[:2]} == {PLAN, "MEMORY.md"}
    assert_same(
        sorted(found[:2]) + found[2:],
        [
            ("MEMORY.md", 0.7949747383594512),
            (PLAN, 0.7949747383594512),
            (ZZ, 0.7),
            (DATED, 0.2857738137245178),
        ],
    )
