"""What is shown of documents that were found.

CROSS JOIN keeps SQLite to the order written: few ids first, never a walk through all documents of a kind.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw
from msgspec import Struct

from loreline.core.documents import SourceType
from loreline.store.arrays import bound


class EntityHit(Struct, frozen=True):
    """An issue or merge request as a result shows it."""

    document_id: int
    source_type: SourceType
    local_id: int
    project: str
    iid: int
    title: str
    state: str
    author: str | None
    created_at: int
    updated_at: int
    labels: list[str]
    confidential: bool
    web_url: str | None

    @property
    def reference(self) -> str:
        return f"{self.project}{'#' if self.source_type is SourceType.ISSUE else '!'}{self.iid}"


class ThreadHit(Struct, frozen=True):
    """A thread as a result shows it; its title and project are its entity's."""

    document_id: int
    entity_id: int
    """The entity's document."""
    author: str | None
    created_at: int
    updated_at: int
    resolved: bool | None
    """None where it can't be resolved."""


class Body(Struct, frozen=True):
    """A document's text without its header."""

    document_id: int
    title: str
    start: int
    """Where in the whole it begins: what the places of passages count in."""
    text: str


class Slice(Struct, frozen=True):
    """A passage's place in the text of its document."""

    id: int
    document_id: int
    note_id: int | None
    start: int
    end: int


def entities(db: apsw.Connection, document_ids: Sequence[int]) -> dict[int, EntityHit]:
    """By document; those that have gone are missing."""
    rows = db.execute(
        "SELECT d.id, d.source_type, d.source_id, p.path_with_namespace, coalesce(i.iid, m.iid), d.title,"
        " coalesce(i.state, m.state), d.author_username, d.created_at, d.updated_at, d.label_names,"
        " coalesce(i.confidential, 0), d.url"
        " FROM carray(?) c CROSS JOIN documents d ON d.id = c.value JOIN projects p ON p.id = d.project_id"
        " LEFT JOIN issues i ON d.source_type = 'issue' AND i.id = d.source_id"
        " LEFT JOIN merge_requests m ON d.source_type = 'merge_request' AND m.id = d.source_id"
        " WHERE coalesce(i.id, m.id) IS NOT NULL",
        (bound(document_ids),),
    )
    found = {}
    for document, kind, local, project, iid, title, state, author, created, updated, labels, confidential, url in rows:
        found[document] = EntityHit(
            document, SourceType(kind), local, project, iid, title, state, author, created, updated,
            json.loads(labels), bool(confidential), url,
        )  # fmt: skip
    return found


def threads(db: apsw.Connection, document_ids: Sequence[int]) -> dict[int, ThreadHit]:
    rows = db.execute(
        "SELECT d.id, d.entity_document_id, d.author_username, d.created_at, d.updated_at,"
        " CASE WHEN t.resolvable THEN t.resolved END"
        " FROM carray(?) c CROSS JOIN documents d ON d.id = c.value CROSS JOIN discussions t ON t.id = d.source_id"
        " WHERE d.source_type = 'discussion'",
        (bound(document_ids),),
    )
    found = {}
    for document, entity, author, created, updated, resolved in rows:
        known = None if resolved is None else bool(resolved)
        found[document] = ThreadHit(document, entity, author, created, updated, known)
    return found


def bodies_of_entities(db: apsw.Connection, entity_ids: Sequence[int]) -> dict[int, list[Body]]:
    """By entity: its description and its threads, without their headers."""
    found: dict[int, list[Body]] = {}
    for entity, document, title, start, text in db.execute(
        "SELECT d.entity_document_id, d.id, d.title, t.body_start, substr(t.content_text, t.body_start + 1)"
        " FROM carray(?) c CROSS JOIN documents d ON d.entity_document_id = c.value"
        " JOIN document_texts t ON t.document_id = d.id",
        (bound(entity_ids),),
    ):
        found.setdefault(entity, []).append(Body(document, title, start, text))
    return found


def slices(db: apsw.Connection, document_ids: Sequence[int]) -> dict[int, list[Slice]]:
    """The passages of documents, in their order."""
    found: dict[int, list[Slice]] = {}
    for row in db.execute(
        "SELECT p.id, p.document_id, p.note_id, p.text_start, p.text_end FROM carray(?) c"
        " CROSS JOIN passages p ON p.document_id = c.value ORDER BY p.document_id, p.position",
        (bound(document_ids),),
    ):
        found.setdefault(row[1], []).append(Slice(*row))
    return found


def times(db: apsw.Connection, document_ids: Sequence[int]) -> dict[int, int]:
    """When each was last changed."""
    return dict(
        db.execute(
            "SELECT d.id, d.updated_at FROM carray(?) c CROSS JOIN documents d ON d.id = c.value",
            (bound(document_ids),),
        )
    )


def of_commits(db: apsw.Connection, sha: str) -> list[int]:
    """The documents of merge requests that hold a commit, or were merged as one, by the beginning of its SHA."""
    beyond = sha[:-1] + chr(ord(sha[-1]) + 1)
    rows = db.execute(
        "SELECT d.id FROM documents d WHERE d.source_type = 'merge_request' AND d.source_id IN ("
        " SELECT merge_request_id FROM mr_commits WHERE sha >= ?1 AND sha < ?2"
        " UNION SELECT id FROM merge_requests WHERE merge_commit_sha >= ?1 AND merge_commit_sha < ?2"
        " UNION SELECT id FROM merge_requests WHERE squash_commit_sha >= ?1 AND squash_commit_sha < ?2)"
        " ORDER BY d.id LIMIT 20",
        (sha, beyond),
    ).fetchall()
    return [row[0] for row in rows]


_NAMES = {
    "author": "SELECT DISTINCT author_username FROM documents WHERE author_username IS NOT NULL",
    "assignee": "SELECT username FROM issue_assignees UNION SELECT username FROM mr_assignees",
    "milestone": "SELECT DISTINCT title FROM milestones",
    "label": "SELECT DISTINCT label_name FROM document_labels",
}


def names(db: apsw.Connection, kind: str) -> list[str]:
    """Whom a filter can name."""
    return [row[0] for row in db.execute(_NAMES[kind])]


def any_at_all(db: apsw.Connection) -> bool:
    return db.execute("SELECT 1 FROM documents LIMIT 1").fetchone() is not None
