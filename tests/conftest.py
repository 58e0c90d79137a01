"""Options of the whole suite."""

import hypothesis
import pytest

# Laws take as long as the disk and the neighbours do: speed is for the benchmarks to judge.
hypothesis.settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the program prints into tests/golden/cli; review the difference",
    )
