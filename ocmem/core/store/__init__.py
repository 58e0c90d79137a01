"""The SQLite index: what OpenClaw's tables hold, and ocmem's own beside them."""

from ocmem.core.store.connection import Connection, open_existing

__all__ = ["Connection", "open_existing"]
