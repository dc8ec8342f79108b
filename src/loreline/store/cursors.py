"""How far the listing of each project has come."""

from __future__ import annotations

import apsw
from msgspec import Struct

from loreline.core.entities import Kind


class Cursor(Struct, frozen=True, order=True):
    """The last committed entity, in the order of (updated_at, gitlab_id)."""

    updated_at: int
    gitlab_id: int


class Advance(Struct, frozen=True):
    """How far a page moves the cursor."""

    after: Cursor | None
    """What the pages before it in the same walk have reached, if they were all stored."""
    to: Cursor | None


def read(db: apsw.Connection, project_id: int, kind: Kind) -> Cursor | None:
    row = db.execute(
        "SELECT updated_at_cursor, tie_breaker_id FROM sync_cursors WHERE project_id = ? AND resource_type = ?",
        (project_id, kind.plural),
    ).fetchone()
    return Cursor(*row) if row else None


def advance(db: apsw.Connection, project_id: int, kind: Kind, step: Advance) -> None:
    """Move forward; the overlap of a listing never moves it back.

    Pages are handed over before those in front of them are committed. If one of these could not be stored, the cursor
    stays before it, and the next sync lists it again.
    """
    cursor = step.to
    stored = read(db, project_id, kind)
    if cursor is None or (step.after is not None and (stored is None or stored < step.after)):
        return
    db.execute(
        "INSERT INTO sync_cursors (project_id, resource_type, updated_at_cursor, tie_breaker_id) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (project_id, resource_type) DO UPDATE SET updated_at_cursor = excluded.updated_at_cursor,"
        " tie_breaker_id = excluded.tie_breaker_id"
        " WHERE (excluded.updated_at_cursor, excluded.tie_breaker_id) > (updated_at_cursor, tie_breaker_id)",
        (project_id, kind.plural, cursor.updated_at, cursor.gitlab_id),
    )


def reset(db: apsw.Connection, project_id: int, kind: Kind) -> None:
    db.execute("DELETE FROM sync_cursors WHERE project_id = ? AND resource_type = ?", (project_id, kind.plural))
