"""A loopback embedding server for tests: it answers, records, checks, and misbehaves on request.

    with FakeProvider(dims=8, mode="words") as fake:
        fake.add_fault("rate_limit", retry_after=2, times=2)
        ...  # point the program at fake.base_url("openai"), with fake.key("openai")
        assert fake.count() == 3
        assert fake.violations() == []

It plays openai, mistral, voyage, gemini (also at the base `gemini-custom`) and a model hub:

        fake.job_states = ["in_progress", "completed"]  # what polls of a batch job say
        fake.add_fault("job_line_error", custom_id="4f0c", code=400)
        fake.models["user/repo/model.gguf"] = b"GGUF"  # at fake.base_url("hub")

From another process: `python -m tests.fake_provider --mode words --dims 8 --log requests.jsonl`
prints its port and base URLs, and takes JSON at `/__ctl/rules`, `/__ctl/jobs` and `/__ctl/hub`.
"""

from tests.fake_provider.batches import JobScript
from tests.fake_provider.faults import FOREVER, AnyKind, Kind, Rule
from tests.fake_provider.record import Recorded
from tests.fake_provider.server import FakeProvider
from tests.fake_provider.sockets import closed_port
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
    "closed_port",
    "golden_vector",
    "hash_vector",
    "unit",
    "word_vector",
]
