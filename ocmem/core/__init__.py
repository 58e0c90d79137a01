"""Chunker, embedder, store and ranker: the path from a file to a hit."""
