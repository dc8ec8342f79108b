"""What the writer does for a run as a whole: taking the lease, keeping it and giving it back, each one transaction."""

from __future__ import annotations

import apsw

from loreline.errors import SyncRunning
from loreline.store import lease, queue, runs


def begin_run(db: apsw.Connection, command: str, owner: lease.Owner, now: int, *, force: bool) -> int:
    """Take the lease and open the audit row; whoever is alive keeps us out, unless by `force`."""
    running = lease.read(db)
    if running is not None and running.alive(now) and not force:
        raise SyncRunning(
            f"a sync is running already (process {running.pid} on {running.host})",
            hint="wait for it, or use --force if you know that it is dead",
            pid=running.pid,
            host=running.host,
        )
    run_id = runs.start(db, command, now)
    lease.take(db, owner, run_id, now)
    queue.release_claims(db)
    return run_id


def keep_alive(db: apsw.Connection, owner: str, run: runs.Run, now: int) -> None:
    lease.beat(db, owner, now)
    runs.progress(db, run)


def end_run(db: apsw.Connection, owner: str, run: runs.Run, failures: list[runs.Failure]) -> None:
    """Close the audit row and give the lease back."""
    runs.progress(db, run)
    runs.record_failures(db, run.id, failures)
    runs.forget_old_failures(db, run.id)
    queue.release_claims(db)
    lease.release(db, owner)
