"""Documents and their passages, labels and paths; and how far the change feed has been followed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

import apsw
from msgspec import Struct

from loreline.core.documents import Document, SourceType
from loreline.core.entities import Kind
from loreline.core.passages import Passage
from loreline.store import vectors

FOLLOWER = "documents"


class Change(Struct, frozen=True):
    sequence: int
    kind: Kind
    entity_id: int
    deleted: bool


class Stored(Struct, frozen=True):
    """A document as it was written last."""

    id: int
    source_id: int
    content_hash: bytes
    labels_hash: bytes
    paths_hash: bytes
    index_hash: bytes
    updated_at: int


# ── the feed ────────────────────────────────────────────────────────────────────────────────────────────


def changes(db: apsw.Connection, limit: int) -> list[Change]:
    """What has changed since it was followed last, oldest change first."""
    rows = db.execute(
        "SELECT sequence, entity_type, entity_id, operation FROM changes WHERE sequence > ? ORDER BY sequence LIMIT ?",
        (position(db), limit),
    ).fetchall()
    return [Change(number, Kind(kind), entity, operation == "delete") for number, kind, entity, operation in rows]


def position(db: apsw.Connection) -> int:
    row = db.execute("SELECT sequence FROM feed_followers WHERE name = ?", (FOLLOWER,)).fetchone()
    return int(row[0]) if row is not None else 0


def followed(db: apsw.Connection, sequence: int) -> None:
    db.execute("INSERT OR REPLACE INTO feed_followers (name, sequence) VALUES (?, ?)", (FOLLOWER, sequence))


def behind(db: apsw.Connection) -> int:
    """How many changed entities are still to be made into documents."""
    row = db.execute("SELECT count(*) FROM changes WHERE sequence > ?", (position(db),)).fetchone()
    return int(row[0])


def failed_count(db: apsw.Connection) -> int:
    """How many entities could not be made into documents."""
    return int(db.execute("SELECT count(*) FROM dirty_sources").fetchone()[0])


def forget_hashes(db: apsw.Connection) -> None:
    """Every document differs from what it is compared with, and so is written again."""
    db.execute("UPDATE documents SET content_hash = x'', labels_hash = x'', paths_hash = x'', index_hash = x''")


def put_off(db: apsw.Connection, kind: Kind, entity_id: int, error: str, attempts: int, next_attempt_at: int) -> None:
    db.execute(
        "INSERT OR REPLACE INTO dirty_sources (entity_type, entity_id, attempts, last_error, next_attempt_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (kind.value, entity_id, attempts, error, next_attempt_at),
    )


def due(db: apsw.Connection, now: int, limit: int) -> list[tuple[Kind, int, int]]:
    """What failed before and may be tried again, with its attempts so far."""
    rows = db.execute(
        "SELECT entity_type, entity_id, attempts FROM dirty_sources WHERE next_attempt_at <= ?"
        " ORDER BY attempts, next_attempt_at LIMIT ?",
        (now, limit),
    ).fetchall()
    return [(Kind(kind), entity_id, attempts) for kind, entity_id, attempts in rows]


def attempts(db: apsw.Connection, kind: Kind, entity_id: int) -> int:
    row = db.execute(
        "SELECT attempts FROM dirty_sources WHERE entity_type = ? AND entity_id = ?", (kind.value, entity_id)
    ).fetchone()
    return int(row[0]) if row is not None else 0


def settled(db: apsw.Connection, kind: Kind, entity_id: int) -> None:
    db.execute("DELETE FROM dirty_sources WHERE entity_type = ? AND entity_id = ?", (kind.value, entity_id))


# ── documents ───────────────────────────────────────────────────────────────────────────────────────────

_STORED = "SELECT id, source_id, content_hash, labels_hash, paths_hash, index_hash, updated_at FROM documents WHERE "


def of_entity(db: apsw.Connection, kind: Kind, entity_id: int) -> Stored | None:
    row = db.execute(_STORED + "source_type = ? AND source_id = ?", (kind.value, entity_id)).fetchone()
    return Stored(*row) if row is not None else None


def of_source(db: apsw.Connection, source_type: SourceType, source_id: int) -> int | None:
    """The document of an issue, a merge request or a thread, by its local id."""
    row = db.execute(
        "SELECT id FROM documents WHERE source_type = ? AND source_id = ?", (source_type.value, source_id)
    ).fetchone()
    return int(row[0]) if row is not None else None


def of_threads(db: apsw.Connection, entity_document_id: int) -> dict[int, Stored]:
    """By the local id of the thread."""
    rows = db.execute(
        _STORED + "entity_document_id = ? AND source_type = 'discussion'", (entity_document_id,)
    ).fetchall()
    return {row[1]: Stored(*row) for row in rows}


def insert(db: apsw.Connection, document: Document, entity_document_id: int | None, index_hash: bytes) -> int:
    """A new document's id. Without `entity_document_id` it is an entity's own."""
    db.execute(
        "INSERT INTO documents (source_type, source_id, project_id, entity_document_id, author_username, label_names,"
        " created_at, updated_at, url, title, content_hash, labels_hash, paths_hash, index_hash, is_truncated,"
        " truncated_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            document.source_type.value, document.source_id, document.project_id,
            0 if entity_document_id is None else entity_document_id,
            document.author, json.dumps(document.labels, ensure_ascii=False), document.created_at,
            document.updated_at, document.url, document.title, document.content_hash, document.labels_hash,
            document.paths_hash, index_hash, document.truncation is not None, document.truncation,
        ),
    )  # fmt: skip
    document_id = cast(int, db.last_insert_rowid())
    if entity_document_id is None:
        db.execute("UPDATE documents SET entity_document_id = id WHERE id = ?", (document_id,))
    db.execute(
        "INSERT INTO document_texts (document_id, content_text, body_start) VALUES (?, ?, ?)",
        (document_id, document.content, document.body_start),
    )
    _add_labels(db, document_id, document.labels)
    _add_paths(db, document_id, document.paths)
    return document_id


def update(db: apsw.Connection, stored: Stored, document: Document, index_hash: bytes) -> None:
    """Write what differs."""
    db.execute(
        "UPDATE documents SET project_id = ?, author_username = ?, label_names = ?, created_at = ?, updated_at = ?,"
        " url = ?, title = ?, content_hash = ?, labels_hash = ?, paths_hash = ?, index_hash = ?, is_truncated = ?,"
        " truncated_reason = ? WHERE id = ?",
        (
            document.project_id, document.author, json.dumps(document.labels, ensure_ascii=False),
            document.created_at, document.updated_at, document.url, document.title, document.content_hash,
            document.labels_hash, document.paths_hash, index_hash, document.truncation is not None,
            document.truncation, stored.id,
        ),
    )  # fmt: skip
    if stored.content_hash != document.content_hash:
        db.execute(
            "UPDATE document_texts SET content_text = ?, body_start = ? WHERE document_id = ?",
            (document.content, document.body_start, stored.id),
        )
    if stored.labels_hash != document.labels_hash:
        db.execute("DELETE FROM document_labels WHERE document_id = ?", (stored.id,))
        _add_labels(db, stored.id, document.labels)
    if stored.paths_hash != document.paths_hash:
        db.execute("DELETE FROM document_paths WHERE document_id = ?", (stored.id,))
        _add_paths(db, stored.id, document.paths)


def touch(db: apsw.Connection, document_id: int, updated_at: int) -> None:
    db.execute("UPDATE documents SET updated_at = ? WHERE id = ?", (updated_at, document_id))


def _add_labels(db: apsw.Connection, document_id: int, labels: Sequence[str]) -> None:
    rows = [(document_id, name) for name in labels]
    db.executemany("INSERT OR IGNORE INTO document_labels (document_id, label_name) VALUES (?, ?)", rows)


def _add_paths(db: apsw.Connection, document_id: int, paths: Sequence[str]) -> None:
    rows = [(document_id, path) for path in paths]
    db.executemany("INSERT OR IGNORE INTO document_paths (document_id, path) VALUES (?, ?)", rows)


def delete(db: apsw.Connection, document_ids: Sequence[int]) -> None:
    """Documents with their passages and vectors; the lexical index is told separately."""
    db.executemany("DELETE FROM documents WHERE id = ?", [(document_id,) for document_id in document_ids])


# ── passages ────────────────────────────────────────────────────────────────────────────────────────────


def replace_passages(db: apsw.Connection, document_id: int, passages: Sequence[Passage], written_at: int) -> None:
    """The passages of a document anew; those whose text stays keep their id, and so their vectors."""
    kept: dict[bytes, list[tuple[int, int]]] = {}
    for passage_id, text_hash, position in db.execute(
        "SELECT id, text_hash, position FROM passages WHERE document_id = ? ORDER BY position DESC", (document_id,)
    ):
        kept.setdefault(text_hash, []).append((passage_id, position))
    fresh: list[int] = []
    for place, passage in enumerate(passages):
        values = (place, passage.note_id, passage.start, passage.end)
        same = kept.get(passage.text_hash)
        if same:
            passage_id, position = same.pop()
            db.execute(
                "UPDATE passages SET position = ?, note_id = ?, text_start = ?, text_end = ? WHERE id = ?",
                (*values, passage_id),
            )
            if (place == 0) != (position == 0):
                vectors.renumber(db, passage_id)
            continue
        db.execute(
            "INSERT INTO passages (document_id, position, note_id, text_start, text_end, text_hash)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (document_id, *values, passage.text_hash),
        )
        fresh.append(cast(int, db.last_insert_rowid()))
    db.execute("UPDATE documents SET passage_count = ? WHERE id = ?", (len(passages), document_id))
    gone = [(passage_id,) for left in kept.values() for passage_id, _ in left]
    db.executemany("DELETE FROM passages WHERE id = ?", gone)
    if fresh:
        db.executemany(
            "INSERT INTO pending_embeddings (space_id, passage_id, written_at) SELECT id, ?, ? FROM spaces",
            [(passage_id, written_at) for passage_id in fresh],
        )


# ── counts ──────────────────────────────────────────────────────────────────────────────────────────────


class Counts(Struct, frozen=True):
    issues: int
    merge_requests: int
    discussions: int
    truncated: int
    passages: int

    @property
    def total(self) -> int:
        return self.issues + self.merge_requests + self.discussions


def counts(db: apsw.Connection) -> Counts:
    by_type = dict(db.execute("SELECT source_type, count(*) FROM documents GROUP BY source_type").fetchall())
    truncated = db.execute("SELECT count(*) FROM documents WHERE is_truncated").fetchone()[0]
    passages = db.execute("SELECT count(*) FROM passages").fetchone()[0]
    return Counts(
        by_type.get(SourceType.ISSUE.value, 0),
        by_type.get(SourceType.MERGE_REQUEST.value, 0),
        by_type.get(SourceType.DISCUSSION.value, 0),
        truncated,
        passages,
    )
