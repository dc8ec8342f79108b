"""Async work from a command, ended by Ctrl-C and TERM as a terminal expects it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_SHOW_CURSOR = "\x1b[?25h"


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end on the fastest loop there is.

    The first Ctrl-C or TERM cancels the work, and it closes what it opened. The second ends the process where it
    stands: what is committed is safe, the writer ends by itself, and the next run goes on.
    """
    if sys.platform == "win32":
        return asyncio.run(work)
    import uvloop

    signals = (signal.SIGINT, signal.SIGTERM)

    async def until_told() -> T:
        # asyncio's own runner raises out of its signal handler at the second Ctrl-C, in the middle of whatever runs:
        # a callback that is lost so may be the one that everything waits for.
        task = asyncio.current_task()

        def stop(number: signal.Signals) -> None:
            if task is not None and not task.cancelling():
                task.cancel()
            else:
                _end_now(number)

        for number in signals:
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
        return await work

    before = {number: signal.getsignal(number) for number in signals}
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(until_told())
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_now(number: signal.Signals) -> None:
    if sys.stderr.isatty():
        os.write(2, f"{_SHOW_CURSOR}\n".encode())  # progress bars hide it
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
