"""Issues and merge requests: rows in, rows out, and how they go away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import apsw
from msgspec import Struct

from loreline.core.entities import Entity, Issue, Kind, MergeRequest, MergeRequestDetails, User
from loreline.core.plans import Known
from loreline.store import changes, payloads, projects, queue, references, users


class EntityKey(Struct, frozen=True):
    """An entity of the mirror, named both ways."""

    kind: Kind
    id: int
    project_id: int
    instance_id: int
    gitlab_id: int
    iid: int
    updated_at: int


_SHARED = (
    "gitlab_id", "project_id", "iid", "title", "description", "state", "author_gitlab_id", "author_username",
    "created_at", "updated_at", "closed_at", "closed_by", "web_url", "milestone_id", "milestone_title",
    "user_notes_count", "upvotes", "downvotes", "discussion_locked", "raw_payload_id", "activity_key", "swept_at",
)  # fmt: skip
_ISSUE = ("confidential", "issue_type", "severity", "weight", "due_date", "moved_to_id")
_MERGE_REQUEST = (
    "draft", "source_branch", "target_branch", "source_project_id", "merged_at", "merged_by", "squash", "head_sha",
    "merge_commit_sha", "squash_commit_sha", "code_key",
)  # fmt: skip


_COLUMNS = {Kind.ISSUE: _SHARED + _ISSUE, Kind.MERGE_REQUEST: _SHARED + _MERGE_REQUEST}
_INSERT = {
    kind: f"INSERT INTO {kind.plural} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    for kind, columns in _COLUMNS.items()
}
_UPDATE = {
    kind: f"UPDATE {kind.plural} SET ({', '.join(columns)}) = ({', '.join('?' * len(columns))})"
    " WHERE project_id = ? AND gitlab_id = ? RETURNING id"
    for kind, columns in _COLUMNS.items()
}
_OWNER = {Kind.ISSUE: "issue_id", Kind.MERGE_REQUEST: "merge_request_id"}
_LABELS = {Kind.ISSUE: "issue_labels", Kind.MERGE_REQUEST: "mr_labels"}
_BELONGINGS = {
    Kind.ISSUE: ("issue_labels", "issue_assignees"),
    Kind.MERGE_REQUEST: ("mr_labels", "mr_assignees", "mr_reviewers"),
}
_ASSIGNEES = {Kind.ISSUE: "issue_assignees", Kind.MERGE_REQUEST: "mr_assignees"}


def owner_column(kind: Kind) -> str:
    """The column of other tables that points at such an entity."""
    return _OWNER[kind]


def known(db: apsw.Connection, project_id: int, kind: Kind, gitlab_ids: Sequence[int]) -> dict[int, Known]:
    """What the mirror holds of these entities, as far as planning needs it, by GitLab id."""
    code_key = "e.code_key" if kind is Kind.MERGE_REQUEST else "NULL"
    rows = db.execute(
        f"SELECT e.gitlab_id, e.id, e.iid, e.activity_key, {code_key}, b.hash, e.discussions_fetched_at"
        f" FROM {kind.plural} e LEFT JOIN raw_payloads p ON p.id = e.raw_payload_id"
        " LEFT JOIN raw_bodies b ON b.id = p.body_id"
        f" WHERE e.project_id = ? AND e.gitlab_id IN ({', '.join('?' * len(gitlab_ids))})",
        (project_id, *gitlab_ids),
    )
    return {row[0]: Known(*row[1:]) for row in rows}


def upsert(
    db: apsw.Connection,
    project: projects.MirroredProject,
    kind: Kind,
    entity: Entity,
    *,
    raw_payload_id: int,
    activity_key: bytes,
    code_key: bytes | None,
    seen_at: int,
    known: bool,
) -> int:
    """Write one entity, `known` or new, with its labels and people; returns its local id."""
    _make_room(db, project, kind, entity)
    milestone = entity.milestone
    milestone_id = projects.upsert_milestone(db, project.id, milestone) if milestone else None
    shared = (
        entity.gitlab_id,
        project.id,
        entity.iid,
        entity.title,
        entity.description,
        entity.state,
        entity.author.gitlab_id if entity.author else None,
        entity.author.username if entity.author else None,
        entity.created_at,
        entity.updated_at,
        entity.closed_at,
        entity.closed_by,
        entity.web_url,
        milestone_id,
        milestone.title if milestone else None,
        entity.user_notes_count,
        entity.upvotes,
        entity.downvotes,
        entity.discussion_locked,
        raw_payload_id,
        activity_key,
        seen_at,
    )
    values = shared + _own_values(entity, code_key)
    if known:
        row = db.execute(_UPDATE[kind], (*values, project.id, entity.gitlab_id)).fetchone()
        local_id = cast(int, row[0])
        for table in _BELONGINGS[kind]:
            db.execute(f"DELETE FROM {table} WHERE {_OWNER[kind]} = ?", (local_id,))
    else:
        db.execute(_INSERT[kind], values)
        local_id = db.last_insert_rowid()
    _add_labels(db, project.id, kind, local_id, entity.labels)
    _add_people(db, _ASSIGNEES[kind], kind, local_id, entity.assignees)
    people = [entity.author, *entity.assignees]
    if isinstance(entity, MergeRequest):
        _add_people(db, "mr_reviewers", kind, local_id, entity.reviewers)
        people += entity.reviewers
    users.upsert(db, project.instance_id, people)
    db.execute(
        "DELETE FROM tombstones WHERE project_id = ? AND entity_type = ? AND gitlab_id = ?",
        (project.id, kind.value, entity.gitlab_id),
    )
    changes.upserted(db, kind, local_id)
    return local_id


def _make_room(db: apsw.Connection, project: projects.MirroredProject, kind: Kind, entity: Entity) -> None:
    """Another entity under the same number is one GitLab no longer has."""
    row = db.execute(
        f"SELECT gitlab_id FROM {kind.plural} WHERE project_id = ? AND iid = ? AND gitlab_id <> ?",
        (project.id, entity.iid, entity.gitlab_id),
    ).fetchone()
    if row is not None:
        stale = find(db, project.id, kind, entity.iid)
        if stale is not None:
            delete(db, stale, noticed_at=entity.updated_at)


def _own_values(entity: Entity, code_key: bytes | None) -> tuple[object, ...]:
    if isinstance(entity, Issue):
        return (
            entity.confidential,
            entity.issue_type,
            entity.severity,
            entity.weight,
            entity.due_date,
            entity.moved_to_id,
        )
    request = cast(MergeRequest, entity)
    return (
        request.draft,
        request.source_branch,
        request.target_branch,
        request.source_project_id,
        request.merged_at,
        request.merged_by,
        request.squash,
        request.head_sha,
        request.merge_commit_sha,
        request.squash_commit_sha,
        code_key,
    )


def _add_labels(db: apsw.Connection, project_id: int, kind: Kind, local_id: int, names: tuple[str, ...]) -> None:
    if not names:
        return
    db.executemany(
        "INSERT INTO labels (project_id, name) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(project_id, name) for name in names],
    )
    db.executemany(
        f"INSERT INTO {_LABELS[kind]} ({_OWNER[kind]}, label_id)"
        " SELECT ?, id FROM labels WHERE project_id = ? AND name = ?",
        [(local_id, project_id, name) for name in names],
    )


def _add_people(db: apsw.Connection, table: str, kind: Kind, local_id: int, people: tuple[User, ...]) -> None:
    if people:
        db.executemany(
            f"INSERT OR REPLACE INTO {table} ({_OWNER[kind]}, username, gitlab_user_id) VALUES (?, ?, ?)",
            [(local_id, person.username, person.gitlab_id) for person in people],
        )


def set_details(db: apsw.Connection, local_id: int, details: MergeRequestDetails) -> None:
    db.execute(
        "UPDATE merge_requests SET diff_base_sha = ?, diff_start_sha = ?, diff_head_sha = ?, changes_count = ?"
        " WHERE id = ?",
        (
            details.diff_base_sha,
            details.diff_start_sha,
            details.diff_head_sha,
            details.changes_count,
            local_id,
        ),
    )


def seen(db: apsw.Connection, kind: Kind, local_ids: Iterable[int], at: int) -> None:
    """GitLab showed them again, unchanged."""
    db.executemany(f"UPDATE {kind.plural} SET swept_at = ? WHERE id = ?", [(at, local_id) for local_id in local_ids])


def discussions_fetched(db: apsw.Connection, kind: Kind, local_id: int, at: int, *, unless_known: bool = False) -> None:
    """Its threads were read at that moment of GitLab's clock."""
    value = "coalesce(discussions_fetched_at, ?)" if unless_known else "?"
    db.execute(f"UPDATE {kind.plural} SET discussions_fetched_at = {value} WHERE id = ?", (at, local_id))


def unsettled(db: apsw.Connection, project_id: int, kind: Kind) -> list[tuple[int, int]]:
    """(id, iid) of those whose threads were read while a note could still be saved unseen."""
    rows = db.execute(
        f"SELECT id, iid FROM {kind.plural} WHERE project_id = ? AND discussions_fetched_at < updated_at + 65000",
        (project_id,),
    )
    return [(row[0], row[1]) for row in rows]


_KEY = "e.id, e.project_id, p.instance_id, e.gitlab_id, e.iid, e.updated_at"


def find(db: apsw.Connection, project_id: int, kind: Kind, iid: int) -> EntityKey | None:
    row = db.execute(
        f"SELECT {_KEY} FROM {kind.plural} e JOIN projects p ON p.id = e.project_id"
        " WHERE e.project_id = ? AND e.iid = ?",
        (project_id, iid),
    ).fetchone()
    return EntityKey(kind, *row) if row else None


def local_id(db: apsw.Connection, project_id: int, kind: Kind, iid: int) -> int | None:
    row = db.execute(f"SELECT id FROM {kind.plural} WHERE project_id = ? AND iid = ?", (project_id, iid)).fetchone()
    return row[0] if row else None


def by_id(db: apsw.Connection, kind: Kind, local_id: int) -> EntityKey | None:
    row = db.execute(
        f"SELECT {_KEY} FROM {kind.plural} e JOIN projects p ON p.id = e.project_id WHERE e.id = ?",
        (local_id,),
    ).fetchone()
    return EntityKey(kind, *row) if row else None


def user_notes_count(db: apsw.Connection, kind: Kind, local_id: int) -> int:
    row = db.execute(f"SELECT user_notes_count FROM {kind.plural} WHERE id = ?", (local_id,)).fetchone()
    return row[0] if row else 0


def threads_read_before(db: apsw.Connection, kind: Kind, local_id: int, moment: int) -> bool:
    """Whether its threads were last read before that moment, or at it; not, when they are still to be read."""
    row = db.execute(
        f"SELECT discussions_fetched_at <= ? FROM {kind.plural} WHERE id = ?", (moment, local_id)
    ).fetchone()
    return bool(row and row[0])


def by_gitlab_id(db: apsw.Connection, project_id: int, kind: Kind, gitlab_id: int) -> EntityKey | None:
    row = db.execute(
        f"SELECT {_KEY} FROM {kind.plural} e JOIN projects p ON p.id = e.project_id"
        " WHERE e.project_id = ? AND e.gitlab_id = ?",
        (project_id, gitlab_id),
    ).fetchone()
    return EntityKey(kind, *row) if row else None


def without_payload(db: apsw.Connection, project_id: int, kind: Kind) -> list[EntityKey]:
    """Entities that no raw payload tells of."""
    rows = db.execute(
        f"SELECT {_KEY} FROM {kind.plural} e JOIN projects p ON p.id = e.project_id WHERE e.project_id = ?"
        " AND NOT EXISTS (SELECT 1 FROM raw_payloads r WHERE r.project_id = e.project_id AND r.resource_type = ?"
        " AND r.gitlab_id = e.gitlab_id)",
        (project_id, kind.value),
    )
    return [EntityKey(kind, *row) for row in rows]


def least_recently_seen(db: apsw.Connection, project_id: int, kind: Kind, before: int, limit: int) -> list[EntityKey]:
    rows = db.execute(
        f"SELECT {_KEY} FROM {kind.plural} e JOIN projects p ON p.id = e.project_id"
        " WHERE e.project_id = ? AND e.swept_at < ? ORDER BY e.swept_at, e.id LIMIT ?",
        (project_id, before, limit),
    )
    return [EntityKey(kind, *row) for row in rows]


def delete(db: apsw.Connection, key: EntityKey, *, noticed_at: int) -> None:
    """Remove an entity that GitLab no longer shows, with all that hangs on it, and leave a tombstone."""
    path = db.execute("SELECT path_with_namespace FROM projects WHERE id = ?", (key.project_id,)).fetchone()[0]
    references.entity_deleted(db, key.kind, key.id, path, key.iid)
    queue.drop_entity(db, key.kind, key.id)
    payloads.drop_entity(db, key.project_id, payload_types(key.kind), key.gitlab_id)
    db.execute(f"DELETE FROM {key.kind.plural} WHERE id = ?", (key.id,))
    db.execute(
        "INSERT OR REPLACE INTO tombstones (project_id, entity_type, gitlab_id, iid, noticed_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (key.project_id, key.kind.value, key.gitlab_id, key.iid, noticed_at),
    )
    changes.deleted(db, key.kind, key.id)


def payload_types(kind: Kind) -> list[str]:
    """Every kind of raw payload an entity may have."""
    lists = ["discussions", "resource_state_events", "resource_label_events", "resource_milestone_events"]
    if kind is Kind.MERGE_REQUEST:
        lists += ["closes_issues", "diffs", "commits", "details"]
    return [kind.value, *(f"{kind.value}_{name}" for name in lists)]
