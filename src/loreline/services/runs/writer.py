"""The one writer: a process of its own, to which async code hands functions of the database connection.

Decoding, compressing and storing take as much computing as fetching. In one process they would take turns
under the interpreter's lock; in two, a sync is little slower than the fetching alone. The writer decides
what is committed together, so no transaction depends on what async code does next.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import apsw

from loreline.errors import DatabaseFailed
from loreline.services.runs import calls
from loreline.services.runs.calls import HEADER, OPENED, Pace

P = ParamSpec("P")
T = TypeVar("T")


class Writer:
    """Use as an async context manager; leaving it waits for what is under way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._last_call = OPENED
        self._owner: str | None = None
        self._process: Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._gone = False
        """The process has ended: nobody will answer what is still sent to it."""

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # not from the working folder, which may be a hostile repository
            "-m",
            "loreline.services.runs.writer_process",
            str(self.path),
            stdin=PIPE,
            stdout=PIPE,
            limit=1 << 20,
            start_new_session=True,  # Ctrl-C is for us: we finish what is under way and close it
        )
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._calls[OPENED] = opened
        self._listening = asyncio.create_task(self._listen())
        try:
            await opened
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(self._stop())

    def guard(self, owner: str | None) -> None:
        """From now on every commit checks that this owner still holds the lease."""
        self._owner = owner

    async def run(self, work: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `work(connection, …)`, once it is committed. All of it must be picklable."""
        return await self._call(Pace.COMMITTED, work, args, kwargs)

    async def run_lazily(
        self, work: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same, but committed together with whatever follows within a second or so."""
        return await self._call(Pace.LAZY, work, args, kwargs)

    async def ask(self, work: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same, but without waiting for the commit."""
        return await self._call(Pace.EARLY, work, args, kwargs)

    async def settle(self) -> None:
        """Nothing more follows for now: what was run lazily need not wait for company."""
        await self._call(Pace.COMMITTED, calls.nothing, (), {})

    async def _call(self, pace: Pace, work: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        if self._gone or self._process is None or self._process.stdin is None:
            raise self._dead()
        self._last_call += 1
        number = self._last_call
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._calls[number] = done
        message = pickle.dumps((pace, self._owner, work, args, kwargs), protocol=5)
        try:
            self._process.stdin.write(HEADER.pack(number, len(message)) + message)
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            self._calls.pop(number, None)
            raise self._dead() from error
        # It may have ended while we were writing, after all that waited had been told.
        if self._gone and not done.done():
            raise self._dead()
        return await done

    async def _listen(self) -> None:
        if self._process is None or self._process.stdout is None:
            return
        answers = self._process.stdout
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    number, length = HEADER.unpack(await answers.readexactly(HEADER.size))
                    value, error = pickle.loads(await answers.readexactly(length))  # noqa: S301 - our own child
                    done = self._calls.pop(number, None)
                    if done is None or done.done():
                        continue
                    if error is not None:
                        done.set_exception(error)
                    else:
                        done.set_result(value)
        finally:
            # Also when this task is cancelled with all others, by a second Ctrl-C: nobody may wait for an answer then.
            self._gone = True
            for done in self._calls.values():
                if not done.done():
                    done.set_exception(self._dead())
            self._calls.clear()

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        await process.wait()
        if self._listening is not None:
            await self._listening

    def _dead(self) -> DatabaseFailed:
        return DatabaseFailed(
            f"the process that writes {self.path} has ended",
            hint="what it had committed is safe; run the command again",
        )
