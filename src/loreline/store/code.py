"""What a merge request did to the code: the files it touches and its commits."""

from __future__ import annotations

import apsw

from loreline.core.entities import Commit, FileChange
from loreline.store.entities import EntityKey


def replace_file_changes(db: apsw.Connection, entity: EntityKey, files: list[FileChange]) -> None:
    """All of them: a rebase or push changes any."""
    db.execute("DELETE FROM mr_file_changes WHERE merge_request_id = ?", (entity.id,))
    db.executemany(
        "INSERT INTO mr_file_changes (merge_request_id, position, project_id, old_path, new_path, change_type, a_mode,"
        " b_mode, added_lines, removed_lines, too_large, generated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                entity.id,
                position,
                entity.project_id,
                file.old_path,
                file.new_path,
                file.change_type,
                file.a_mode,
                file.b_mode,
                file.added_lines,
                file.removed_lines,
                file.too_large,
                file.generated,
            )
            for position, file in enumerate(files)
        ],
    )


def replace_commits(db: apsw.Connection, entity: EntityKey, commits: list[Commit]) -> None:
    db.execute("DELETE FROM mr_commits WHERE merge_request_id = ?", (entity.id,))
    db.executemany(
        "INSERT INTO mr_commits (merge_request_id, position, sha, title, message, author_name, author_email,"
        " authored_at, committed_at, parents) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                entity.id,
                position,
                commit.sha,
                commit.title,
                commit.message,
                commit.author_name,
                commit.author_email,
                commit.authored_at,
                commit.committed_at,
                " ".join(commit.parents),
            )
            for position, commit in enumerate(commits)
        ],
    )
