"""Direct, fast access to an AI agent's memory. Importing this package costs nothing."""

__version__ = "0.1.0"
