"""Search kept up with the mirror: documents from the change feed, vectors from documents."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from loreline.embedding.embedder import Embedder, Vector
from loreline.errors import EmbeddingFailed
from loreline.services.runs.flight import root_of
from loreline.services.runs.journal import Journal
from loreline.services.runs.progress import Work
from loreline.services.runs.threads import in_thread
from loreline.services.runs.writer import Writer
from loreline.services.search import embedding, generating
from loreline.services.search.generating import Generated, Rules
from loreline.store.vectors import Space, Waiting

Clock = Callable[[], int]

_PAUSE_S = 0.3
"""How long the feed is left alone when nothing stood in it."""

_SHARE = 0.25
"""Of the writer's time while the mirror is still being written: fetching must not wait for documents."""


async def follow_mirror(
    writer: Writer, journal: Journal, rules: Rules, clock: Clock, mirrored: asyncio.Event
) -> Generated:
    """Make documents of what changes until `mirrored` is set and nothing is left."""
    done = Generated()
    written: set[int] = set()
    while True:
        complete = mirrored.is_set()
        begun = time.monotonic()
        # What is lost before its commit is still ahead in the feed, so nobody need wait for that.
        batch, left = await writer.ask(generating.follow, rules, clock())
        made = batch.generated
        done += made
        written.update(batch.document_ids)
        if made.entities:
            journal.progress.done(Work.DOCUMENTS, made.entities)
            journal.progress.waiting(Work.DOCUMENTS, left)
        if complete and left == 0:
            if written:
                journal.rows["documents"] += len(written)
            return done
        if not complete:
            took = time.monotonic() - begun
            await _pause(mirrored, max(took * (1 / _SHARE - 1), 0 if left else _PAUSE_S))


async def _pause(until: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await until.wait()


class Embedded(Struct, frozen=True):
    """What came of it, in passages."""

    embedded: int = 0
    reused: int = 0
    failed: int = 0

    def __add__(self, other: Embedded) -> Embedded:
        return Embedded(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Source(Struct, frozen=True):
    """Where vectors come from."""

    name: str | None
    """The embedder's, if that is known beforehand."""
    connect: Callable[[], Embedder | None]


_PORTION = 1_024
"""Passages taken at once. Those of like length go through the model together, for padding costs as much as words."""


async def embed_waiting(
    writer: Writer,
    journal: Journal,
    source: Source,
    clock: Clock,
    documented: asyncio.Event,
) -> Embedded:
    """Embed what waits, newest text first, until `documented` is set and nothing is left.

    Raises where the embedder can't be had; what it has done until then is kept.
    """
    if source.name is not None:
        # Loading a model takes longer than a sync without news: not before there is something for it to do.
        while True:
            complete = documented.is_set()
            if not await writer.ask(embedding.nothing_to_do, source.name, clock()):
                break
            if complete:
                return Embedded()
            await _pause(documented, _PAUSE_S)
    embedder = await in_thread(source.connect)
    if embedder is None:
        return Embedded()
    try:
        dimensions = await in_thread(lambda: embedder.dimensions)
        space = await writer.run(embedding.open_space, embedder.name, dimensions, clock())
        done = Embedded()
        while True:
            complete = documented.is_set()
            portion = await writer.run_lazily(embedding.take, space, clock(), _PORTION)
            if not portion.passages and not portion.reused:
                if complete:
                    break
                await _pause(documented, _PAUSE_S)
                continue
            journal.progress.waiting(Work.VECTORS, portion.left)
            journal.progress.done(Work.VECTORS, portion.reused)
            done += Embedded(reused=portion.reused)
            done += await _embed(writer, journal, embedder, space, portion.passages, portion.texts, clock)
            await writer.run(embedding.tidy, writer.path, space, last=False)
        await writer.run(embedding.tidy, writer.path, space, last=True)
        await writer.run(embedding.sweep_files, writer.path)
        if done.embedded or done.reused:
            journal.rows["vectors"] += done.embedded + done.reused
        return done
    finally:
        embedder.close()


async def _embed(
    writer: Writer,
    journal: Journal,
    embedder: Embedder,
    space: Space,
    passages: Sequence[Waiting],
    texts: Sequence[str],
    clock: Clock,
) -> Embedded:
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    batches = [order[start : start + embedder.batch] for start in range(0, len(order), embedder.batch)]
    storing: list[asyncio.Task[int]] = []
    turn = asyncio.Semaphore(embedder.concurrency)

    async def one(places: list[int]) -> None:
        async with turn:
            made: list[Vector | EmbeddingFailed] = await in_thread(embedder.documents, [texts[at] for at in places])
        kept = writer.run_lazily(embedding.keep, space, [passages[at] for at in places], made, clock())
        storing.append(group.create_task(_counted(kept, journal, len(places))))

    try:
        async with asyncio.TaskGroup() as group:
            for places in batches:
                group.create_task(one(places))
    except BaseExceptionGroup as errors:
        raise root_of(errors) from errors
    failed = sum(task.result() for task in storing)
    return Embedded(embedded=len(passages) - failed, failed=failed)


async def _counted(kept: Awaitable[int], journal: Journal, count: int) -> int:
    failed = await kept
    journal.progress.done(Work.VECTORS, count)
    return failed
