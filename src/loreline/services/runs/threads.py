"""The one bridge from async code to what blocks: a call in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE_S = 0.6
"""So long a cancelled call may still take before it is left behind: Ctrl-C is to end within a second."""

_KINDNESS = 10


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a blocking call.

    The thread is a daemon: one that waits for a server must not keep a process that has been told to end.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(value)  # type: ignore[arg-type] # None only where T allows it

    def work() -> None:
        _step_back()
        value, failure = None, None
        try:
            value = call(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=work, daemon=True).start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait([done], timeout=_PATIENCE_S)
        if done.done() and not done.cancelled():
            done.exception()  # seen, so that nobody complains about it
        raise


def _step_back() -> None:
    """Computing in the background leaves the processor to whoever else wants it. Linux alone can say so of a thread."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _KINDNESS)
