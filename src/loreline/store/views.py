"""One entity whole: its fields, its threads and their notes."""

from __future__ import annotations

from typing import Any

import apsw
from msgspec import Struct

from loreline.core.entities import Kind
from loreline.store import listing
from loreline.store.entities import EntityKey, owner_column


class NoteView(Struct, frozen=True, kw_only=True):
    id: int
    author: str | None
    body: str
    created_at: int
    updated_at: int
    system: bool
    internal: bool
    resolvable: bool
    resolved: bool
    resolved_by: str | None
    path: str | None = None
    old_line: int | None = None
    new_line: int | None = None
    web_url: str | None = None


class ThreadView(Struct, frozen=True, kw_only=True):
    id: str
    individual: bool
    resolvable: bool
    resolved: bool
    notes: list[NoteView]


class EntityView(Struct, frozen=True, kw_only=True):
    kind: str
    project: str
    iid: int
    title: str
    description: str | None
    state: str
    draft: bool
    confidential: bool
    author: str | None
    created_at: int
    updated_at: int
    closed_at: int | None
    closed_by: str | None
    merged_at: int | None
    merged_by: str | None
    labels: list[str]
    milestone: str | None
    assignees: list[str]
    reviewers: list[str]
    due_date: str | None
    source_branch: str | None
    target_branch: str | None
    head_sha: str | None
    merge_commit_sha: str | None
    squash_commit_sha: str | None
    commits: int
    files: int
    added_lines: int | None
    removed_lines: int | None
    web_url: str | None
    comments: int
    threads_pending: bool
    """Its threads are still to be fetched (or to be fetched again)."""
    threads: list[ThreadView]


def entity(db: apsw.Connection, key: EntityKey) -> EntityView:
    own = (
        "0, e.confidential, NULL, NULL, e.due_date, NULL, NULL, NULL, NULL, NULL"
        if key.kind is Kind.ISSUE
        else "e.draft, 0, e.merged_at, e.merged_by, NULL, e.source_branch, e.target_branch, e.head_sha,"
        " e.merge_commit_sha, e.squash_commit_sha"
    )
    row = db.execute(
        "SELECT p.path_with_namespace, e.title, e.description, e.state, e.author_username, e.created_at, e.updated_at,"
        f" e.closed_at, e.closed_by, e.milestone_title, e.user_notes_count, e.web_url, {own}"
        f" FROM {key.kind.plural} e JOIN projects p ON p.id = e.project_id WHERE e.id = ?",
        (key.id,),
    ).fetchone()
    shared, own_values = row[:12], row[12:]
    path, title, description, state, author, created, updated, closed, closer, milestone, comments, url = shared
    draft, confidential, merged, merger, due, source, target, head, merge_sha, squash_sha = own_values
    commits, files, added, removed = _code(db, key)
    return EntityView(
        kind=key.kind.value,
        project=path,
        iid=key.iid,
        title=title,
        description=description,
        state=state,
        draft=bool(draft),
        confidential=bool(confidential),
        author=author,
        created_at=created,
        updated_at=updated,
        closed_at=closed,
        closed_by=closer,
        merged_at=merged,
        merged_by=merger,
        labels=listing.labels(db, key.kind, key.id),
        milestone=milestone,
        assignees=listing.people(db, "assignees", key.kind, key.id),
        reviewers=listing.people(db, "reviewers", key.kind, key.id) if key.kind is Kind.MERGE_REQUEST else [],
        due_date=due,
        source_branch=source,
        target_branch=target,
        head_sha=head,
        merge_commit_sha=merge_sha,
        squash_commit_sha=squash_sha,
        commits=commits,
        files=files,
        added_lines=added,
        removed_lines=removed,
        web_url=url,
        comments=comments,
        threads_pending=_threads_pending(db, key),
        threads=_threads(db, key, url),
    )


def _code(db: apsw.Connection, key: EntityKey) -> tuple[int, int, int | None, int | None]:
    if key.kind is Kind.ISSUE:
        return 0, 0, None, None
    commits = db.execute("SELECT count(*) FROM mr_commits WHERE merge_request_id = ?", (key.id,)).fetchone()[0]
    files, added, removed = db.execute(
        "SELECT count(*), sum(added_lines), sum(removed_lines) FROM mr_file_changes WHERE merge_request_id = ?",
        (key.id,),
    ).fetchone()
    return commits, files, added, removed


def _threads_pending(db: apsw.Connection, key: EntityKey) -> bool:
    row = db.execute(
        "SELECT 1 FROM pending_dependent_fetches WHERE entity_type = ? AND entity_local_id = ?"
        " AND job_type = 'discussions'",
        (key.kind.value, key.id),
    ).fetchone()
    return row is not None


def _threads(db: apsw.Connection, key: EntityKey, url: str | None) -> list[ThreadView]:
    notes: dict[int, list[NoteView]] = {}
    for row in db.execute(
        "SELECT n.discussion_id, n.gitlab_id, n.author_username, n.body, n.created_at, n.updated_at, n.is_system,"
        " n.internal, n.resolvable, n.resolved, n.resolved_by, coalesce(s.new_path, s.old_path), s.old_line, s.new_line"
        " FROM discussions d JOIN notes n ON n.discussion_id = d.id LEFT JOIN note_positions s ON s.note_id = n.id"
        f" WHERE d.{owner_column(key.kind)} = ? ORDER BY d.position, n.position",
        (key.id,),
    ):
        notes.setdefault(row[0], []).append(_note(row[1:], url))
    threads = db.execute(
        "SELECT id, gitlab_discussion_id, individual_note, resolvable, resolved FROM discussions"
        f" WHERE {owner_column(key.kind)} = ? ORDER BY position",
        (key.id,),
    )
    return [
        ThreadView(
            id=thread_id,
            individual=bool(individual),
            resolvable=bool(resolvable),
            resolved=bool(resolved),
            notes=notes.get(local_id, []),
        )
        for local_id, thread_id, individual, resolvable, resolved in threads
    ]


def _note(row: tuple[Any, ...], url: str | None) -> NoteView:
    note_id, author, body, created, updated, system, internal, resolvable, resolved, resolver, path, old, new = row
    return NoteView(
        id=note_id,
        author=author,
        body=body,
        created_at=created,
        updated_at=updated,
        system=bool(system),
        internal=bool(internal),
        resolvable=bool(resolvable),
        resolved=bool(resolved),
        resolved_by=resolver,
        path=path,
        old_line=old,
        new_line=new,
        web_url=f"{url}#note_{note_id}" if url else None,
    )
