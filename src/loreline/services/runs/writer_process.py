"""The writer's own process: calls come in on standard input, results go out on standard output."""

from __future__ import annotations

import gc
import os
import pickle
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from loreline.errors import DatabaseFailed, LoreError, SyncRunning
from loreline.services.runs.calls import HEADER, OPENED, Pace
from loreline.store import lease
from loreline.store.connection import open_database, transaction, translated

_CHUNK = 1 << 20

_LONGEST_S = 2.0
"""How long lazy calls may gather before they are committed: what a kill can cost at the most. Small commits
write the same index pages again and again; a first sync wrote three times as much without this."""

_LULL_S = 0.03
"""When nothing has come for so long, what has gathered is committed."""

_MOST = 4_000
"""Calls in one commit at the most."""


class _Call(Struct, frozen=True):
    number: int
    pace: Pace
    owner: str | None
    work: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


_Outcome = tuple[Any, BaseException | None]


def main() -> None:
    path = Path(sys.argv[1])
    incoming, outgoing = sys.stdin.fileno(), os.dup(sys.stdout.fileno())
    # Whatever a library might print goes where people look, not between our messages.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        db = open_database(path, create=True)
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits
        _send(outgoing, [(OPENED, (None, _portable(error)))])
        return
    _send(outgoing, [(OPENED, (None, None))])
    # Millions of short-lived structs, and no cycles among them: looking for some costs more than it finds.
    gc.freeze()
    gc.set_threshold(100_000)
    try:
        _serve(_Connection(db, path, outgoing), incoming)
    except BrokenPipeError:
        return  # whoever waited is gone; what was committed stays
    finally:
        db.close()


class _Connection:
    """The database with the transaction that gathers."""

    def __init__(self, db: apsw.Connection, path: Path, outgoing: int) -> None:
        self._db = db
        self._path = path
        self._outgoing = outgoing
        self._begun_at = 0.0
        self._outcomes: list[tuple[int, _Outcome]] = []
        self._open: list[int] = []

    @property
    def gathering(self) -> bool:
        return bool(self._open)

    @property
    def seconds_left(self) -> float:
        return self._begun_at + _LONGEST_S - time.monotonic()

    def run(self, call: _Call) -> None:
        """Run a call in the open transaction; what it did is told when that is committed."""
        try:
            with translated(self._path):
                if not self._open:
                    self._db.execute("BEGIN IMMEDIATE")
                    self._begun_at = time.monotonic()
                self._open.append(call.number)
                self._check_lease(call.owner)
                with transaction(self._db):
                    value = call.work(self._db, *call.args, **call.kwargs)
        except DatabaseFailed as error:
            self._lose(error, call.number)  # SQLite may have rolled back on its own
            return
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            if not self._db.in_transaction:
                self._lose(_portable(error), call.number)
                return
            outcome: _Outcome = (None, _portable(error))
        else:
            outcome = (value, None)
        if call.pace is Pace.EARLY:
            _send(self._outgoing, [(call.number, outcome)])
        else:
            self._outcomes.append((call.number, outcome))
        if call.pace is Pace.COMMITTED or len(self._open) >= _MOST or self.seconds_left <= 0:
            self.commit()

    def commit(self) -> None:
        if not self._open:
            return
        try:
            with translated(self._path):
                self._db.execute("COMMIT")
        except LoreError as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._lose(error)
            return
        outcomes, self._outcomes, self._open = self._outcomes, [], []
        _send(self._outgoing, outcomes)

    def _lose(self, error: LoreError, number: int | None = None) -> None:
        """The whole transaction is gone: all that wait for it learn why."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        numbers = dict.fromkeys([*(waiting for waiting, _ in self._outcomes), *([] if number is None else [number])])
        self._outcomes, self._open = [], []
        _send(self._outgoing, [(waiting, (None, error)) for waiting in numbers])

    def _check_lease(self, owner: str | None) -> None:
        if owner is not None and not lease.held(self._db, owner):
            raise SyncRunning(
                "another sync has taken over", hint="let it finish; nothing of what this one had committed is lost"
            )


def _serve(connection: _Connection, incoming: int) -> None:
    waiting = bytearray()
    while True:
        if connection.gathering and not select.select([incoming], [], [], _LULL_S)[0]:
            connection.commit()
        chunk = os.read(incoming, _CHUNK)
        if not chunk:
            connection.commit()
            return
        waiting += chunk
        for call in _complete(waiting):
            connection.run(call)


def _complete(waiting: bytearray) -> Iterator[_Call]:
    while len(waiting) >= HEADER.size:
        number, length = HEADER.unpack_from(waiting)
        end = HEADER.size + length
        if len(waiting) < end:
            return
        message = pickle.loads(bytes(memoryview(waiting)[HEADER.size : end]))  # noqa: S301 - our own parent
        del waiting[:end]
        yield _Call(number, *message)


def _portable(error: BaseException) -> LoreError:
    if isinstance(error, LoreError):
        return error
    if isinstance(error, MemoryError):
        return DatabaseFailed("there is not enough memory to write", hint="close something and run again")
    return LoreError(f"{type(error).__name__}: {error}")


def _send(outgoing: int, outcomes: list[tuple[int, _Outcome]]) -> None:
    parts = []
    for number, outcome in outcomes:
        message = pickle.dumps(outcome, protocol=5)
        parts.append(HEADER.pack(number, len(message)) + message)
    left = memoryview(b"".join(parts))
    while left:
        left = left[os.write(outgoing, left) :]


if __name__ == "__main__":
    main()
