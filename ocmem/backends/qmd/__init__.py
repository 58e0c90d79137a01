"""The second backend: QMD, a search engine of its own, driven as a command."""
