"""What documents are made of: an entity and the comments in its threads."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

import apsw

from loreline.core.documents import NoteText, Subject, ThreadText
from loreline.core.entities import Kind
from loreline.store import listing
from loreline.store.entities import owner_column


def subject(db: apsw.Connection, kind: Kind, entity_id: int) -> Subject | None:
    """None when it is gone."""
    branches = "e.source_branch, e.target_branch" if kind is Kind.MERGE_REQUEST else "NULL, NULL"
    row = db.execute(
        "SELECT e.project_id, p.path_with_namespace, e.iid, e.title, e.description, e.state, e.author_username,"
        f" e.created_at, e.updated_at, e.web_url, {branches}"
        f" FROM {kind.plural} e JOIN projects p ON p.id = e.project_id WHERE e.id = ?",
        (entity_id,),
    ).fetchone()
    if row is None:
        return None
    project_id, path, iid, title, description, state, author, created, updated, url, source, target = row
    return Subject(
        kind=kind,
        id=entity_id,
        project_id=project_id,
        project=path,
        iid=iid,
        title=title,
        description=description or "",
        state=state,
        author=author,
        created_at=created,
        updated_at=updated,
        url=url,
        labels=tuple(listing.labels(db, kind, entity_id)),
        source_branch=source,
        target_branch=target,
        changed_paths=_changed_paths(db, entity_id) if kind is Kind.MERGE_REQUEST else (),
    )


def _changed_paths(db: apsw.Connection, merge_request_id: int) -> tuple[str, ...]:
    rows = db.execute(
        "SELECT new_path, old_path FROM mr_file_changes WHERE merge_request_id = ?", (merge_request_id,)
    ).fetchall()
    return tuple({path for row in rows for path in row if path})


def threads(db: apsw.Connection, kind: Kind, entity_id: int, bots: Bots) -> Iterator[ThreadText]:
    """Its threads with the comments of people, in order; those that hold none are left out."""
    rows = db.execute(
        "SELECT d.id, n.gitlab_id, n.author_username, n.author_gitlab_id, n.created_at, n.updated_at, n.body,"
        " s.new_path, s.old_path, d.project_id FROM discussions d JOIN notes n ON n.discussion_id = d.id"
        f" LEFT JOIN note_positions s ON s.note_id = n.id WHERE d.{owner_column(kind)} = ? AND NOT n.is_system"
        " ORDER BY d.position, n.position",
        (entity_id,),
    )
    current: int | None = None
    notes: list[NoteText] = []
    for thread_id, note_id, author, author_id, created, updated, body, new_path, old_path, project_id in rows:
        if bots.wrote(author, author_id, project_id) or not body.strip():
            continue
        if thread_id != current and notes and current is not None:
            yield ThreadText(current, tuple(notes))
            notes = []
        current = thread_id
        paths = tuple(dict.fromkeys(path for path in (new_path, old_path) if path))
        notes.append(NoteText(note_id, author, created, max(created, updated), body, paths))
    if notes and current is not None:
        yield ThreadText(current, tuple(notes))


class Bots:
    """Whose notes are left out: accounts that GitLab marks as bots, and usernames by pattern."""

    def __init__(self, db: apsw.Connection, patterns: tuple[str, ...], *, left_out: bool) -> None:
        self._patterns = tuple(pattern.lower() for pattern in patterns) if left_out else ()
        self._ids: frozenset[tuple[int, int]] = frozenset()
        self._known: dict[str, bool] = {}
        if left_out:
            rows = db.execute(
                "SELECT p.id, u.gitlab_id FROM users u JOIN projects p ON p.instance_id = u.instance_id WHERE u.bot = 1"
            )
            self._ids = frozenset((project_id, user_id) for project_id, user_id in rows)

    def wrote(self, author: str | None, author_id: int | None, project_id: int) -> bool:
        if author is None:
            return False
        if (project_id, author_id) in self._ids:
            return True
        if author not in self._known:
            name = author.lower()
            self._known[author] = any(fnmatchcase(name, pattern) for pattern in self._patterns)
        return self._known[author]
