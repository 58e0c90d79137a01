"""How texts are grouped, sent and accounted for, whatever the provider."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocmem.core.embedder import embed_groups, groups_of, identity_of
from ocmem.errors import EmbedderError
from ocmem.model import Vector
from ocmem.settings import Endpoint, ProviderChoice

OPENAI_URL = "https://api.openai.com/v1"


@dataclass
class LengthEmbedder:
    """A vector is a text's length. Fails on request, and can hold calls until all have begun."""

    concurrency: int = 1
    group_bytes: int = 8000
    failing: frozenset[str] = frozenset()
    barrier: threading.Barrier | None = None
    calls: list[tuple[str, ...]] = field(default_factory=list)
    timeouts: list[float] = field(default_factory=list)

    def embed_documents(self, texts: Sequence[str], *, timeout_s: float) -> list[Vector]:
        self.calls.append(tuple(texts))
        self.timeouts.append(timeout_s)
        if self.barrier is not None:
            self.barrier.wait(timeout=10)
        if self.failing & {*texts}:
            raise EmbedderError(f"refused: {texts[0]}")
        return [[float(len(text))] for text in texts]

    def embed_query(self, text: str, *, timeout_s: float) -> Vector:
        return self.embed_documents([text], timeout_s=timeout_s)[0]


def openai(base_url: str = OPENAI_URL, key: str = "k", **headers: str) -> ProviderChoice:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return ProviderChoice(
        "openai", "openai", "text-embedding-3-small", endpoint=Endpoint(base_url, given, key)
    )


def test_texts_share_a_call_until_it_is_full() -> None:
    texts = ["a" * 40, "b" * 60, "c", "d" * 99, "e"]

    assert groups_of(texts, group_bytes=100) == [[0, 1], [2, 3], [4]]


def test_a_text_over_the_limit_goes_alone() -> None:
    texts = ["a", "b" * 101, "c", "d"]

    assert groups_of(texts, group_bytes=100) == [[0], [1], [2, 3]]


def test_a_leading_text_over_the_limit_leaves_no_empty_group() -> None:
    assert groups_of(["x" * 101, "y"], group_bytes=100) == [[0], [1]]
    assert groups_of([], group_bytes=100) == []


def test_a_group_is_measured_in_utf8_bytes() -> None:
    assert groups_of(["漢" * 20, "漢" * 14], group_bytes=100) == [[0], [1]]
    assert groups_of(["漢" * 20, "漢" * 13], group_bytes=100) == [[0, 1]]


@given(texts=st.lists(st.text(max_size=20), max_size=30), group_bytes=st.integers(1, 60))
@settings(max_examples=100, deadline=None)
def test_groups_keep_order_and_none_could_take_its_neighbour(
    texts: list[str], group_bytes: int
) -> None:
    groups = groups_of(texts, group_bytes=group_bytes)

    size = [len(text.encode()) for text in texts]
    assert [at for group in groups for at in group] == [*range(len(texts))]
    assert all(len(g) == 1 or sum(size[at] for at in g) <= group_bytes for g in groups)
    for before, after in pairwise(groups):
        assert sum(size[at] for at in before) + size[after[0]] > group_bytes


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (openai(), "c03eebd0dbf911b9e937d66411651b4976ddde97fb3a820da68c2176068e449d"),
        (
            openai("http://127.0.0.1:18951/v1"),
            "bb4b656d96da715111eff5191b0968457af9c874ad9d540a802ca34980dbb299",
        ),
        (
            openai("http://127.0.0.1:18951/v1/", X_Org="o1", accept_x="z"),
            "90d0defccaa5e5865e9c8e113c52582566179390b2c290c79d971e21683543c1",
        ),
        (
            ProviderChoice("voyage", "voyage", "voyage-4-large"),
            "f76b05d4400af8e72c62ebb5b848b18ee4c12ac85b3a6a8c28f2ae03f1310aff",
        ),
        (
            ProviderChoice("none", "auto", "fts-only"),
            "b2f409223dd1bd19cedee3332de54748a5f323765d4cdcbbb29295199cfde125",
        ),
    ],
)
def test_an_identity_has_the_provider_key_of_the_reference(
    choice: ProviderChoice, expected: str
) -> None:
    identity = identity_of(choice)

    assert identity.cache_key.provider_key == expected
    assert (identity.provider, identity.model) == (choice.id, choice.model)


def test_a_credential_is_no_part_of_an_identity() -> None:
    plain = identity_of(openai())

    assert identity_of(openai(key="another")) == plain
    assert identity_of(openai(AUTHORIZATION="Bearer x")) == plain
    assert identity_of(openai(X_Api_Key="x")) != plain
    assert identity_of(openai(OPENAI_URL + "/")) != plain


@pytest.mark.parametrize(
    ("provider", "max_bytes", "has_vectors", "costs"),
    [
        ("openai", 8000, True, True),
        ("voyage", 8000, True, True),
        ("mistral", 8000, True, True),
        ("gemini", 2048, True, True),
        ("local", 2048, True, True),
        ("builtin", 8000, True, False),
        ("none", 8000, False, False),
    ],
)
def test_an_identity_knows_limits_and_costs(
    provider: str, max_bytes: int, has_vectors: bool, costs: bool
) -> None:
    identity = identity_of(ProviderChoice(provider, provider, "m"))

    assert identity.max_bytes == max_bytes
    assert identity.has_vectors is has_vectors
    assert identity.costs is costs


@pytest.mark.parametrize("concurrency", [1, 3, 50])
def test_every_group_comes_back_once_with_its_own_vectors(concurrency: int) -> None:
    groups = [["a" * n, "b" * (n + 1)] for n in range(20)]
    embedder = LengthEmbedder(concurrency=concurrency)

    answers = list(embed_groups(embedder, groups, timeout_s=60))

    assert sorted(answers) == [(n, [[float(n)], [float(n + 1)]]) for n in range(20)]
    assert len(embedder.calls) == 20


@pytest.mark.parametrize("concurrency", [1, 4])
def test_no_groups_make_no_call(concurrency: int) -> None:
    embedder = LengthEmbedder(concurrency=concurrency)

    assert list(embed_groups(embedder, [], timeout_s=60)) == []
    assert embedder.calls == []


def test_calls_run_at_the_same_time() -> None:
    embedder = LengthEmbedder(concurrency=3, barrier=threading.Barrier(3))

    answers = list(embed_groups(embedder, [["a"], ["bb"], ["ccc"]], timeout_s=60))

    assert sorted(answers) == [(0, [[1.0]]), (1, [[2.0]]), (2, [[3.0]])]


def test_a_failure_stops_the_calls_that_would_follow_one_by_one() -> None:
    embedder = LengthEmbedder(failing=frozenset({"bb"}))
    answers = []

    with pytest.raises(EmbedderError, match="refused: bb"):
        for answer in embed_groups(embedder, [["a"], ["bb"], ["ccc"]], timeout_s=60):
            answers.append(answer)  # noqa: PERF402

    assert answers == [(0, [[1.0]])]
    assert embedder.calls == [("a",), ("bb",)]


def test_what_was_paid_for_is_handed_over_before_the_failure_is_raised() -> None:
    embedder = LengthEmbedder(concurrency=2, failing=frozenset({"a"}), barrier=threading.Barrier(2))
    answers = []

    with pytest.raises(EmbedderError, match="refused: a"):
        for answer in embed_groups(embedder, [["a"], ["bb"]], timeout_s=60):
            answers.append(answer)  # noqa: PERF402

    assert answers == [(1, [[2.0]])]


def test_no_new_call_is_made_after_a_failure() -> None:
    groups = [["a"], ["bb"], ["ccc"], ["dddd"]]
    embedder = LengthEmbedder(
        concurrency=2, failing=frozenset({"a", "bb"}), barrier=threading.Barrier(2)
    )

    with pytest.raises(EmbedderError, match="refused"):
        list(embed_groups(embedder, groups, timeout_s=60))

    assert sorted(embedder.calls) == [("a",), ("bb",)]


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_deadline_shortens_the_time_a_call_may_take(concurrency: int) -> None:
    embedder = LengthEmbedder(concurrency=concurrency)
    deadline = time.monotonic() + 30

    list(embed_groups(embedder, [["a"], ["b"]], timeout_s=60, deadline=deadline))

    assert len(embedder.timeouts) == 2
    assert all(0 < allowed <= 30 for allowed in embedder.timeouts)


def test_a_call_that_needs_less_than_the_deadline_keeps_its_own_limit() -> None:
    embedder = LengthEmbedder()

    list(embed_groups(embedder, [["a"]], timeout_s=2, deadline=time.monotonic() + 1000))

    assert embedder.timeouts == [2]


@pytest.mark.parametrize("concurrency", [1, 2])
def test_no_call_is_made_after_the_deadline(concurrency: int) -> None:
    embedder = LengthEmbedder(concurrency=concurrency)
    past = time.monotonic() - 1

    with pytest.raises(EmbedderError, match="used up"):
        list(embed_groups(embedder, [["a"], ["b"]], timeout_s=60, deadline=past))

    assert embedder.calls == []
