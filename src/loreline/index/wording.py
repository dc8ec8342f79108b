"""A query's words in plain texts, as the lexical index sees them; and words that may have been meant instead."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator

import apsw
from msgspec import Struct

from loreline.core.identifiers import alternatives, cjk_runs, is_special
from loreline.core.query import Query, Word
from loreline.index.lexical import Table, document_frequencies, quoted, row_count_known, tokens, vocabulary

Span = tuple[int, int]


class Marker:
    """Finds a query's words in texts as the index would: by their stems, and in all their ways of writing."""

    def __init__(self, db: apsw.Connection, query: Query) -> None:
        self._tokenizer = db.fts5_tokenizer("porter", ["unicode61"])
        terms = (*query.words, *query.required)
        self._stems = _telling(
            db, {token for term in terms if not is_special(term.text) for token in tokens(db, term.text)}
        )
        self._prefixes = tuple(term.text.lower() for term in terms if isinstance(term, Word) and term.prefix)
        self._literal = [run for term in terms for run in cjk_runs(term.text)]
        self._literal += [term.text for term in terms if is_special(term.text)]
        self._parts = {
            part for term in terms for words in alternatives(term.text) for word in words for part in tokens(db, word)
        }

    def spans(self, text: str) -> list[Span]:
        """Start and end of each, in characters, in order."""
        lowered = text.lower()
        found = [span for one in self._literal for span in _occurrences(lowered, one.lower())]
        data = text.encode("utf-8", "replace")
        plain = len(data) == len(text)
        for start, end, token, *_ in self._tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None):
            if token in self._stems or token in self._parts or token.startswith(self._prefixes or "\0"):
                found.append((start, end) if plain else (_characters(data, start), _characters(data, end)))
        return sorted(set(found))


_EVERYWHERE = 0.3
"""A word in more than this part of all entities explains no result."""


def _telling(db: apsw.Connection, stems: set[str]) -> set[str]:
    counts = document_frequencies(db, Table.ENTITIES, sorted(stems))
    most = _EVERYWHERE * row_count_known(db, Table.ENTITIES)
    return {stem for stem in stems if counts[stem] <= most} or stems


def _characters(data: bytes, place: int) -> int:
    return len(data[:place].decode("utf-8", "replace"))


def _occurrences(text: str, run: str) -> Iterator[Span]:
    at = text.find(run)
    while at >= 0:
        yield at, at + len(run)
        at = text.find(run, at + len(run))


_IDLE = 0.7
"""The weight of a word that stands in half of all documents."""


class Clue(Struct, frozen=True):
    """A word of a query as it can be looked for in plain text, quickly: a beginning that its forms share."""

    beginning: str
    weight: float
    """The rarer, the more."""


def clues(db: apsw.Connection, table: Table, query: Query) -> list[Clue]:
    """What tells which of many texts hold the most of a query's words."""
    documents = max(row_count_known(db, table), 1)
    beginnings: dict[str, str] = {}
    for term in (*query.words, *query.required):
        for token in tokens(db, term.text):
            # A stem may end in a letter that the word has not: `happi` for `happy`.
            beginnings.setdefault(token[:-1] if len(token) > 4 and token.endswith("i") else token, token)
    counts = document_frequencies(db, table, list(beginnings.values()))
    weights = {token: math.log(max(documents / (1 + counts[token]), 1.0)) for token in beginnings.values()}
    return [Clue(beginning, weights[token]) for beginning, token in beginnings.items() if weights[token] > _IDLE]


# ── nearest words ───────────────────────────────────────────────────────────────────────────────────────


def unknown_words(db: apsw.Connection, table: Table, query: Query) -> list[str]:
    """The words of a query that stand nowhere, in no way of writing them."""
    unknown = []
    for word in query.words:
        ways = [token for words in alternatives(word.text) for one in words for token in tokens(db, one)]
        stems = [*tokens(db, word.text), *ways]
        if stems and not word.prefix and not cjk_runs(word.text):
            counts = document_frequencies(db, table, stems)
            if not any(counts.values()):
                unknown.append(word.text)
    return unknown


def stands_twice(db: apsw.Connection, table: Table, word: Word) -> bool:
    """Whether more than one document has it, as far as single words tell."""
    stems = tokens(db, word.text)
    return bool(stems) and min(document_frequencies(db, table, stems).values()) > 1


def near_words(db: apsw.Connection, table: Table, word: str) -> list[str]:
    """Words of the index that begin like this one and are about as long, the most frequent first; stemmed."""
    (stem, *_) = tokens(db, word) or [""]
    if len(stem) < _SHORTEST_GUESSED:
        return []
    rows = db.execute(
        f"SELECT term FROM {vocabulary(db, table)} WHERE term >= ?1 AND term < ?2"
        " AND length(term) BETWEEN ?3 AND ?4 ORDER BY doc DESC LIMIT 5000",
        (stem[0], stem[0] + "\U0010ffff", len(stem) - 2, len(stem) + 2),
    ).fetchall()
    return difflib.get_close_matches(stem, [row[0] for row in rows], n=3, cutoff=0.75)


_SHORTEST_GUESSED = 4


def holding(db: apsw.Connection, table: Table, stem: str, limit: int) -> list[int]:
    """Documents with a word of that stem."""
    rows = db.execute(
        f"SELECT rowid FROM {table.value} WHERE {table.value} MATCH ? LIMIT ?", (quoted(stem), limit)
    ).fetchall()
    return [row[0] for row in rows]


def written(db: apsw.Connection, text: str, stem: str) -> Iterator[str]:
    """The words of a text that have that stem, as they are written there."""
    data = text.encode("utf-8", "replace")
    tokenizer = db.fts5_tokenizer("porter", ["unicode61"])
    for start, end, token, *_ in tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None):
        if token == stem:
            yield data[start:end].decode("utf-8", "replace")
