"""Filters as sets of documents: both retrievers search inside them, so that a filter costs no result."""

from __future__ import annotations

from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from loreline.core.documents import SourceType
from loreline.core.query import Filters

Ids = NDArray[np.int64]


def entities_inside(db: apsw.Connection, filters: Filters, project_ids: tuple[int, ...] | None) -> Ids | None:
    """The issues and merge requests that match, ascending; None where nothing narrows them."""
    conditions, values = _of_entities(filters, project_ids)
    kind, kind_values = _kind(filters)
    own, own_values = _own(filters)
    if not (kind or own or conditions):
        return None
    return _ids(db, ["d.entity_document_id = d.id", *kind, *conditions, *own], [*kind_values, *values, *own_values])


def threads_inside(db: apsw.Connection, filters: Filters, project_ids: tuple[int, ...] | None) -> Ids | None:
    """The threads that match: by their own author, files and times, and by their entity's rest."""
    conditions, values = _of_entities(filters, project_ids)
    own, own_values = _own(filters)
    if not (own or conditions):
        return None
    wanted = ["d.source_type = 'discussion'", *own]
    if conditions:
        wanted.append(
            "d.entity_document_id IN (SELECT d.id FROM documents d WHERE d.entity_document_id = d.id"
            f" AND {' AND '.join(conditions)})"
        )
    return _ids(db, wanted, [*own_values, *values])


def _ids(db: apsw.Connection, conditions: list[str], values: list[Any]) -> Ids:
    # One long text is handed over faster than a hundred thousand rows.
    row = db.execute(
        f"SELECT group_concat(d.id, ' ') FROM documents d WHERE {' AND '.join(conditions)}", tuple(values)
    ).fetchone()
    return np.sort(np.array(row[0].split(), np.int64)) if row[0] else np.empty(0, np.int64)


def _kind(filters: Filters) -> tuple[list[str], list[Any]]:
    if filters.source_type in (SourceType.ISSUE, SourceType.MERGE_REQUEST):
        return ["d.source_type = ?"], [filters.source_type.value]
    return [], []


def _of_entities(filters: Filters, project_ids: tuple[int, ...] | None) -> tuple[list[str], list[Any]]:
    """What only the entity itself can answer."""
    conditions: list[str] = []
    values: list[Any] = []
    if project_ids is not None:
        conditions.append(f"d.project_id IN ({', '.join('?' * len(project_ids))})")
        values += project_ids
    for label in filters.labels:
        conditions.append(
            "d.id IN (SELECT document_id FROM document_labels WHERE label_name = ?"
            " UNION SELECT document_id FROM document_labels WHERE label_name IN"
            "  (SELECT name FROM labels WHERE name = ? COLLATE NOCASE))"
        )
        values += [label, label]
    either = (
        "(d.source_type = 'issue' AND d.source_id IN (SELECT e.id FROM issues e WHERE {0})"
        " OR d.source_type = 'merge_request' AND d.source_id IN (SELECT e.id FROM merge_requests e WHERE {1}))"
    )
    if filters.state is not None:
        conditions.append(either.format("e.state = ?", "e.state = ?"))
        values += [filters.state] * 2
    if filters.milestone is not None:
        title = "e.milestone_title = ? COLLATE NOCASE"
        conditions.append(either.format(title, title))
        values += [filters.milestone] * 2
    if filters.assignee is not None:
        assigned = "e.id IN (SELECT {0} FROM {1} WHERE username = ? COLLATE NOCASE)"
        conditions.append(
            either.format(
                assigned.format("issue_id", "issue_assignees"), assigned.format("merge_request_id", "mr_assignees")
            )
        )
        values += [filters.assignee] * 2
    return conditions, values


def _own(filters: Filters) -> tuple[list[str], list[Any]]:
    """What each document answers for itself."""
    conditions: list[str] = []
    values: list[Any] = []
    if filters.author is not None:
        conditions.append("d.author_username = ? COLLATE NOCASE")
        values.append(filters.author)
    if filters.path is not None:
        if filters.path.endswith("/"):
            # A range instead of LIKE: no character of a path means anything else, and the index is used.
            conditions.append("d.id IN (SELECT document_id FROM document_paths WHERE path >= ? AND path < ?)")
            values += [filters.path, filters.path[:-1] + "0"]  # '0' follows '/'
        else:
            conditions.append("d.id IN (SELECT document_id FROM document_paths WHERE path = ?)")
            values.append(filters.path)
    for column, compare, moment in (
        ("created_at", ">=", filters.created_after),
        ("created_at", "<", filters.created_before),
        ("updated_at", ">=", filters.updated_after),
        ("updated_at", "<", filters.updated_before),
    ):
        if moment is not None:
            conditions.append(f"d.{column} {compare} ?")
            values.append(moment)
    return conditions, values
