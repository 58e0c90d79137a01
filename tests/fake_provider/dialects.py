"""What a wire format is to the fake, and which ones it speaks, each at its own base URL."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tests.fake_provider.batch_wire import BatchWire
from tests.fake_provider.record import Recorded


@dataclass(slots=True)
class Item:
    """One vector of an answer; a fault may put anything in it."""

    index: int
    embedding: list[object] | str


class Dialect(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def prefixes(self) -> Mapping[str, str]:
        """Where paths of this dialect begin, and what its routes begin with in place of that."""

    @property
    def batches(self) -> BatchWire | None:
        """The batch API, if the service has one."""

    def read(self, request: Recorded, route: str) -> None:
        """Fills in what is asked for and for which texts, as far as that can be read.

        The operation stays None for a route that the service does not have.
        """

    def keys(self, request: Recorded) -> list[str]:
        """Every key in a place where this service looks for one."""

    def secret(self, key: str) -> str:
        """The part of a configured key that goes over the wire."""

    def auth_problems(self, request: Recorded) -> Iterator[str]:
        """How the credentials depart from what this service is documented to take."""

    def problems(self, request: Recorded, *, extra_keys: Collection[str]) -> Iterator[str]:
        """How the rest of the request departs from it."""

    def render(self, items: Sequence[Item] | None, request: Recorded) -> dict[str, Any]:
        """A successful answer; None leaves the list of vectors out."""

    def error(
        self, message: str, *, status: int, code: str, details: Sequence[object] = ()
    ) -> dict[str, Any]:
        """The service's own shape of an error body; few of them have a place for `details`."""
