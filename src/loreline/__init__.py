"""Loreline: the memory of a GitLab team, on your own machine."""

__version__ = "0.1.0"
