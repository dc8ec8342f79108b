"""The lexical index: two FTS5 tables, of entities with their whole conversation and of threads by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import apsw
from msgspec import Struct

from loreline.core.documents import text_hash
from loreline.core.identifiers import extra_words
from loreline.core.indexing import indexed_text


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
        vocabulary = _vocabulary(db, table)
        db.execute("DELETE FROM common_words WHERE table_name = ?", (table.value,))
        db.execute(
            "INSERT INTO common_words (table_name, word, documents)"
            f" SELECT ?, term, doc FROM {vocabulary} WHERE doc > ?",
            (table.value, documents * _COMMON),
        )
        db.execute("INSERT OR REPLACE INTO common_words_state VALUES (?, ?)", (table.value, documents))


def _vocabulary(db: apsw.Connection, table: Table) -> str:
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
    vocabulary = _vocabulary(db, table)
    for word in words:
        if word not in found:
            row = db.execute(f"SELECT doc FROM {vocabulary} WHERE term = ?", (word,)).fetchone()
            found[word] = int(row[0]) if row is not None else 0
    return found
