"""What to ask instead, where a question finds nothing or holds a word that stands nowhere."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

import apsw
from msgspec import structs

from loreline.core.query import Query, Word
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

_READ = 5
"""Entities in which to see how a word is written."""


def suggest(db: apsw.Connection, query: Query, count: Callable[[Query], int], *, found: int) -> list[Suggestion]:
    """`count` tells how many results another question would have."""
    suggestions = list(_spellings(db, query))
    if found == 0:
        suggestions += _names(db, query)
        suggestions += _without_quotes(query, count)
        suggestions += _looser(query, count)
    return suggestions


def _spellings(db: apsw.Connection, query: Query) -> list[Suggestion]:
    """One for each word that stands nowhere; to ask instead is the question with all of them put right."""
    nearest: dict[str, str] = {}
    for word in wording.unknown_words(db, Table.ENTITIES, query)[:_MOST_WORDS]:
        if re.fullmatch(r"[^\W\d_]{4,30}", word):  # numbers, hashes and names in code have no spelling
            near = _near(db, word)
            # `taken` for `take` is no slip.
            if near is not None and not (word.lower().startswith(near) or near.startswith(word.lower())):
                nearest[word] = near
    instead = query.text
    for word, near in nearest.items():
        instead = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", near, instead)
    return [
        Suggestion(text=f"no text has the word {word!r}: did you mean {near!r}?", query=instead)
        for word, near in nearest.items()
    ]


def _near(db: apsw.Connection, word: str) -> str | None:
    """The nearest word, as it is written somewhere: the index knows stems only."""
    for stem in wording.near_words(db, Table.ENTITIES, word):
        documents = wording.holding(db, Table.ENTITIES, stem, _READ)
        texts = [
            f"{body.title}\n{body.text}"
            for bodies in hits.bodies_of_entities(db, documents).values()
            for body in bodies
        ]
        written = sorted({one.lower() for text in texts for one in wording.written(db, text, stem)})
        if written:
            return max(written, key=lambda one: difflib.SequenceMatcher(None, word.lower(), one).ratio())
    return None


def _names(db: apsw.Connection, query: Query) -> list[Suggestion]:
    """What a filter names and nobody is called, with the nearest who is."""
    filters = query.filters
    wanted = [("author", filters.author), ("assignee", filters.assignee), ("milestone", filters.milestone)]
    wanted += [("label", label) for label in filters.labels]
    made = []
    for kind, name in wanted:
        if name is None:
            continue
        known = {one.lower(): one for one in hits.names(db, kind)}
        if name.lower() in known:
            continue
        near = difflib.get_close_matches(name.lower(), known, n=1)
        asked = f": did you mean {known[near[0]]!r}?" if near else ""
        instead = query.text.replace(f"{kind}:{name}", f"{kind}:{known[near[0]]}") if near else query.text
        told = f"there is no {kind} {name!r}{asked}"
        made.append(Suggestion(text=told, query=instead if instead != query.text else None))
    return made


def _without_quotes(query: Query, count: Callable[[Query], int]) -> list[Suggestion]:
    """The same words, of which none has to be there."""
    if not query.required:
        return []
    words = tuple(dict.fromkeys((*query.words, *(Word(term.text) for term in query.required))))
    there = count(structs.replace(query, words=words, required=()))
    if not there:
        return []
    text = _SIGNS.sub(" ", query.text).strip()
    return [Suggestion(text=f"without quotes and plus signs there are {there}", query=text, found=there)]


_SIGNS = re.compile(r'\s*"\s*|(?<!\S)\+')


def _looser(query: Query, count: Callable[[Query], int]) -> list[Suggestion]:
    """Which filter costs the results: each is left out in turn."""
    made = []
    for name in query.filters.given:
        there = count(structs.replace(query, filters=query.filters.without(name)))
        if there:
            shown = _READ_AS.get(name, name)
            made.append(Suggestion(text=f"without {shown} there are {there}", without=shown, found=there))
    return sorted(made, key=lambda one: -(one.found or 0))
