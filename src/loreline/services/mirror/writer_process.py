"""The writer's own process: calls come in on standard input, results go out on standard output."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from loreline.errors import DatabaseFailed, LoreError, SyncRunning
from loreline.services.mirror.writer import HEADER, OPENED
from loreline.store import lease
from loreline.store.connection import open_database, transaction, translated

_GROUP = 64
"""Calls in one commit at the most: it bounds what a kill can cost and how old a reader's snapshot gets."""

_CHUNK = 1 << 20


class _Call(Struct, frozen=True):
    number: int
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
    try:
        for group in _groups(incoming):
            _send(outgoing, _run(db, path, group))
    except BrokenPipeError:
        return  # whoever waited is gone; what was committed stays
    finally:
        db.close()


def _groups(incoming: int) -> Iterator[list[_Call]]:
    """What has arrived by now, again and again until the other side closes."""
    waiting = bytearray()
    while chunk := os.read(incoming, _CHUNK):
        waiting += chunk
        calls = []
        for call in _complete(waiting):
            calls.append(call)
            if len(calls) == _GROUP:
                yield calls
                calls = []
        if calls:
            yield calls


def _complete(waiting: bytearray) -> Iterator[_Call]:
    while len(waiting) >= HEADER.size:
        number, length = HEADER.unpack_from(waiting)
        end = HEADER.size + length
        if len(waiting) < end:
            return
        message = pickle.loads(memoryview(bytes(waiting[HEADER.size : end])))  # noqa: S301 - our own parent
        del waiting[:end]
        yield _Call(number, *message)


def _run(db: apsw.Connection, path: Path, group: list[_Call]) -> list[tuple[int, _Outcome]]:
    """All in one transaction; if any fails, each in its own, so that a failure takes nothing else along."""
    outcomes = _commit(db, path, group)
    if len(group) > 1 and any(error is not None for _, (_, error) in outcomes):
        return [outcome for call in group for outcome in _commit(db, path, [call])]
    return outcomes


def _commit(db: apsw.Connection, path: Path, group: list[_Call]) -> list[tuple[int, _Outcome]]:
    outcomes: list[tuple[int, _Outcome]] = []
    try:
        with translated(path), transaction(db):
            for call in group:
                _check_lease(db, call.owner)
                outcomes.append((call.number, (call.work(db, *call.args, **call.kwargs), None)))
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits
        return [(call.number, (None, _portable(error))) for call in group]
    return outcomes


def _check_lease(db: apsw.Connection, owner: str | None) -> None:
    if owner is not None and not lease.held(db, owner):
        raise SyncRunning(
            "another sync has taken over", hint="let it finish; nothing of what this one had committed is lost"
        )


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
