"""Single flight: the lease, its heartbeat, and the audit row that is closed however a run ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from loreline.core.times import SECOND
from loreline.errors import LoreError
from loreline.services.runs import steps
from loreline.services.runs.journal import Journal
from loreline.services.runs.progress import Progress
from loreline.services.runs.writer import Writer
from loreline.store import lease


@contextlib.asynccontextmanager
async def flight(
    writer: Writer, command: str, *, force: bool, clock: Callable[[], int], progress: Progress
) -> AsyncIterator[Journal]:
    """Single flight: hold the lease, keep its heart beating, and close the audit row however the run ends."""
    owner = lease.this_process()
    started_at = clock()
    run_id = await writer.run(steps.begin_run, command, owner, started_at, force=force)
    writer.guard(owner.name)
    journal = Journal(run_id, command, started_at, progress)
    main = asyncio.current_task()
    lost: list[BaseException] = []

    async def beat() -> None:
        try:
            while True:
                await asyncio.sleep(lease.HEARTBEAT_MS / SECOND)
                await writer.run(steps.keep_alive, owner.name, journal.run("running"), clock())
        except LoreError as error:
            lost.append(error)
            if main is not None:
                main.cancel()

    async def end(status: str, error: str | None = None) -> None:
        heart.cancel()
        run = journal.run(status, finished_at=clock(), error=error)
        closing = asyncio.ensure_future(writer.run(steps.end_run, owner.name, run, journal.failures))
        # If even this can't be written, the error under way says why; the next run finds the lease dead.
        with contextlib.suppress(LoreError):
            try:
                await asyncio.shield(closing)
            except asyncio.CancelledError:
                if not lost:
                    raise
                await closing  # it was our own heart that stopped us, at the same moment

    heart = asyncio.create_task(beat())
    try:
        yield journal
    except asyncio.CancelledError as cancelled:
        if lost and main is not None:
            main.uncancel()
            raise lost[0] from cancelled
        await end("interrupted", "interrupted")
        raise
    except BaseException as error:
        root = root_of(error)
        await end("failed", str(root))
        if root is not error:
            raise root from error
        raise
    else:
        await end("partial" if journal.failure_count else "succeeded")
    finally:
        heart.cancel()
        writer.guard(None)


def root_of(error: BaseException) -> BaseException:
    """What a task group wrapped."""
    while isinstance(error, BaseExceptionGroup):
        error = next((inner for inner in error.exceptions if isinstance(inner, LoreError)), error.exceptions[0])
    return error
