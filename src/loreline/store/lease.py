"""Single flight: the one row that says which process may write, and its heartbeat."""

from __future__ import annotations

import os
import socket
import uuid

import apsw
from msgspec import Struct

from loreline.core.times import SECOND

HEARTBEAT_MS = 5 * SECOND
DEAD_AFTER_MS = 30 * SECOND


class Owner(Struct, frozen=True):
    """Who asks: a name for this run, and where its process lives."""

    name: str
    host: str
    pid: int


class Lease(Struct, frozen=True):
    owner: str
    run_id: int
    host: str
    pid: int
    acquired_at: int
    heartbeat_at: int

    def alive(self, now: int, *, host: str | None = None) -> bool:
        """A process of this machine is asked for; one of another is believed for as long as its heart beats."""
        if now - self.heartbeat_at > DEAD_AFTER_MS:
            return False
        return _process_exists(self.pid) if self.host == (host or hostname()) else True


def read(db: apsw.Connection) -> Lease | None:
    row = db.execute(
        "SELECT owner, run_id, host, pid, acquired_at, heartbeat_at FROM sync_lease WHERE id = 1"
    ).fetchone()
    return Lease(*row) if row else None


def take(db: apsw.Connection, owner: Owner, run_id: int, now: int) -> None:
    """Make it ours, whoever had it: the caller has judged that."""
    db.execute(
        "INSERT OR REPLACE INTO sync_lease (id, owner, run_id, host, pid, acquired_at, heartbeat_at)"
        " VALUES (1, ?, ?, ?, ?, ?, ?)",
        (owner.name, run_id, owner.host, owner.pid, now, now),
    )


def beat(db: apsw.Connection, owner: str, now: int) -> bool:
    """Still alive; False when somebody has taken the lease over."""
    rows = db.execute("UPDATE sync_lease SET heartbeat_at = ? WHERE owner = ? RETURNING id", (now, owner)).fetchall()
    return bool(rows)


def held(db: apsw.Connection, owner: str) -> bool:
    return db.execute("SELECT 1 FROM sync_lease WHERE owner = ?", (owner,)).fetchone() is not None


def release(db: apsw.Connection, owner: str) -> None:
    db.execute("DELETE FROM sync_lease WHERE owner = ?", (owner,))


def this_process() -> Owner:
    return Owner(uuid.uuid4().hex, hostname(), os.getpid())


def hostname() -> str:
    return socket.gethostname()


def _process_exists(pid: int) -> bool:
    if pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OSError):
        return True
    return True
