"""The change feed: what documents and indexes follow. Written in the transaction of the change itself."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

_RECORD = "INSERT OR REPLACE INTO changes (source_type, source_id, operation) VALUES (?, ?, ?)"


def upserted(db: apsw.Connection, source_type: str, source_ids: Iterable[int]) -> None:
    db.executemany(_RECORD, [(source_type, source_id, "upsert") for source_id in source_ids])


def deleted(db: apsw.Connection, source_type: str, source_ids: Iterable[int]) -> None:
    db.executemany(_RECORD, [(source_type, source_id, "delete") for source_id in source_ids])
