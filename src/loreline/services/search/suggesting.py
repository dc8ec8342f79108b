"""What to ask instead, where a question finds nothing or holds a word that stands nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable

import apsw

from loreline.core.query import Filters, Query
from loreline.index import wording
from loreline.index.lexical import Table
from loreline.services.search.request import Suggestion
from loreline.store import hits

_READ_AS = {
    "source_type": "type", "projects": "project", "labels": "label",
    "created_after": "after", "created_before": "before",
    "updated_after": "updated-after", "updated_before": "updated-before",
}  # fmt: skip
_MOST_WORDS = 4


def suggest(db: apsw.Connection, query: Query, count: Callable[[Filters], int], *, found: int) -> list[Suggestion]:
    suggestions = list(_spellings(db, query))
    if found == 0:
        suggestions += _looser(query, count)
    return suggestions


def _spellings(db: apsw.Connection, query: Query) -> list[Suggestion]:
    made = []
    for word in wording.unknown_words(db, Table.ENTITIES, query)[:_MOST_WORDS]:
        if not re.fullmatch(r"[^\W\d_]{4,30}", word):  # numbers, hashes and names in code have no spelling
            continue
        near = _near(db, word)
        if near is not None:
            instead = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", near, query.text)
            made.append(Suggestion(text=f"no text has the word {word!r}: did you mean {near!r}?", query=instead))
    return made


def _near(db: apsw.Connection, word: str) -> str | None:
    """The nearest word, as somebody wrote it: the index knows stems only."""
    for stem in wording.near_words(db, Table.ENTITIES, word):
        document = wording.holding(db, Table.ENTITIES, stem)
        if document is None:
            continue
        for body in hits.bodies_of_entities(db, [document]).get(document, []):
            shown = wording.written(db, f"{body.title}\n{body.text}", stem)
            if shown is not None:
                return shown.lower()
    return None


def _looser(query: Query, count: Callable[[Filters], int]) -> list[Suggestion]:
    """Which filter costs the results: each is left out in turn."""
    given = query.filters.given
    if len(given) == 0:
        return []
    made = []
    for name in given:
        there = count(query.filters.without(name))
        if there:
            shown = _READ_AS.get(name, name)
            made.append(Suggestion(text=f"without {shown} there are {there}", without=shown, found=there))
    return sorted(made, key=lambda one: -(one.found or 0))
