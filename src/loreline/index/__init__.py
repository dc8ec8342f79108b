"""Lexical and vector retrieval: derived from the store, always rebuildable, on the store's own connection."""
