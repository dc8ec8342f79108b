"""The one queue of dependents to fetch: claimed, done or put off, and never lost in a crash."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import cast

import apsw
from msgspec import Struct

from loreline.core.entities import Kind
from loreline.core.times import MINUTE


class JobType(StrEnum):
    DISCUSSIONS = "discussions"
    RESOURCE_EVENTS = "resource_events"
    CLOSES_ISSUES = "mr_closes_issues"
    DIFFS = "mr_diffs"
    COMMITS = "mr_commits"
    DETAILS = "mr_details"


class Job(Struct, frozen=True):
    id: int
    project_id: int
    gitlab_project_id: int
    project_path: str
    kind: Kind
    local_id: int
    iid: int
    job_type: JobType
    attempts: int
    claimed_at: int

    @property
    def subject(self) -> str:
        """`!12 discussions`: how people are told."""
        return f"{self.kind.sigil}{self.iid} {self.job_type.value.removeprefix('mr_').replace('_', ' ')}"


def job_types(kind: Kind, *, talk: bool, code: bool) -> tuple[JobType, ...]:
    """The jobs that fetch an entity's threads and events, its code, or both."""
    chosen: tuple[JobType, ...] = (JobType.DISCUSSIONS, JobType.RESOURCE_EVENTS) if talk else ()
    if code and kind is Kind.MERGE_REQUEST:
        chosen += (JobType.CLOSES_ISSUES, JobType.DIFFS, JobType.COMMITS, JobType.DETAILS)
    return chosen


class Depth(Struct, frozen=True):
    """How much is waiting."""

    ready: int
    put_off: int
    failing: int


_LONGEST_DELAY_MS = 60 * MINUTE


def enqueue(
    db: apsw.Connection,
    project_id: int,
    kind: Kind,
    local_id: int,
    iid: int,
    jobs: Iterable[JobType],
    now: int,
) -> None:
    """Ask for dependents. A job that waits already is made ready; one under way is asked for once more."""
    db.executemany(
        "INSERT INTO pending_dependent_fetches (project_id, entity_type, entity_iid, entity_local_id, job_type,"
        " enqueued_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project_id, entity_type, entity_local_id, job_type) DO UPDATE SET entity_iid ="
        " excluded.entity_iid, enqueued_at = excluded.enqueued_at, locked_at = NULL, next_attempt_at = NULL",
        [(project_id, kind.value, iid, local_id, job.value, now) for job in jobs],
    )


def enqueue_all(db: apsw.Connection, project_id: int, kind: Kind, jobs: Iterable[JobType], now: int) -> None:
    """Ask for dependents of every entity of a project."""
    for job in jobs:
        db.execute(
            "INSERT INTO pending_dependent_fetches (project_id, entity_type, entity_iid, entity_local_id, job_type,"
            f" enqueued_at) SELECT project_id, ?, iid, id, ?, ? FROM {kind.plural} WHERE project_id = ?"
            " ON CONFLICT DO UPDATE SET enqueued_at = excluded.enqueued_at, locked_at = NULL, next_attempt_at = NULL",
            (kind.value, job.value, now, project_id),
        )


def claim(
    db: apsw.Connection,
    instance_id: int,
    project_ids: Iterable[int],
    kinds: Iterable[Kind],
    wanted: Iterable[JobType],
    limit: int,
    now: int,
) -> list[Job]:
    """Take the next jobs that are ready, those that failed least first; what a project has switched off waits."""
    chosen, types, entity_types = list(project_ids), [job.value for job in wanted], [kind.value for kind in kinds]
    rows = db.execute(
        "UPDATE pending_dependent_fetches SET locked_at = ?1 WHERE id IN ("
        " SELECT q.id FROM pending_dependent_fetches q WHERE q.locked_at IS NULL"
        " AND (q.next_attempt_at IS NULL OR q.next_attempt_at <= ?1)"
        f" AND q.project_id IN ({', '.join('?' * len(chosen))})"
        f" AND q.job_type IN ({', '.join('?' * len(types))})"
        f" AND q.entity_type IN ({', '.join('?' * len(entity_types))})"
        " AND EXISTS (SELECT 1 FROM projects p WHERE p.id = q.project_id AND"
        "  CASE q.entity_type WHEN 'issue' THEN p.issues_enabled ELSE p.merge_requests_enabled END)"
        f" ORDER BY q.attempts, q.id LIMIT {int(limit)})"
        " RETURNING id, project_id, entity_type, entity_local_id, entity_iid, job_type, attempts",
        (now, *chosen, *types, *entity_types),
    ).fetchall()
    projects = {
        row[0]: (row[1], row[2])
        for row in db.execute(
            "SELECT id, gitlab_project_id, path_with_namespace FROM projects WHERE instance_id = ?",
            (instance_id,),
        )
    }
    jobs = [
        Job(job_id, project_id, *projects[project_id], Kind(kind), local_id, iid, JobType(job_type), attempts, now)
        for job_id, project_id, kind, local_id, iid, job_type, attempts in rows
    ]
    return sorted(jobs, key=lambda job: (job.attempts, job.id))


def holds(db: apsw.Connection, job: Job) -> bool:
    """Whether a claim still stands: nobody has asked for the same again, and the entity is still there."""
    row = db.execute(
        "SELECT 1 FROM pending_dependent_fetches WHERE id = ? AND locked_at = ?", (job.id, job.claimed_at)
    ).fetchone()
    return row is not None


def done(db: apsw.Connection, jobs: Iterable[Job]) -> None:
    """Finished, but for those that have been asked for again meanwhile."""
    db.executemany(
        "DELETE FROM pending_dependent_fetches WHERE id = ? AND locked_at = ?",
        [(job.id, job.claimed_at) for job in jobs],
    )


def put_off(db: apsw.Connection, job: Job, error: str, now: int, jitter: float) -> None:
    """Failed: try again after a delay that doubles each time, up to an hour."""
    db.execute(
        "UPDATE pending_dependent_fetches SET locked_at = NULL, attempts = attempts + 1, last_error = ?,"
        " next_attempt_at = ? WHERE id = ? AND locked_at = ?",
        (error, now + delay_ms(job.attempts + 1, jitter), job.id, job.claimed_at),
    )


def delay_ms(attempts: int, jitter: float) -> int:
    """`jitter` in -1..1 spreads retries by a tenth, so that they don't all come back at once."""
    base = min(1_000 * 2 ** min(attempts, 30), _LONGEST_DELAY_MS)
    return int(base * (1 + 0.1 * jitter))


def release_claims(db: apsw.Connection) -> None:
    """Make claimed jobs ready again: whoever held the lease before is gone, and so is what it fetched."""
    db.execute("UPDATE pending_dependent_fetches SET locked_at = NULL WHERE locked_at IS NOT NULL")


def make_ready(db: apsw.Connection, project_ids: Iterable[int]) -> None:
    """Forget the delays: somebody asked for a full sync."""
    db.executemany(
        "UPDATE pending_dependent_fetches SET next_attempt_at = NULL WHERE project_id = ?",
        [(project_id,) for project_id in project_ids],
    )


def drop_entity(db: apsw.Connection, kind: Kind, local_id: int) -> None:
    db.execute(
        "DELETE FROM pending_dependent_fetches WHERE entity_type = ? AND entity_local_id = ?",
        (kind.value, local_id),
    )


def pending(db: apsw.Connection) -> int:
    return cast(int, db.execute("SELECT count(*) FROM pending_dependent_fetches").fetchone()[0])


def depth(db: apsw.Connection, now: int, project_id: int | None = None) -> Depth:
    row = db.execute(
        "SELECT count(*) FILTER (WHERE next_attempt_at IS NULL OR next_attempt_at <= ?1),"
        " count(*) FILTER (WHERE next_attempt_at > ?1), count(*) FILTER (WHERE attempts > 0)"
        " FROM pending_dependent_fetches WHERE ?2 IS NULL OR project_id = ?2",
        (now, project_id),
    ).fetchone()
    return Depth(*row)
