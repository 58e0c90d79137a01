"""Embedding services, one small module each; `core.embedder` names them."""
