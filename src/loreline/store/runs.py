"""The audit of every sync: what it did, what it cost and what failed."""

from __future__ import annotations

import json
from typing import Any, cast

import apsw
from msgspec import Struct


class Failure(Struct, frozen=True):
    """One thing a sync could not do; the others went on."""

    project: str
    subject: str
    code: str
    message: str


class Run(Struct, frozen=True):
    id: int
    started_at: int
    finished_at: int | None
    status: str
    command: str
    error: str | None
    requests: int
    bytes_received: int
    retries: int
    rate_limited: int
    rows: dict[str, int]


def start(db: apsw.Connection, command: str, now: int) -> int:
    # A run still called running here has died without a word: the lease is ours.
    db.execute(
        "UPDATE sync_runs SET status = 'interrupted', error = 'the process ended without finishing'"
        " WHERE status = 'running'"
    )
    row = db.execute(
        "INSERT INTO sync_runs (started_at, status, command) VALUES (?, 'running', ?) RETURNING id",
        (now, command),
    ).fetchone()
    return cast(int, row[0])


def progress(db: apsw.Connection, run: Run) -> None:
    """Keep the counts so far: a run that is killed still says what it cost."""
    db.execute(
        "UPDATE sync_runs SET finished_at = ?, status = ?, error = ?, requests = ?, bytes_received = ?, retries = ?,"
        " rate_limited = ?, rows_json = ? WHERE id = ?",
        (
            run.finished_at,
            run.status,
            run.error,
            run.requests,
            run.bytes_received,
            run.retries,
            run.rate_limited,
            json.dumps(run.rows, sort_keys=True),
            run.id,
        ),
    )


def record_failures(db: apsw.Connection, run_id: int, failures: list[Failure]) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO sync_failures (run_id, position, project_path, subject, code, message)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (run_id, position, failure.project, failure.subject, failure.code, failure.message)
            for position, failure in enumerate(failures)
        ],
    )


_RUNS_WITH_FAILURES = 50


def forget_old_failures(db: apsw.Connection, run_id: int) -> None:
    """Audit rows stay; what failed long ago is told by nobody any more."""
    db.execute("DELETE FROM sync_failures WHERE run_id <= ?", (run_id - _RUNS_WITH_FAILURES,))


def latest(db: apsw.Connection, limit: int) -> list[Run]:
    rows: list[Any] = db.execute(
        "SELECT id, started_at, finished_at, status, command, error, requests, bytes_received, retries, rate_limited,"
        " rows_json FROM sync_runs ORDER BY id DESC LIMIT ?",
        (limit,),
    ).fetchall()
    return [_run(row) for row in rows]


def _run(row: tuple[Any, ...]) -> Run:
    fields = dict(zip(Run.__struct_fields__, row, strict=True))
    return Run(**fields | {"rows": json.loads(row[-1])})


def failures_of(db: apsw.Connection, run_id: int) -> list[Failure]:
    rows = db.execute(
        "SELECT project_path, subject, code, message FROM sync_failures WHERE run_id = ? ORDER BY position",
        (run_id,),
    )
    return [Failure(*row) for row in rows]
