"""A GitLab to sync from without a GitLab: real shapes, real paging, real ways to fail."""

from __future__ import annotations

from loreline.simulator.corpus import Corpus, open_corpora, open_corpus
from loreline.simulator.faults import Fault
from loreline.simulator.limits import RateLimit
from loreline.simulator.server import Running, create_app, running, serve
from loreline.simulator.tokens import DEFAULT_TOKEN, Token
from loreline.simulator.world import World, replicate

__all__ = [
    "DEFAULT_TOKEN",
    "Corpus",
    "Fault",
    "RateLimit",
    "Running",
    "Token",
    "World",
    "create_app",
    "open_corpora",
    "open_corpus",
    "replicate",
    "running",
    "serve",
]
