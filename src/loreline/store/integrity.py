"""Faults in what search goes by: how they are found, and how they are mended. None should ever be there."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from loreline.core.documents import text_hash
from loreline.core.entities import Kind
from loreline.core.passages import embedded_text
from loreline.store import documents, subjects
from loreline.store.arrays import bound

# ── documents and passages ──────────────────────────────────────────────────────────────────────────────


def stale_documents(db: apsw.Connection) -> list[int]:
    """Documents whose text is not what its hash says, or that have none."""
    rows = db.execute(
        "SELECT d.id, d.content_hash, t.content_text FROM documents d"
        " LEFT JOIN document_texts t ON t.document_id = d.id"
    )
    return [document for document, expected, text in rows if text is None or text_hash(text) != expected]


def badly_sliced(db: apsw.Connection) -> list[int]:
    """Documents that lack a passage, or have one that is not the slice its hash says."""
    fewer = db.execute(
        "SELECT d.id FROM documents d WHERE d.passage_count <>"
        " (SELECT count(*) FROM passages p WHERE p.document_id = d.id)"
    ).fetchall()
    rows = db.execute(
        "SELECT d.id, d.title, t.content_text, p.text_start, p.text_end, p.text_hash FROM documents d"
        " JOIN document_texts t ON t.document_id = d.id LEFT JOIN passages p ON p.document_id = d.id"
    )
    found = {row[0] for row in fewer} | {
        document
        for document, title, text, start, end, expected in rows
        if expected is None or text_hash(embedded_text(title, text[start:end])) != expected
    }
    return sorted(found)


def without_document(db: apsw.Connection, bots: subjects.Bots) -> list[tuple[Kind, int]]:
    """Entities that the feed has been followed beyond, and that have no document, or a thread of theirs has none."""
    return [*_silent(db), *_with_silent_threads(db, bots)]


def _with_silent_threads(db: apsw.Connection, bots: subjects.Bots) -> list[tuple[Kind, int]]:
    rows = db.execute(
        "SELECT DISTINCT t.issue_id, t.merge_request_id FROM discussions t WHERE NOT EXISTS"
        " (SELECT 1 FROM documents d WHERE d.source_type = 'discussion' AND d.source_id = t.id)"
        " AND EXISTS (SELECT 1 FROM notes n WHERE n.discussion_id = t.id AND NOT n.is_system)"
    ).fetchall()
    owners = [(Kind.ISSUE, issue) if issue is not None else (Kind.MERGE_REQUEST, request) for issue, request in rows]
    return [owner for owner in owners if _followed(db, *owner) and _lacks_a_thread(db, *owner, bots)]


def _lacks_a_thread(db: apsw.Connection, kind: Kind, entity: int, bots: subjects.Bots) -> bool:
    document = documents.of_entity(db, kind, entity)
    if document is None:
        return False
    known = documents.of_threads(db, document.id)
    return any(thread.id not in known for thread in subjects.threads(db, kind, entity, bots))


def _followed(db: apsw.Connection, kind: Kind, entity: int) -> bool:
    row = db.execute(
        "SELECT 1 FROM changes c WHERE c.entity_type = ?1 AND c.entity_id = ?2 AND c.sequence <= ?3 AND NOT EXISTS"
        " (SELECT 1 FROM dirty_sources s WHERE s.entity_type = ?1 AND s.entity_id = ?2)",
        (kind.value, entity, documents.position(db)),
    ).fetchone()
    return row is not None


def _silent(db: apsw.Connection) -> list[tuple[Kind, int]]:
    position = documents.position(db)
    rows = db.execute(
        "SELECT c.entity_type, c.entity_id FROM changes c WHERE c.sequence <= ? AND c.operation = 'upsert'"
        " AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.source_type = c.entity_type AND d.source_id = c.entity_id)"
        " AND NOT EXISTS (SELECT 1 FROM dirty_sources s WHERE s.entity_type = c.entity_type"
        "  AND s.entity_id = c.entity_id)",
        (position,),
    ).fetchall()
    return [(Kind(kind), entity) for kind, entity in rows]


def make_anew(db: apsw.Connection, document_ids: Sequence[int], now: int) -> None:
    """Have the entities of these documents made into documents again, and written whatever their hashes say."""
    db.execute(
        "UPDATE documents SET content_hash = x'', labels_hash = x'', paths_hash = x'', index_hash = x''"
        " WHERE id IN (SELECT value FROM carray(?))",
        (bound(document_ids),),
    )
    owners = db.execute(
        "SELECT DISTINCT o.source_type, o.source_id FROM carray(?) c JOIN documents d ON d.id = c.value"
        " JOIN documents o ON o.id = d.entity_document_id",
        (bound(document_ids),),
    ).fetchall()
    make_sources_anew(db, [(Kind(kind), entity) for kind, entity in owners], now)


def make_sources_anew(db: apsw.Connection, sources: Sequence[tuple[Kind, int]], now: int) -> None:
    for kind, entity in sources:
        documents.put_off(db, kind, entity, "asked for by a repair", 0, now)


# ── vectors ─────────────────────────────────────────────────────────────────────────────────────────────


def orphaned_vectors(db: apsw.Connection) -> list[int]:
    rows = db.execute(
        "SELECT id FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.id = v.passage_id)"
        " OR NOT EXISTS (SELECT 1 FROM spaces s WHERE s.id = v.space_id)"
    ).fetchall()
    return [row[0] for row in rows]


def stale_vectors(db: apsw.Connection) -> list[int]:
    """Vectors of another text than their passage has, which is not waiting to be embedded again."""
    rows = db.execute(
        "SELECT v.id FROM vectors v JOIN passages p ON p.id = v.passage_id WHERE v.text_hash <> p.text_hash"
        " AND NOT EXISTS (SELECT 1 FROM pending_embeddings q"
        "  WHERE q.passage_id = v.passage_id AND q.space_id = v.space_id)"
    ).fetchall()
    return [row[0] for row in rows]


def delete_vectors(db: apsw.Connection, vector_ids: Sequence[int]) -> None:
    db.execute("DELETE FROM vectors WHERE id IN (SELECT value FROM carray(?))", (bound(vector_ids),))


def forgotten_passages(db: apsw.Connection) -> list[tuple[int, int]]:
    """(space, passage) with neither a vector nor a place in the queue."""
    rows: list[tuple[int, int]] = db.execute(
        "SELECT s.id, p.id FROM spaces s CROSS JOIN passages p"
        " WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.passage_id = p.id AND v.space_id = s.id)"
        " AND NOT EXISTS (SELECT 1 FROM pending_embeddings q WHERE q.passage_id = p.id AND q.space_id = s.id)"
    ).fetchall()
    return rows


def enqueue_passages(db: apsw.Connection, forgotten: Sequence[tuple[int, int]]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO pending_embeddings (space_id, passage_id, written_at)"
        " SELECT ?, p.id, d.updated_at FROM passages p JOIN documents d ON d.id = p.document_id WHERE p.id = ?",
        forgotten,
    )


# ── queues ──────────────────────────────────────────────────────────────────────────────────────────────

_LONGEST_WAIT_MS = 2 * 3_600_000
"""No row of ours waits longer than an hour and its jitter."""

_STUCK = {
    "pending_embeddings": (
        "next_attempt_at > ?1 OR EXISTS (SELECT 1 FROM vectors v JOIN passages p ON p.id = v.passage_id"
        " WHERE v.passage_id = pending_embeddings.passage_id AND v.space_id = pending_embeddings.space_id"
        " AND v.text_hash = p.text_hash AND pending_embeddings.attempts > 0 AND pending_embeddings.last_error IS NULL)"
        " OR NOT EXISTS (SELECT 1 FROM passages p WHERE p.id = pending_embeddings.passage_id)"
    ),
    "dirty_sources": "next_attempt_at > ?1",
    "pending_dependent_fetches": (
        "next_attempt_at > ?1 OR (locked_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sync_lease))"
    ),
}


def stuck_rows(db: apsw.Connection, now: int) -> int:
    """Rows of the queues that nobody would ever take."""
    limit = now + _LONGEST_WAIT_MS
    return sum(
        db.execute(f"SELECT count(*) FROM {table} WHERE {condition}", (limit,)).fetchone()[0]
        for table, condition in _STUCK.items()
    )


def free_stuck_rows(db: apsw.Connection, now: int) -> None:
    limit = now + _LONGEST_WAIT_MS
    db.execute(
        "DELETE FROM pending_embeddings WHERE NOT EXISTS"
        " (SELECT 1 FROM passages p WHERE p.id = pending_embeddings.passage_id)"
    )
    for table, condition in _STUCK.items():
        claim = ", locked_at = NULL" if table == "pending_dependent_fetches" else ""
        soonest = "0" if table == "dirty_sources" else "NULL"
        db.execute(f"UPDATE {table} SET next_attempt_at = {soonest}, attempts = 0{claim} WHERE {condition}", (limit,))
