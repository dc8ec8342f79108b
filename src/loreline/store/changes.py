"""The change feed: which entities have changed, latest change last. Documents and indexes follow it.

Written in the transaction of the change itself. An entity stands for its threads too: a thread's own
content hash tells a follower which of them to look at.
"""

from __future__ import annotations

import apsw

from loreline.core.entities import Kind


def upserted(db: apsw.Connection, kind: Kind, local_id: int) -> None:
    _record(db, kind, local_id, "upsert")


def deleted(db: apsw.Connection, kind: Kind, local_id: int) -> None:
    _record(db, kind, local_id, "delete")


def project_renamed(db: apsw.Connection, project_id: int) -> None:
    """Whatever stands in it has another address now."""
    for kind in Kind:
        db.execute(
            "INSERT OR REPLACE INTO changes (entity_type, entity_id, operation)"
            f" SELECT ?, id, 'upsert' FROM {kind.plural} WHERE project_id = ? ORDER BY id",
            (kind.value, project_id),
        )


def _record(db: apsw.Connection, kind: Kind, local_id: int, operation: str) -> None:
    db.execute(
        "INSERT OR REPLACE INTO changes (entity_type, entity_id, operation) VALUES (?, ?, ?)",
        (kind.value, local_id, operation),
    )
