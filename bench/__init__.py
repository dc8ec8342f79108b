"""Measurements: `python -m bench [name…]` prints a table for each."""
