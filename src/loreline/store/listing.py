"""Lists of entities: filters composed into one statement, with every value bound."""

from __future__ import annotations

from typing import Any

import apsw
from msgspec import Struct

from loreline.core.entities import Kind


class Filter(Struct, frozen=True, kw_only=True):
    """What a list is narrowed to; all given conditions hold together."""

    project_ids: tuple[int, ...] | None = None
    states: tuple[str, ...] = ()
    author: str | None = None
    assignee: str | None = None
    reviewer: str | None = None
    labels: tuple[str, ...] = ()
    milestone: str | None = None
    updated_since: int | None = None
    title_words: tuple[str, ...] = ()


class Order(Struct, frozen=True):
    """By which column, and which way."""

    column: str
    descending: bool

    @property
    def name(self) -> str:
        return f"{self.column}-{'desc' if self.descending else 'asc'}"


class Row(Struct, frozen=True, kw_only=True):
    """An entity in a list."""

    id: int
    kind: str
    project: str
    iid: int
    title: str
    state: str
    draft: bool
    confidential: bool
    author: str | None
    created_at: int
    updated_at: int
    closed_at: int | None
    merged_at: int | None
    milestone: str | None
    comments: int
    source_branch: str | None
    target_branch: str | None
    web_url: str | None
    labels: list[str]
    assignees: list[str]


COLUMNS = {"updated": "updated_at", "created": "created_at", "number": "iid", "title": "title COLLATE NOCASE"}
"""What a list can be sorted by."""


def page(
    db: apsw.Connection,
    kind: Kind,
    chosen: Filter,
    order: Order,
    limit: int,
    after: tuple[Any, int] | None,
) -> tuple[list[Row], bool]:
    """The next rows, and whether there are more behind them."""
    conditions, values = _conditions(kind, chosen)
    column = f"e.{COLUMNS[order.column]}"
    compare, direction = ("<", "DESC") if order.descending else (">", "ASC")
    if after is not None:
        conditions.append(f"({column}, e.id) {compare} (?, ?)")
        values += after
    own = (
        "e.draft, 0, e.merged_at, e.source_branch, e.target_branch"
        if kind is Kind.MERGE_REQUEST
        else "0, e.confidential, NULL, NULL, NULL"
    )
    rows = db.execute(
        "SELECT e.id, p.path_with_namespace, e.iid, e.title, e.state, e.author_username, e.created_at, e.updated_at,"
        f" e.closed_at, e.milestone_title, e.user_notes_count, e.web_url, {own}"
        f" FROM {kind.plural} e JOIN projects p ON p.id = e.project_id"
        f" WHERE {' AND '.join(conditions) or '1'} ORDER BY {column} {direction}, e.id {direction} LIMIT ?",
        (*values, limit + 1),
    ).fetchall()
    return [_row(db, kind, row) for row in rows[:limit]], len(rows) > limit


def count(db: apsw.Connection, kind: Kind, chosen: Filter) -> int:
    conditions, values = _conditions(kind, chosen)
    row = db.execute(
        f"SELECT count(*) FROM {kind.plural} e WHERE {' AND '.join(conditions) or '1'}", tuple(values)
    ).fetchone()
    return int(row[0])


def _conditions(kind: Kind, chosen: Filter) -> tuple[list[str], list[Any]]:
    short = "issue" if kind is Kind.ISSUE else "mr"
    owner = "issue_id" if kind is Kind.ISSUE else "merge_request_id"
    conditions: list[str] = []
    values: list[Any] = []

    def add(condition: str, *bound: Any) -> None:
        conditions.append(condition)
        values.extend(bound)

    if chosen.project_ids is not None:
        add(f"e.project_id IN ({_marks(chosen.project_ids)})", *chosen.project_ids)
    if chosen.states:
        add(f"e.state IN ({_marks(chosen.states)})", *chosen.states)
    if chosen.author is not None:
        add("e.author_username = ? COLLATE NOCASE", chosen.author)
    people = f"EXISTS (SELECT 1 FROM {{}} a WHERE a.{owner} = e.id AND a.username = ? COLLATE NOCASE)"
    if chosen.assignee is not None:
        add(people.format(f"{short}_assignees"), chosen.assignee)
    if chosen.reviewer is not None:
        add(people.format("mr_reviewers"), chosen.reviewer)
    for label in chosen.labels:
        add(
            f"EXISTS (SELECT 1 FROM {short}_labels j JOIN labels l ON l.id = j.label_id"
            f" WHERE j.{owner} = e.id AND l.name = ? COLLATE NOCASE)",
            label,
        )
    if chosen.milestone is not None:
        add("e.milestone_title = ? COLLATE NOCASE", chosen.milestone)
    if chosen.updated_since is not None:
        add("e.updated_at >= ?", chosen.updated_since)
    for word in chosen.title_words:
        add("instr(lower(e.title), lower(?))", word)
    return conditions, values


def _marks(values: tuple[Any, ...]) -> str:
    return ", ".join("?" * len(values))


def _row(db: apsw.Connection, kind: Kind, row: tuple[Any, ...]) -> Row:
    local_id, path, iid, title, state, author, created, updated, closed, milestone, comments, url, *own = row
    draft, confidential, merged, source, target = own
    return Row(
        id=local_id,
        kind=kind.value,
        project=path,
        iid=iid,
        title=title,
        state=state,
        draft=bool(draft),
        confidential=bool(confidential),
        author=author,
        created_at=created,
        updated_at=updated,
        closed_at=closed,
        merged_at=merged,
        milestone=milestone,
        comments=comments,
        source_branch=source,
        target_branch=target,
        web_url=url,
        labels=labels(db, kind, local_id),
        assignees=people(db, "assignees", kind, local_id),
    )


def labels(db: apsw.Connection, kind: Kind, local_id: int) -> list[str]:
    short, owner = ("issue", "issue_id") if kind is Kind.ISSUE else ("mr", "merge_request_id")
    rows = db.execute(
        f"SELECT l.name FROM {short}_labels j JOIN labels l ON l.id = j.label_id WHERE j.{owner} = ? ORDER BY l.name",
        (local_id,),
    )
    return [row[0] for row in rows]


def people(db: apsw.Connection, role: str, kind: Kind, local_id: int) -> list[str]:
    """The usernames of its 'assignees' or 'reviewers'."""
    short, owner = ("issue", "issue_id") if kind is Kind.ISSUE else ("mr", "merge_request_id")
    rows = db.execute(f"SELECT username FROM {short}_{role} WHERE {owner} = ? ORDER BY username", (local_id,))
    return [row[0] for row in rows]
