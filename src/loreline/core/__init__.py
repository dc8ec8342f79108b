"""Frozen structs and pure functions: no I/O, no clock, no environment."""
