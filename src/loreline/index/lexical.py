"""The lexical index: two FTS5 tables, of entities with their whole conversation and of threads by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import Any

import apsw
from msgspec import Struct

from loreline.core.documents import text_hash
from loreline.core.identifiers import alternatives, cjk_runs, extra_words, is_special
from loreline.core.indexing import indexed_text
from loreline.core.query import Phrase, Query, Term, Word
from loreline.core.ranking import is_of_names
from loreline.errors import InvalidValue
from loreline.store.arrays import bound


class Table(Enum):
    ENTITIES = "entities_fts"
    THREADS = "threads_fts"


class EntityText(Struct, frozen=True):
    """What is indexed of an issue or merge request."""

    title: str
    body: str
    talk: str

    @property
    def hash(self) -> bytes:
        return text_hash(f"{self.title}\0{self.body}\0{self.talk}")


def put_entity(db: apsw.Connection, document_id: int, text: EntityText, *, known: bool) -> None:
    body, talk = indexed_text(text.body), indexed_text(text.talk)
    names = extra_words(f"{text.title}\n{body}\n{talk}")
    if known:
        db.execute("DELETE FROM entities_fts WHERE rowid = ?", (document_id,))
    db.execute(
        "INSERT INTO entities_fts (rowid, title, body, talk, names) VALUES (?, ?, ?, ?, ?)",
        (document_id, text.title, body, talk, names),
    )


def put_thread(db: apsw.Connection, document_id: int, body: str, *, known: bool) -> None:
    shown = indexed_text(body)
    if known:
        db.execute("DELETE FROM threads_fts WHERE rowid = ?", (document_id,))
    db.execute(
        "INSERT INTO threads_fts (rowid, body, names) VALUES (?, ?, ?)", (document_id, shown, extra_words(shown))
    )


def remove(db: apsw.Connection, table: Table, document_ids: Sequence[int]) -> None:
    db.executemany(f"DELETE FROM {table.value} WHERE rowid = ?", [(document_id,) for document_id in document_ids])


def row_count(db: apsw.Connection, table: Table) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table.value}").fetchone()[0])


def missing(db: apsw.Connection, table: Table) -> list[int]:
    """Documents that should stand in it and don't."""
    own = "=" if table is Table.ENTITIES else "<>"
    rows = db.execute(
        f"SELECT id FROM documents WHERE entity_document_id {own} id EXCEPT SELECT rowid FROM {table.value}"
    ).fetchall()
    return [row[0] for row in rows]


def orphaned(db: apsw.Connection, table: Table) -> list[int]:
    """Rows of documents that are no more."""
    own = "=" if table is Table.ENTITIES else "<>"
    rows = db.execute(
        f"SELECT rowid FROM {table.value} EXCEPT SELECT id FROM documents WHERE entity_document_id {own} id"
    ).fetchall()
    return [row[0] for row in rows]


# ── common words ────────────────────────────────────────────────────────────────────────────────────────

_COMMON = 0.02
"""A word in more than this part of the documents is noted, so that its weight is known without counting."""

_GROWN = 1.2


def refresh_common_words(db: apsw.Connection) -> None:
    """Count the words anew where a table has grown or shrunk by a fifth since it was done last.

    Statistics only decide which words of a long query are worth looking up, so they may lag.
    """
    for table in Table:
        documents = row_count(db, table)
        row = db.execute("SELECT documents FROM common_words_state WHERE table_name = ?", (table.value,)).fetchone()
        before = row[0] if row is not None else 0
        if documents <= before * _GROWN + 10 and documents * _GROWN + 10 >= before:
            continue
        words_of = vocabulary(db, table)
        db.execute("DELETE FROM common_words WHERE table_name = ?", (table.value,))
        db.execute(
            f"INSERT INTO common_words (table_name, word, documents) SELECT ?, term, doc FROM {words_of} WHERE doc > ?",
            (table.value, documents * _COMMON),
        )
        db.execute("INSERT OR REPLACE INTO common_words_state VALUES (?, ?)", (table.value, documents))


def common_word_count(db: apsw.Connection, table: Table) -> int:
    return int(db.execute("SELECT count(*) FROM common_words WHERE table_name = ?", (table.value,)).fetchone()[0])


def vocabulary(db: apsw.Connection, table: Table) -> str:
    """FTS5's own view of its words; temporary, so that the schema stays ours."""
    name = f"{table.value}_words"
    db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name} USING fts5vocab('main', '{table.value}', 'row')")
    return f"temp.{name}"


def document_frequencies(db: apsw.Connection, table: Table, words: Sequence[str]) -> dict[str, int]:
    """In how many documents each word stands, as the index has it."""
    marks = ", ".join("?" * len(words))
    found: dict[str, int] = dict(
        db.execute(
            f"SELECT word, documents FROM common_words WHERE table_name = ? AND word IN ({marks})",
            (table.value, *words),
        ).fetchall()
    )
    words_of = vocabulary(db, table)
    for word in words:
        if word not in found:
            row = db.execute(f"SELECT doc FROM {words_of} WHERE term = ?", (word,)).fetchone()
            found[word] = int(row[0]) if row is not None else 0
    return found


# ── asking ──────────────────────────────────────────────────────────────────────────────────────────────

_WEIGHTS = {Table.ENTITIES: (10.0, 1.0, 1.0, 1.0), Table.THREADS: (1.0, 1.0)}
"""Of the columns, in their order: the title says what it is about."""

_MOST_WORDS = 16
"""Of a long question its rarest words are looked up: all of them would find the same, and later."""

_MOST_POSTINGS = 8_000
"""Words are looked up, rarest first, until so many places have to be read."""

_LEAST_WORDS = 3

_MOST_LOOKS = 500
"""Looking a word up in one document costs as much as reading a hundred places of a word that stands in many."""


class Asked(Struct, frozen=True):
    """A query in FTS5's own language."""

    match: str
    left_out: tuple[str, ...] = ()
    """Words too common to be looked up."""
    one_by_one: bool = False
    """The documents are so few that each is looked into, and no word is too common."""


def expression(db: apsw.Connection, table: Table, query: Query, among: int | None = None) -> Asked | None:
    """A query to so many documents, or to all; None where nothing is left to look for.

    Any of the words may match, and bm25 orders by how many and how rare; what is quoted or marked with + has to.
    """
    words = [word for word in query.words if tokens(db, word.text)]
    words += [part for part in _parts(db, table, query, words) if part not in words and tokens(db, part.text)]
    few = among is not None and among * len(words) <= _MOST_LOOKS
    chosen = words if few or query.required else _telling(db, table, words)
    left_out = tuple(word.text for word in query.words if word in words and word not in chosen)
    optional = [_term(word) for word in chosen]
    required = [_term(term) for term in query.required if tokens(db, term.text)]
    if required:
        match = " AND ".join(required)
        if optional:
            match = f"({match}) AND ({' OR '.join([required[0], *optional])})"
    elif optional:
        match = " OR ".join(optional)
    else:
        return None
    excluded = [_term(term) for term in query.excluded if tokens(db, term.text)]
    return Asked(f"({match}) NOT ({' OR '.join(excluded)})" if excluded else match, left_out, few)


def raw_expression(text: str) -> Asked:
    """FTS5's syntax as somebody wrote it."""
    if len(text) > _LONGEST_RAW:
        raise InvalidValue(
            f"an FTS5 expression of {len(text):,} characters is too long",
            hint=f"use at most {_LONGEST_RAW:,}, or leave out --fts-mode raw: any text may be as long as it likes",
        )
    return Asked(text.strip())


_LONGEST_RAW = 2_000
"""FTS5's time grows with the square of the words: 20,000 of them took a minute in a hundred documents."""


def _parts(db: apsw.Connection, table: Table, query: Query, words: Sequence[Word]) -> list[Word]:
    """The words inside of words: in a sentence `wallet/rpc:` stands for `wallet` and `rpc` as well as for itself.

    Who asks for nothing but names wants these, and their parts only where they stand nowhere.
    """
    sought = [word for word in words if not (word.prefix or is_special(word.text) or cjk_runs(word.text))]
    if is_of_names(query):
        sought = [word for word in sought if not _stands(db, table, word)]
    found = [_PART.findall(word.text) for word in sought]
    return [Word(part) for parts in found if len(parts) > 1 for part in dict.fromkeys(parts)]


_PART = re.compile(r"[^\W_]+")


def _stands(db: apsw.Connection, table: Table, word: Word) -> bool:
    name = table.value
    return bool(_rows(db, f"SELECT 1 FROM {name} WHERE {name} MATCH ? LIMIT 1", (_term(word),)))


def _term(term: Term) -> str:
    whole = quoted(term.text)
    if isinstance(term, Phrase):
        return whole
    if term.prefix:
        return f"{whole} *"
    runs = cjk_runs(term.text)
    ways = [whole]
    for run in runs:
        pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        ways.append("(" + " AND ".join(quoted(pair) for pair in pairs) + ")")
    others = alternatives(term.text)
    if others and not any(character.isalnum() for character in term.text[1:]):
        ways = []  # `C++` is more than its letter
    ways += [quoted(" ".join(words)) for words in others]
    return ways[0] if len(ways) == 1 else "(" + " OR ".join(dict.fromkeys(ways)) + ")"


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def tokens(db: apsw.Connection, text: str) -> list[str]:
    """The words FTS5 makes of a text."""
    tokenizer = db.fts5_tokenizer("porter", ["unicode61"])
    found = tokenizer(
        text.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
    )
    return [str(token) for token in found]


def _telling(db: apsw.Connection, table: Table, words: Sequence[Word]) -> list[Word]:
    """Those that tell documents apart, rarest first."""
    if len(words) <= 1:
        return list(words)
    stems = {word: tokens(db, word.text) for word in words}
    counts = document_frequencies(db, table, list(dict.fromkeys(token for found in stems.values() for token in found)))
    ranked = sorted((min(counts[token] for token in stems[word]), at, word) for at, word in enumerate(words))
    chosen: list[Word] = []
    postings = 0
    for count, _, word in ranked[:_MOST_WORDS]:
        enough = len(chosen) >= _LEAST_WORDS
        if enough and postings + count > _MOST_POSTINGS:
            break
        chosen.append(word)
        postings += count
    return chosen


def row_count_known(db: apsw.Connection, table: Table) -> int:
    """How many rows there were when words were counted last."""
    row = db.execute("SELECT documents FROM common_words_state WHERE table_name = ?", (table.value,)).fetchone()
    return int(row[0]) if row is not None else row_count(db, table)


def search(
    db: apsw.Connection, table: Table, asked: Asked, limit: int, scope: Sequence[int] | None = None
) -> dict[int, float]:
    """The best documents by BM25, higher is better; with `scope` only of these."""
    name = table.value
    rank = f"bm25({name}, {', '.join(map(str, _WEIGHTS[table]))})"
    if scope is None:
        statement = f"SELECT rowid, {rank} AS rank FROM {name} WHERE {name} MATCH ?1 ORDER BY rank LIMIT ?2"
        values: tuple[object, ...] = (asked.match, limit)
    elif asked.one_by_one:
        # CROSS JOIN keeps SQLite to this order.
        statement = (
            f"SELECT {name}.rowid, {rank} AS rank FROM carray(?3) c CROSS JOIN {name} ON {name}.rowid = c.value"
            f" WHERE {name} MATCH ?1 ORDER BY rank LIMIT ?2"
        )
        values = (asked.match, limit, bound(scope))
    else:
        # The plus keeps SQLite from asking FTS5 once for each of many documents.
        statement = (
            f"SELECT rowid, {rank} AS rank FROM {name} WHERE {name} MATCH ?1"
            " AND +rowid IN (SELECT value FROM carray(?3)) ORDER BY rank LIMIT ?2"
        )
        values = (asked.match, limit, bound(scope))
    return {document_id: -score for document_id, score in _rows(db, statement, values)}


def matching(db: apsw.Connection, table: Table, terms: Sequence[Term], *, all_of: bool) -> list[int]:
    """The documents in which all, or any, of some terms stand."""
    wanted = [_term(term) for term in terms if tokens(db, term.text)]
    if not wanted:
        return []
    name = table.value
    match = (" AND " if all_of else " OR ").join(wanted)
    rows = _rows(db, f"SELECT rowid FROM {name} WHERE {name} MATCH ?", (match,))
    return [row[0] for row in rows]


def _rows(db: apsw.Connection, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
    try:
        rows: list[tuple[Any, ...]] = db.execute(statement, values).fetchall()
        return rows
    except apsw.SQLError as error:
        raise InvalidValue(
            f"FTS5 does not understand that query: {error}",
            hint="without --fts-mode raw, any text is taken as it stands",
        ) from error
