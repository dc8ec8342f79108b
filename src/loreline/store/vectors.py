"""Vectors of passages, the spaces they belong to, and the queue of passages that wait for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import apsw
from msgspec import Struct


class Space(Struct, frozen=True):
    """Vectors made by one model and one slicer; those of two spaces never mix."""

    id: int
    name: str
    dimensions: int
    is_active: bool
    matrix_generation: int
    matrix_vector_id: int


class Waiting(Struct, frozen=True):
    """A passage to embed."""

    passage_id: int
    text_hash: bytes
    title: str
    text: str
    attempts: int


class Made(Struct, frozen=True):
    """A vector as it is kept: whole numbers of -127 to 127, times the scale."""

    passage_id: int
    text_hash: bytes
    scale: float
    components: bytes


_COLUMNS = "id, name, dimensions, is_active, matrix_generation, matrix_vector_id"


# ── spaces ──────────────────────────────────────────────────────────────────────────────────────────────


def active(db: apsw.Connection) -> Space | None:
    """The space that is searched."""
    return _one(db, "is_active = 1")


def by_name(db: apsw.Connection, name: str) -> Space | None:
    return _one(db, "name = ?", name)


def every(db: apsw.Connection) -> list[Space]:
    return [_space(row) for row in db.execute(f"SELECT {_COLUMNS} FROM spaces ORDER BY id").fetchall()]


def _one(db: apsw.Connection, condition: str, *values: object) -> Space | None:
    row = db.execute(f"SELECT {_COLUMNS} FROM spaces WHERE {condition}", values).fetchone()
    return _space(row) if row is not None else None


def _space(row: tuple[object, ...]) -> Space:
    return Space(*cast("tuple[int, str, int]", row[:3]), bool(row[3]), *cast("tuple[int, int]", row[4:]))


def open_space(db: apsw.Connection, name: str, dimensions: int, now: int) -> Space:
    """The space of that name; a new one has everything still to be embedded.

    The first one is searched from the beginning, a later one when it is complete.
    """
    known = by_name(db, name)
    if known is not None:
        return known
    first = active(db) is None
    db.execute(
        "INSERT INTO spaces (name, dimensions, is_active, created_at) VALUES (?, ?, ?, ?)",
        (name, dimensions, first, now),
    )
    space_id = db.last_insert_rowid()
    db.execute(
        "INSERT INTO pending_embeddings (space_id, passage_id, written_at) SELECT ?, p.id, d.updated_at"
        " FROM passages p JOIN documents d ON d.id = p.document_id",
        (space_id,),
    )
    return cast(Space, _one(db, "id = ?", space_id))


def activate(db: apsw.Connection, space: Space) -> None:
    """From now on this space is searched; others are of no more use."""
    db.execute("UPDATE spaces SET is_active = 0 WHERE id <> ?", (space.id,))
    db.execute("UPDATE spaces SET is_active = 1 WHERE id = ?", (space.id,))
    for other in every(db):
        if other.id != space.id:
            drop_space(db, other)


def drop_space(db: apsw.Connection, space: Space) -> None:
    db.execute("DELETE FROM vectors WHERE space_id = ?", (space.id,))
    db.execute("DELETE FROM spaces WHERE id = ?", (space.id,))


def start_over(db: apsw.Connection, space: Space) -> None:
    """Every passage is to be embedded again; its old vector serves until then, but as no other text's."""
    db.execute("UPDATE vectors SET text_hash = x'' WHERE space_id = ?", (space.id,))
    db.execute(
        "INSERT OR REPLACE INTO pending_embeddings (space_id, passage_id, written_at) SELECT ?, p.id, d.updated_at"
        " FROM passages p JOIN documents d ON d.id = p.document_id",
        (space.id,),
    )


# ── the queue ───────────────────────────────────────────────────────────────────────────────────────────


def waiting(db: apsw.Connection, space: Space, now: int, limit: int) -> list[Waiting]:
    """The next passages to embed: those that failed least first, of these the newest text."""
    rows = db.execute(
        "SELECT q.passage_id, p.text_hash, d.title, p.text_start, p.text_end, p.document_id, q.attempts"
        " FROM pending_embeddings q JOIN passages p ON p.id = q.passage_id JOIN documents d ON d.id = p.document_id"
        " WHERE q.space_id = ? AND (q.next_attempt_at IS NULL OR q.next_attempt_at <= ?)"
        " ORDER BY q.attempts, q.written_at DESC, q.passage_id LIMIT ?",
        (space.id, now, limit),
    ).fetchall()
    texts: dict[int, str] = {}
    found = []
    for passage_id, text_hash, title, start, end, document_id, attempts in rows:
        if document_id not in texts:
            texts[document_id] = db.execute(
                "SELECT content_text FROM document_texts WHERE document_id = ?", (document_id,)
            ).fetchone()[0]
        found.append(Waiting(passage_id, text_hash, title, texts[document_id][start:end], attempts))
    return found


class Depth(Struct, frozen=True):
    """How much is waiting to be embedded."""

    waiting: int
    failing: int
    """Of these, how many have failed before."""


def depth(db: apsw.Connection, space: Space) -> Depth:
    row = db.execute(
        "SELECT count(*), count(*) FILTER (WHERE attempts > 0) FROM pending_embeddings WHERE space_id = ?", (space.id,)
    ).fetchone()
    return Depth(*row)


def ready_count(db: apsw.Connection, space: Space, now: int) -> int:
    row = db.execute(
        "SELECT count(*) FROM pending_embeddings WHERE space_id = ?"
        " AND (next_attempt_at IS NULL OR next_attempt_at <= ?)",
        (space.id, now),
    ).fetchone()
    return int(row[0])


def put_off(db: apsw.Connection, space: Space, passage_id: int, error: str, next_attempt_at: int) -> None:
    db.execute(
        "UPDATE pending_embeddings SET attempts = attempts + 1, last_error = ?, next_attempt_at = ?"
        " WHERE space_id = ? AND passage_id = ?",
        (error, next_attempt_at, space.id, passage_id),
    )


def retry_failed(db: apsw.Connection, space: Space) -> int:
    """What has failed is tried again at once; how many there are."""
    rows = db.execute(
        "UPDATE pending_embeddings SET next_attempt_at = NULL WHERE space_id = ? AND attempts > 0 RETURNING passage_id",
        (space.id,),
    ).fetchall()
    return len(rows)


def failures(db: apsw.Connection, space: Space, limit: int) -> list[tuple[int, str]]:
    """(passage, why) of what failed last."""
    rows = db.execute(
        "SELECT passage_id, last_error FROM pending_embeddings WHERE space_id = ? AND attempts > 0"
        " ORDER BY passage_id DESC LIMIT ?",
        (space.id, limit),
    ).fetchall()
    return [(passage_id, error or "") for passage_id, error in rows]


# ── vectors ─────────────────────────────────────────────────────────────────────────────────────────────


def same_text(db: apsw.Connection, space: Space, text_hashes: Sequence[bytes]) -> dict[bytes, tuple[float, bytes]]:
    """Vectors that the same text has got elsewhere."""
    found = {}
    for text_hash in dict.fromkeys(text_hashes):
        row = db.execute(
            "SELECT scale, components FROM vectors WHERE space_id = ? AND text_hash = ? LIMIT 1", (space.id, text_hash)
        ).fetchone()
        if row is not None:
            found[text_hash] = (row[0], row[1])
    return found


def renumber(db: apsw.Connection, passage_id: int) -> None:
    """The same vectors under new ids: the matrix, which knows where their passage stood, lets go of the old ones."""
    rows = db.execute(
        "DELETE FROM vectors WHERE passage_id = ? RETURNING space_id, passage_id, text_hash, scale, components",
        (passage_id,),
    ).fetchall()
    db.executemany(
        "INSERT INTO vectors (space_id, passage_id, text_hash, scale, components) VALUES (?, ?, ?, ?, ?)", rows
    )


def put(db: apsw.Connection, space: Space, made: Sequence[Made]) -> int:
    """Keep vectors and take their passages off the queue; how many were still wanted.

    A passage that has changed or gone meanwhile keeps waiting, or is forgotten.
    """
    kept = 0
    for one in made:
        still = db.execute(
            "SELECT 1 FROM passages WHERE id = ? AND text_hash = ?", (one.passage_id, one.text_hash)
        ).fetchone()
        if still is None:
            continue
        # The old vector is deleted rather than overwritten: a matrix knows vectors by id, and takes them as they are.
        db.execute("DELETE FROM vectors WHERE passage_id = ? AND space_id = ?", (one.passage_id, space.id))
        db.execute(
            "INSERT INTO vectors (space_id, passage_id, text_hash, scale, components) VALUES (?, ?, ?, ?, ?)",
            (space.id, one.passage_id, one.text_hash, one.scale, one.components),
        )
        db.execute("DELETE FROM pending_embeddings WHERE space_id = ? AND passage_id = ?", (space.id, one.passage_id))
        kept += 1
    return kept


def count(db: apsw.Connection, space: Space) -> int:
    return int(db.execute("SELECT count(*) FROM vectors WHERE space_id = ?", (space.id,)).fetchone()[0])


Row = tuple[int, int, int, int, int, float, bytes]
"""Vector, entity's document, document, passage, position in the document, scale, components."""

# The plus keeps SQLite to the order of ids: nearly all rows are of one space.
_ROWS = (
    "SELECT v.id, d.entity_document_id, d.id, p.id, p.position, v.scale, v.components"
    " FROM vectors v JOIN passages p ON p.id = v.passage_id JOIN documents d ON d.id = p.document_id"
    " WHERE +v.space_id = ?"
)
_ORDER = "ORDER BY d.entity_document_id, d.id <> d.entity_document_id, d.id, p.position"
"""That of a matrix: by entity, its own text first, then its threads."""


def rows_up_to(db: apsw.Connection, space: Space, vector_id: int) -> Iterator[Row]:
    yield from db.execute(f"{_ROWS} AND v.id <= ? {_ORDER}", (space.id, vector_id))


def rows_after(db: apsw.Connection, space: Space, vector_id: int) -> list[Row]:
    """What has come since a matrix was made."""
    rows: list[Row] = db.execute(f"{_ROWS} AND v.id > ? {_ORDER}", (space.id, vector_id)).fetchall()
    return rows


def last_id(db: apsw.Connection, space: Space) -> int:
    row = db.execute("SELECT coalesce(max(id), 0) FROM vectors WHERE space_id = ?", (space.id,)).fetchone()
    return int(row[0])


def count_after(db: apsw.Connection, space: Space, vector_id: int) -> int:
    # The plus keeps SQLite to the range of ids, which is short, where an index of the space is long.
    row = db.execute("SELECT count(*) FROM vectors WHERE +space_id = ? AND id > ?", (space.id, vector_id)).fetchone()
    return int(row[0])


def removed(db: apsw.Connection, space: Space) -> list[int]:
    """Vectors of the matrix that have gone since."""
    rows = db.execute("SELECT vector_id FROM removed_vectors WHERE space_id = ?", (space.id,)).fetchall()
    return [row[0] for row in rows]


def matrix_made(db: apsw.Connection, space: Space, generation: int, vector_id: int) -> None:
    db.execute(
        "UPDATE spaces SET matrix_generation = ?, matrix_vector_id = ? WHERE id = ?", (generation, vector_id, space.id)
    )
    db.execute("DELETE FROM removed_vectors WHERE space_id = ?", (space.id,))
