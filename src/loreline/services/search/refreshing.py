"""Bringing search up to date: beside a sync, or by itself as `generate-docs` and `embed`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import apsw

from loreline.embedding import choice
from loreline.errors import EmbedderUnavailable, EmbeddingFailed, ModelNotFound, PartialFailure
from loreline.services.runs.beside import Companion
from loreline.services.runs.flight import flight
from loreline.services.runs.journal import Journal
from loreline.services.runs.progress import Progress
from loreline.services.runs.writer import Writer
from loreline.services.search import generating
from loreline.services.search.following import Embedded, Source, embed_waiting, follow_mirror
from loreline.services.search.generating import Generated, rules_of
from loreline.settings import Settings
from loreline.store import vectors
from loreline.store.connection import open_database

Clock = Callable[[], int]


def beside_sync(settings: Settings, environ: Mapping[str, str], *, documents: bool, vectors: bool) -> Companion | None:
    """Documents and vectors of what a sync brings, made while it goes on; nothing where both are left out."""
    if not documents:
        return None

    async def companion(writer: Writer, journal: Journal, clock: Clock, mirrored: asyncio.Event) -> None:
        documented = asyncio.Event()

        async def follow() -> None:
            await follow_mirror(writer, journal, rules_of(settings.documents), clock, mirrored)
            documented.set()

        async def embed() -> None:
            try:
                done = await embed_waiting(writer, journal, source_of(settings, environ), clock, documented)
            except (EmbedderUnavailable, ModelNotFound, EmbeddingFailed) as error:
                # What GitLab has is safe, and can be found by its words; vectors can follow any time.
                hint = f"; {error.hint}" if error.hint else ""
                journal.warnings.append(f"not everything could be embedded: {error.message}{hint}")
                return
            if done.failed:
                journal.warnings.append(_failures(done))

        async with asyncio.TaskGroup() as group:
            group.create_task(follow())
            if vectors:
                group.create_task(embed())

    return companion


def source_of(settings: Settings, environ: Mapping[str, str]) -> Source:
    return Source(choice.name_of(settings.embedding), lambda: choice.connect(settings.embedding, environ))


def _failures(done: Embedded) -> str:
    return f"{done.failed} passages could not be embedded; lore stats tells why, and they are tried again later"


async def generate_documents(
    settings: Settings, *, full: bool, force: bool, clock: Clock, progress: Progress
) -> Generated:
    """Make documents of what has changed since the last time, or of everything anew."""
    open_database(settings.database).close()  # the writer would make one; there is nothing to search in that
    command = "generate-docs" + " --full" * full
    async with (
        Writer(settings.database) as writer,
        flight(writer, command, force=force, clock=clock, progress=progress) as journal,
    ):
        if full:
            await writer.run(generating.start_over)
        mirrored = asyncio.Event()
        mirrored.set()
        progress.stage("making documents")
        return await follow_mirror(writer, journal, rules_of(settings.documents), clock, mirrored)


async def embed_documents(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    full: bool,
    retry_failed: bool,
    force: bool,
    clock: Clock,
    progress: Progress,
) -> Embedded:
    """Embed what waits; with `full` everything anew, with `retry_failed` what failed, without waiting for its time."""
    open_database(settings.database).close()
    command = "embed" + " --full" * full + " --retry-failed" * retry_failed
    async with (
        Writer(settings.database) as writer,
        flight(writer, command, force=force, clock=clock, progress=progress) as journal,
    ):
        if full or retry_failed:
            await writer.run(_ask_again, full=full)
        documented = asyncio.Event()
        documented.set()
        progress.stage("embedding")
        return await embed_waiting(writer, journal, source_of(settings, environ), clock, documented)


def _ask_again(db: apsw.Connection, *, full: bool) -> None:
    for space in vectors.every(db):
        if full:
            vectors.start_over(db, space)
        else:
            vectors.retry_failed(db, space)


def partial_failure(done: Embedded) -> PartialFailure | None:
    """The error that ends an embedding of which some passages failed."""
    if not done.failed:
        return None
    return PartialFailure(
        f"{done.failed} passages could not be embedded",
        hint="lore stats tells why; lore embed --retry-failed tries them again at once",
        failures=done.failed,
    )
