"""Merge requests by the commits they brought."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from loreline.core.attribution import Shown

_QUERIES = {
    Shown.SQUASH: "SELECT id FROM merge_requests WHERE squash_commit_sha = ?1",
    Shown.MERGE: "SELECT id FROM merge_requests WHERE merge_commit_sha = ?1",
    # A commit may be in several: the one that was merged first brought it.
    Shown.OWN: ("SELECT m.id FROM mr_commits c JOIN merge_requests m ON m.id = c.merge_request_id WHERE c.sha = ?1"),
}


def brought_by(db: apsw.Connection, sha: str, project_ids: Sequence[int] | None) -> tuple[int, Shown] | None:
    """The merge request of a commit by what GitLab says, the surest first; merged ones before others."""
    among = "" if project_ids is None else f" AND m.project_id IN ({', '.join('?' * len(project_ids))})"
    for shown, query in _QUERIES.items():
        row = db.execute(
            f"SELECT m.id FROM merge_requests m WHERE m.id IN ({query}){among}"
            " ORDER BY m.merged_at IS NULL, m.merged_at, m.id LIMIT 1",
            (sha, *(project_ids or ())),
        ).fetchone()
        if row is not None:
            return int(row[0]), shown
    return None
