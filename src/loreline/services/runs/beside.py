"""What may run beside a run that writes the mirror."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from loreline.services.runs.journal import Journal
from loreline.services.runs.writer import Writer

Clock = Callable[[], int]

Companion = Callable[[Writer, Journal, Clock, asyncio.Event], Awaitable[None]]
"""Works until the event is set, which says that the mirror is written, and nothing is left."""


@contextlib.asynccontextmanager
async def accompanied(
    companion: Companion | None, writer: Writer, journal: Journal, clock: Clock
) -> AsyncIterator[None]:
    """Let a companion work beside what is done inside, and then to its end."""
    mirrored = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        if companion is not None:
            group.create_task(_awaited(companion(writer, journal, clock, mirrored)))
        yield
        mirrored.set()


async def _awaited(work: Awaitable[None]) -> None:
    await work
