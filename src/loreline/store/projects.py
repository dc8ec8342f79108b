"""Instances and their projects, with every path a project has had."""

from __future__ import annotations

from typing import cast

import apsw
from msgspec import Struct

from loreline.core.entities import Kind, Label, Milestone, Project
from loreline.store import changes


class MirroredProject(Struct, frozen=True):
    """A project as the mirror keeps it."""

    id: int
    instance_id: int
    gitlab_id: int
    path: str
    web_url: str | None
    catalog_fetched_at: int | None
    swept_at: int | None
    """The sweep of either kind is up to date to then."""


_COLUMNS = (
    "id, instance_id, gitlab_project_id, path_with_namespace, web_url, catalog_fetched_at,"
    " coalesce(min(issues_swept_at, merge_requests_swept_at), issues_swept_at, merge_requests_swept_at)"
)


def instance_id(db: apsw.Connection, base_url: str) -> int:
    """The local id of an instance, which is known by its address."""
    db.execute("INSERT INTO instances (base_url) VALUES (?) ON CONFLICT DO NOTHING", (base_url,))
    return cast(int, db.execute("SELECT id FROM instances WHERE base_url = ?", (base_url,)).fetchone()[0])


def known_instance(db: apsw.Connection, base_url: str) -> int | None:
    row = db.execute("SELECT id FROM instances WHERE base_url = ?", (base_url,)).fetchone()
    return row[0] if row else None


def keyset_issues(db: apsw.Connection, instance: int) -> bool | None:
    value = db.execute("SELECT keyset_issues FROM instances WHERE id = ?", (instance,)).fetchone()[0]
    return None if value is None else bool(value)


def remember_keyset_issues(db: apsw.Connection, instance: int, offered: bool) -> None:
    db.execute("UPDATE instances SET keyset_issues = ? WHERE id = ?", (offered, instance))


def enabled_kinds(db: apsw.Connection, project_id: int) -> list[Kind]:
    """What the project has switched on."""
    row = db.execute(
        "SELECT issues_enabled, merge_requests_enabled FROM projects WHERE id = ?", (project_id,)
    ).fetchone()
    return [kind for kind, enabled in zip((Kind.ISSUE, Kind.MERGE_REQUEST), row, strict=True) if enabled]


def upsert(db: apsw.Connection, instance: int, project: Project) -> MirroredProject:
    """Store what GitLab says of a project; a new path is added to its old ones."""
    before = db.execute(
        "SELECT path_with_namespace FROM projects WHERE instance_id = ? AND gitlab_project_id = ?",
        (instance, project.gitlab_id),
    ).fetchone()
    row = db.execute(
        "INSERT INTO projects (instance_id, gitlab_project_id, path_with_namespace, name, description,"
        " default_branch, web_url, visibility, archived, issues_enabled, merge_requests_enabled, created_at,"
        " updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (instance_id, gitlab_project_id) DO UPDATE SET"
        " path_with_namespace = excluded.path_with_namespace, name = excluded.name,"
        " description = excluded.description, default_branch = excluded.default_branch,"
        " web_url = excluded.web_url, visibility = excluded.visibility, archived = excluded.archived,"
        " issues_enabled = excluded.issues_enabled, merge_requests_enabled = excluded.merge_requests_enabled,"
        " created_at = excluded.created_at, updated_at = excluded.updated_at"
        f" RETURNING {_COLUMNS}",
        (
            instance,
            project.gitlab_id,
            project.path,
            project.name,
            project.description,
            project.default_branch,
            project.web_url,
            project.visibility,
            project.archived,
            project.issues_enabled,
            project.merge_requests_enabled,
            project.created_at,
            project.last_activity_at,
        ),
    ).fetchone()
    mirrored = MirroredProject(*row)
    # A path given to another project since is that project's now.
    db.execute(
        "INSERT INTO project_paths (instance_id, path, project_id) VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET project_id = excluded.project_id WHERE project_id <> excluded.project_id",
        (instance, project.path, mirrored.id),
    )
    _remember_origin(db, instance, project)
    if before is not None and before[0] != project.path:
        changes.project_renamed(db, mirrored.id)
    return mirrored


def link_payload(db: apsw.Connection, project_id: int, payload_id: int) -> None:
    db.execute("UPDATE projects SET raw_payload_id = ? WHERE id = ?", (payload_id, project_id))


def every(db: apsw.Connection, instance: int | None = None) -> list[MirroredProject]:
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM projects WHERE ?1 IS NULL OR instance_id = ?1 ORDER BY path_with_namespace",
        (instance,),
    )
    return [MirroredProject(*row) for row in rows]


def by_id(db: apsw.Connection, project_id: int) -> MirroredProject:
    return MirroredProject(*db.execute(f"SELECT {_COLUMNS} FROM projects WHERE id = ?", (project_id,)).fetchone())


def by_gitlab_id(db: apsw.Connection, instance: int, gitlab_id: int) -> MirroredProject | None:
    row = db.execute(
        f"SELECT {_COLUMNS} FROM projects WHERE instance_id = ? AND gitlab_project_id = ?",
        (instance, gitlab_id),
    ).fetchone()
    return MirroredProject(*row) if row else None


def matching(db: apsw.Connection, path: str) -> list[MirroredProject]:
    """The projects a person may mean: by full path, present or past, else by its last part or parts."""
    for condition, value in (
        ("p.path_with_namespace = ? COLLATE NOCASE", path),
        ("p.id IN (SELECT project_id FROM project_paths WHERE path = ?)", path),
        ("('/' || p.path_with_namespace) LIKE ? ESCAPE '\\'", "%/" + _escaped(path)),
    ):
        rows = db.execute(
            f"SELECT {_COLUMNS} FROM projects p WHERE {condition} ORDER BY p.path_with_namespace", (value,)
        ).fetchall()
        if rows:
            return [MirroredProject(*row) for row in rows]
    return []


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def local_id(db: apsw.Connection, instance: int, path: str) -> int | None:
    """The project a path leads to, old paths included."""
    row = db.execute(
        "SELECT project_id FROM project_paths WHERE instance_id = ? AND path = ?", (instance, path)
    ).fetchone()
    return row[0] if row else None


def paths(db: apsw.Connection, project_id: int) -> list[str]:
    return [row[0] for row in db.execute("SELECT path FROM project_paths WHERE project_id = ?", (project_id,))]


def instances(db: apsw.Connection) -> list[int]:
    return [row[0] for row in db.execute("SELECT id FROM instances ORDER BY id")]


def web_origins(db: apsw.Connection, instance: int) -> frozenset[str]:
    """The addresses below which the instance's pages are known, in lower case: `https://host`, or with a path."""
    base, others = db.execute("SELECT base_url, web_origins FROM instances WHERE id = ?", (instance,)).fetchone()
    return frozenset({base.rstrip("/").lower(), *others.split()})


def _remember_origin(db: apsw.Connection, instance: int, project: Project) -> None:
    address, path = (project.web_url or "").lower(), f"/{project.path.lower()}"
    known = web_origins(db, instance)
    origin = address.removesuffix(path)
    if address.endswith(path) and origin not in known:
        db.execute("UPDATE instances SET web_origins = ? WHERE id = ?", (" ".join(sorted({*known, origin})), instance))


# ── the catalog: labels and milestones ──────────────────────────────────────────────────────────────────


def replace_labels(db: apsw.Connection, project_id: int, labels: list[Label]) -> None:
    """The project's labels as listed. One that is gone stays while an entity still carries its name."""
    upsert_labels(db, project_id, labels)
    names = {label.name for label in labels}
    gone = [
        (row[0],)
        for row in db.execute("SELECT id, name FROM labels WHERE project_id = ?", (project_id,)).fetchall()
        if row[1] not in names
    ]
    db.executemany(
        "DELETE FROM labels WHERE id = ? AND NOT EXISTS (SELECT 1 FROM issue_labels WHERE label_id = labels.id)"
        " AND NOT EXISTS (SELECT 1 FROM mr_labels WHERE label_id = labels.id)",
        gone,
    )


def upsert_labels(db: apsw.Connection, project_id: int, labels: list[Label]) -> None:
    db.executemany(
        "INSERT INTO labels (project_id, name, gitlab_id, color, description) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (project_id, name) DO UPDATE SET gitlab_id = excluded.gitlab_id, color = excluded.color,"
        " description = excluded.description"
        " WHERE (gitlab_id, color, description) IS NOT (excluded.gitlab_id, excluded.color, excluded.description)",
        [(project_id, label.name, label.gitlab_id, label.color, label.description) for label in labels],
    )


def replace_milestones(db: apsw.Connection, project_id: int, milestones: list[Milestone]) -> None:
    for milestone in milestones:
        upsert_milestone(db, project_id, milestone)
    listed = {milestone.gitlab_id for milestone in milestones}
    gone = [
        (row[0],)
        for row in db.execute("SELECT id, gitlab_id FROM milestones WHERE project_id = ?", (project_id,)).fetchall()
        if row[1] not in listed
    ]
    db.executemany(
        "DELETE FROM milestones WHERE id = ? AND NOT EXISTS (SELECT 1 FROM issues WHERE milestone_id = milestones.id)"
        " AND NOT EXISTS (SELECT 1 FROM merge_requests WHERE milestone_id = milestones.id)",
        gone,
    )


def upsert_milestone(db: apsw.Connection, project_id: int, milestone: Milestone) -> int:
    """The local id. Entities carry a copy of their milestone, and the youngest copy counts."""
    row = db.execute(
        "SELECT id FROM milestones WHERE project_id = ?1 AND gitlab_id = ?2 AND (updated_at > ?3"
        # A renamed project changes the addresses of its milestones and touches none.
        " OR updated_at = ?3 AND (title, state, web_url) IS (?4, ?5, ?6))",
        (
            project_id,
            milestone.gitlab_id,
            milestone.updated_at,
            milestone.title,
            milestone.state,
            milestone.web_url,
        ),
    ).fetchone()
    if row is not None:
        return cast(int, row[0])
    row = db.execute(
        "INSERT INTO milestones (project_id, gitlab_id, iid, group_id, title, description, state, created_at,"
        " updated_at, start_date, due_date, web_url) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project_id, gitlab_id) DO UPDATE SET iid = excluded.iid, group_id = excluded.group_id,"
        " title = excluded.title, description = excluded.description, state = excluded.state,"
        " created_at = excluded.created_at, updated_at = excluded.updated_at, start_date = excluded.start_date,"
        " due_date = excluded.due_date, web_url = excluded.web_url RETURNING id",
        (
            project_id,
            milestone.gitlab_id,
            milestone.iid,
            milestone.group_id,
            milestone.title,
            milestone.description,
            milestone.state,
            milestone.created_at,
            milestone.updated_at,
            milestone.start_date,
            milestone.due_date,
            milestone.web_url,
        ),
    ).fetchone()
    return cast(int, row[0])


def catalog_fetched(db: apsw.Connection, project_id: int, at: int) -> None:
    db.execute("UPDATE projects SET catalog_fetched_at = ? WHERE id = ?", (at, project_id))


def swept_at(db: apsw.Connection, project_id: int, kind: Kind) -> int | None:
    row = db.execute(f"SELECT {kind.plural}_swept_at FROM projects WHERE id = ?", (project_id,)).fetchone()
    return cast(int | None, row[0])


def swept(db: apsw.Connection, project_id: int, kind: Kind, at: int) -> None:
    db.execute(f"UPDATE projects SET {kind.plural}_swept_at = ? WHERE id = ?", (at, project_id))


def entity_count(db: apsw.Connection, project_id: int, kind: Kind) -> int:
    row = db.execute(f"SELECT count(*) FROM {kind.plural} WHERE project_id = ?", (project_id,)).fetchone()
    return cast(int, row[0])
