"""A loopback embedding server for tests: it answers, records, checks, and misbehaves on request.

    with FakeProvider(dims=8, mode="words") as fake:
        fake.add_fault("rate_limit", retry_after=2, times=2)
        ...  # point the program at fake.base_url("openai"), with fake.key("openai")
        assert fake.count() == 3
        assert fake.violations() == []

From another process: `python -m tests.fake_provider --mode words --dims 8 --log requests.jsonl`.
"""

from tests.fake_provider.batches import JobScript
from tests.fake_provider.faults import FOREVER, AnyKind, Kind, Rule
from tests.fake_provider.record import Recorded
from tests.fake_provider.server import FakeProvider
from tests.fake_provider.vectors import Mode, golden_vector, hash_vector, unit, word_vector

__all__ = [
    "FOREVER",
    "AnyKind",
    "FakeProvider",
    "JobScript",
    "Kind",
    "Mode",
    "Recorded",
    "Rule",
    "golden_vector",
    "hash_vector",
    "unit",
    "word_vector",
]
