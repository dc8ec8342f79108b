"""Where the mirror stands: last runs, cursors, what waits and what fails."""

from __future__ import annotations

import apsw
from msgspec import Struct

from loreline.core.entities import Kind
from loreline.store import cursors, lease, projects, queue, runs


class ProjectStatus(Struct, frozen=True):
    project: str
    issues: int
    merge_requests: int
    issues_reached_at: int | None
    merge_requests_reached_at: int | None
    swept_at: int | None
    waiting: int
    failing: int


class Status(Struct, frozen=True):
    running: lease.Lease | None
    last_run: runs.Run | None
    failures: list[runs.Failure]
    runs: list[runs.Run]
    projects: list[ProjectStatus]


def sync_status(db: apsw.Connection, now: int, *, history: int = 5) -> Status:
    latest = runs.latest(db, history)
    running = lease.read(db)
    return Status(
        running=running if running is not None and running.alive(now) else None,
        last_run=latest[0] if latest else None,
        failures=runs.failures_of(db, latest[0].id) if latest else [],
        runs=latest,
        projects=[_project(db, project, now) for project in projects.every(db)],
    )


def _project(db: apsw.Connection, project: projects.MirroredProject, now: int) -> ProjectStatus:
    issues, requests = (cursors.read(db, project.id, kind) for kind in (Kind.ISSUE, Kind.MERGE_REQUEST))
    depth = queue.depth(db, now, project.id)
    return ProjectStatus(
        project=project.path,
        issues=projects.entity_count(db, project.id, Kind.ISSUE),
        merge_requests=projects.entity_count(db, project.id, Kind.MERGE_REQUEST),
        issues_reached_at=issues.updated_at if issues else None,
        merge_requests_reached_at=requests.updated_at if requests else None,
        swept_at=project.swept_at,
        waiting=depth.ready + depth.put_off,
        failing=depth.failing,
    )
