"""The one writer: a thread that owns the connection and commits what has gathered meanwhile together.

Async code hands it plain functions. Each runs under a savepoint, so one that fails takes nothing else
along; a commit tells all of its group at once. No transaction is ever open across an `await`.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import apsw

from loreline.errors import DatabaseFailed, LoreError, SyncRunning
from loreline.store import lease
from loreline.store.connection import open_database, transaction, translated

T = TypeVar("T")

_GROUP = 64
"""Pieces of work in one commit at the most: it bounds what a kill can cost and how long readers' snapshots age."""


class _Work(Generic[T]):
    def __init__(self, run: Callable[[apsw.Connection], T], loop: asyncio.AbstractEventLoop) -> None:
        self.run = run
        self.loop = loop
        self.done: asyncio.Future[T] = loop.create_future()
        self.value: T | None = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        if self.done.done():
            return
        if self.error is not None:
            self.done.set_exception(self.error)
        else:
            self.done.set_result(self.value)  # type: ignore[arg-type]


class Writer:
    """Use as an async context manager; leaving it waits for what is queued."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[_Work[Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="loreline-writer", daemon=True)
        self._opened: asyncio.Future[None] | None = None
        self.owner: str | None = None
        """Once set, every commit checks that the lease is still this owner's."""

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._opened = self._loop.create_future()
        self._thread.start()
        await self._opened
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.put(None)
        await asyncio.shield(asyncio.to_thread(self._thread.join))

    async def run(self, work: Callable[[apsw.Connection], T]) -> T:
        """The result of `work(connection)`, once it is committed."""
        item = _Work(work, self._loop)
        self._queue.put(item)
        return await item.done

    def _serve(self) -> None:
        try:
            db = open_database(self._path, create=True)
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            self._loop.call_soon_threadsafe(self._tell_opened, error)
            return
        self._loop.call_soon_threadsafe(self._tell_opened, None)
        try:
            while (first := self._queue.get()) is not None:
                group, more = self._gather(first)
                self._commit(db, group)
                self._loop.call_soon_threadsafe(_settle, group)
                if not more:
                    break
        finally:
            db.close()

    def _tell_opened(self, error: BaseException | None) -> None:
        if self._opened is None or self._opened.done():
            return
        if error is not None:
            self._opened.set_exception(error)
        else:
            self._opened.set_result(None)

    def _gather(self, first: _Work[Any]) -> tuple[list[_Work[Any]], bool]:
        group = [first]
        while len(group) < _GROUP:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                return group, False
            group.append(item)
        return group, True

    def _commit(self, db: apsw.Connection, group: list[_Work[Any]]) -> None:
        try:
            with translated(self._path), transaction(db):
                self._check_lease(db)
                for item in group:
                    self._run_one(db, item)
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            for item in group:
                item.error = item.error or error

    def _run_one(self, db: apsw.Connection, item: _Work[Any]) -> None:
        try:
            with translated(self._path), transaction(db):
                item.value = item.run(db)
        except DatabaseFailed as error:
            item.error = error
            raise  # a full or broken disk concerns everybody, and SQLite may have rolled back on its own
        except (LoreError, Exception) as error:  # noqa: BLE001 - handed to whoever waits
            item.error = error

    def _check_lease(self, db: apsw.Connection) -> None:
        if self.owner is not None and not lease.held(db, self.owner):
            raise SyncRunning(
                "another sync has taken over", hint="let it finish; nothing of what this one had committed is lost"
            )


def _settle(group: list[_Work[Any]]) -> None:
    for item in group:
        item.settle()
