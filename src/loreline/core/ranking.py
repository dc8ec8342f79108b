"""How much the words of a query and its meaning count, by what is searched and how it is asked."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from loreline.core.identifiers import is_identifier
from loreline.core.query import Query


class Corpus(Enum):
    TALK = "talk"
    """Issues, merge requests and threads: people writing to people."""
    CODE = "code"


class Weights(Struct, frozen=True):
    words: float
    """BM25 over the whole text."""
    opening: float
    """The passage it begins with: what it is about."""
    passage: float
    """Its best passage: what it also says."""


_WEIGHTS = {Corpus.TALK: Weights(2.0, 1.0, 1.0), Corpus.CODE: Weights(0.15, 1.0, 1.0)}
"""Who writes to people uses the words of whoever asks later. Code says what it does in words of its own."""

SHARPNESS = 2.0
"""Of cosines: everything is a little alike."""

_NAMES = 3.0
"""So much more words count in a query of names: nothing is near `TokenManager` but what calls it so."""


def weights(corpus: Corpus, query: Query) -> Weights:
    found = _WEIGHTS[corpus]
    if is_of_names(query):
        return Weights(found.words * _NAMES, found.opening, found.passage)
    return found


def is_of_names(query: Query) -> bool:
    """Whether it names things in code rather than being a sentence."""
    named = sum(1 for word in query.words if is_identifier(word.text))
    return named * 2 > len(query.words)
