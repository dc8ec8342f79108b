"""The files that merge requests touch, and what was said about them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw
from msgspec import Struct

from loreline.core.renames import Rename

_THESE = "(SELECT value FROM json_each(?))"
_OF_THESE = (
    "(c.new_path IN (SELECT value FROM json_each(?2))"
    " OR c.old_path <> c.new_path AND c.old_path IN (SELECT value FROM json_each(?2)))"
)
"""The condition of the partial index stands there, so that it is used."""


class Touch(Struct, frozen=True, kw_only=True):
    """A merge request's change of a file."""

    id: int
    iid: int
    project: str
    title: str
    state: str
    author: str | None
    created_at: int
    merged_at: int | None
    url: str | None
    merge_commit_sha: str | None
    squash_commit_sha: str | None
    change_type: str
    old_path: str | None
    new_path: str
    added_lines: int | None
    removed_lines: int | None
    discussion_count: int
    """Threads that people began."""
    file_discussion_count: int
    """Of these, on the file."""


class Remark(Struct, frozen=True, kw_only=True):
    """A thread on a line of the file, by its first comment."""

    merge_request_id: int
    note_id: int
    thread_id: str
    author: str | None
    created_at: int
    body: str
    path: str
    line: int | None
    resolved: bool | None
    """None where it can't be resolved."""
    replies: int


def any_at_all(db: apsw.Connection) -> bool:
    return db.execute("SELECT 1 FROM mr_file_changes LIMIT 1").fetchone() is not None


def projects_with(db: apsw.Connection, path: str) -> list[tuple[int, str]]:
    """The projects in which a merge request touches such a file: id and path."""
    rows: list[tuple[int, str]] = db.execute(
        "SELECT id, path_with_namespace FROM projects WHERE id IN (SELECT project_id FROM mr_file_changes"
        " WHERE new_path = ?1 UNION SELECT project_id FROM mr_file_changes"
        " WHERE old_path = ?1 AND old_path <> new_path) ORDER BY path_with_namespace",
        (path,),
    ).fetchall()
    return rows


def ending_in(db: apsw.Connection, name: str, most: int) -> list[str]:
    """Paths of files of such a name, in whatever folder."""
    rows = db.execute(
        "SELECT DISTINCT new_path FROM mr_file_changes WHERE new_path = ?1"
        " OR substr(new_path, -length(?1) - 1) = '/' || ?1 ORDER BY new_path LIMIT ?2",
        (name, most),
    ).fetchall()
    return [row[0] for row in rows]


def below(db: apsw.Connection, folder: str) -> bool:
    """Whether there are files in such a folder."""
    start = folder.rstrip("/") + "/"
    row = db.execute(
        "SELECT 1 FROM mr_file_changes WHERE new_path >= ? AND new_path < ? LIMIT 1", (start, start[:-1] + "0")
    ).fetchone()
    return row is not None


def renames(db: apsw.Connection, project_id: int, paths: Sequence[str]) -> list[Rename]:
    """Merged renames from or to any of these."""
    names = json.dumps(list(paths))
    rows = db.execute(
        "SELECT c.old_path, c.new_path, min(m.merged_at) FROM mr_file_changes c"
        " JOIN merge_requests m ON m.id = c.merge_request_id"
        " WHERE c.project_id = ?1 AND c.change_type = 'renamed' AND c.old_path <> c.new_path"
        f" AND m.merged_at IS NOT NULL AND {_OF_THESE} GROUP BY 1, 2",
        (project_id, names),
    ).fetchall()
    return [Rename(*row) for row in rows]


def touching(db: apsw.Connection, project_id: int, paths: Sequence[str], *, merged: bool) -> list[Touch]:
    """The merge requests that touch any of these files, the latest first; each once."""
    only = " AND m.merged_at IS NOT NULL" if merged else ""
    rows = db.execute(
        "SELECT m.id, m.iid, p.path_with_namespace, m.title, m.state, m.author_username, m.created_at, m.merged_at,"
        " m.web_url, m.merge_commit_sha, m.squash_commit_sha, c.change_type, c.old_path, c.new_path, c.added_lines,"
        " c.removed_lines,"
        " (SELECT count(*) FROM discussions d WHERE d.merge_request_id = m.id"
        "   AND EXISTS (SELECT 1 FROM notes n WHERE n.discussion_id = d.id AND NOT n.is_system)),"
        " (SELECT count(DISTINCT d.id) FROM discussions d JOIN notes n ON n.discussion_id = d.id"
        "   JOIN note_positions s ON s.note_id = n.id WHERE d.merge_request_id = m.id"
        "   AND coalesce(s.new_path, s.old_path) IN (SELECT value FROM json_each(?2))),"
        " min(c.position)"  # of several changes the columns are those of the first
        " FROM mr_file_changes c JOIN merge_requests m ON m.id = c.merge_request_id"
        " JOIN projects p ON p.id = m.project_id"
        f" WHERE c.project_id = ?1 AND {_OF_THESE}{only}"
        " GROUP BY m.id ORDER BY coalesce(m.merged_at, m.created_at) DESC, m.id DESC",
        (project_id, json.dumps(list(paths))),
    )
    names = Touch.__struct_fields__
    return [Touch(**dict(zip(names, row[:-1], strict=True))) for row in rows]


def remarks(db: apsw.Connection, request_ids: Sequence[int], paths: Sequence[str]) -> list[Remark]:
    """What was said on lines of these files, thread by thread, in the order of the lines' threads."""
    rows = db.execute(
        "SELECT d.merge_request_id, n.gitlab_id, d.gitlab_discussion_id, n.author_username, n.created_at, n.body,"
        " coalesce(s.new_path, s.old_path), coalesce(s.new_line, s.old_line),"
        " CASE WHEN d.resolvable THEN d.resolved END,"
        " (SELECT count(*) - 1 FROM notes o WHERE o.discussion_id = d.id AND NOT o.is_system)"
        " FROM json_each(?) w CROSS JOIN discussions d ON d.merge_request_id = w.value"
        " JOIN notes n ON n.discussion_id = d.id AND n.position = 0 JOIN note_positions s ON s.note_id = n.id"
        f" WHERE coalesce(s.new_path, s.old_path) IN {_THESE} ORDER BY d.merge_request_id, d.position",
        (json.dumps(list(request_ids)), json.dumps(list(paths))),
    ).fetchall()
    names = Remark.__struct_fields__
    made = []
    for row in rows:
        told = dict(zip(names, row, strict=True))
        told["resolved"] = None if told["resolved"] is None else bool(told["resolved"])
        made.append(Remark(**told))
    return made
