"""Walking a project's issues or merge requests from where the last sync came to."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from loreline.core import plans
from loreline.core.entities import Issue, Kind, MergeRequest
from loreline.gitlab import decode, endpoints
from loreline.gitlab.client import Answer, GitLab
from loreline.gitlab.failures import KeysetRefused
from loreline.services.mirror import steps
from loreline.services.mirror.journal import Journal
from loreline.services.mirror.writer import Writer
from loreline.store import cursors, projects
from loreline.store.projects import MirroredProject

Clock = Callable[[], int]
_PAGES_AHEAD = 8

Told = Sequence[tuple[Issue | MergeRequest, bytes]]
"""Entities as GitLab tells them, each with its own JSON."""


async def list_entities(
    client: GitLab,
    writer: Writer,
    journal: Journal,
    project: MirroredProject,
    kind: Kind,
    clock: Clock,
    *,
    from_start: bool = False,
) -> None:
    """Bring the entities up to date; each page and the cursor it reaches are one transaction."""
    journal.progress.stage(f"{project.path}: listing {kind.plural.replace('_', ' ')}")
    cursor = await writer.ask(cursors.read, project.id, kind)
    start = None if from_start or cursor is None else plans.listing_start(cursor.updated_at)
    committing: deque[asyncio.Task[None]] = deque()
    async with asyncio.TaskGroup() as group:
        async for answer in _walk(client, writer, project, kind, start):
            page = store_page(writer, journal, project, kind, answer.value, clock, fetched_at=answer.server_time)
            committing.append(group.create_task(page))
            # The writer keeps their order, so the next page is fetched while these are committed.
            if len(committing) > _PAGES_AHEAD:
                await committing.popleft()


async def store_page(
    writer: Writer,
    journal: Journal,
    project: MirroredProject,
    kind: Kind,
    told: Told,
    clock: Clock,
    *,
    fetched_at: int | None,
    advance: bool = True,
) -> None:
    """One page and, with `advance`, the cursor it reaches."""
    if not told:
        return
    now = clock()
    last = max((entity.updated_at, entity.gitlab_id) for entity, _ in told)
    cursor = cursors.Cursor(*last) if advance else None
    items = [item for _, item in told]
    journal.rows += await writer.run_lazily(steps.store_listing, project, kind, items, cursor, fetched_at or now, now)
    journal.progress.listed(len(told))


async def _walk(
    client: GitLab, writer: Writer, project: MirroredProject, kind: Kind, start: int | None
) -> AsyncIterator[Answer[Told]]:
    if kind is Kind.ISSUE and await writer.ask(projects.keyset_issues, project.instance_id) is not False:
        target = endpoints.entities(kind, project.gitlab_id, updated_after=start, keyset=True)
        decoded: Callable[[bytes], Told] = partial(decode.entities, kind)
        try:
            async for answer in client.pages(target, decoded):
                yield answer
        except KeysetRefused:
            await writer.run(projects.remember_keyset_issues, project.instance_id, offered=False)
        else:
            await writer.run(projects.remember_keyset_issues, project.instance_id, offered=True)
            return
    async for answer in _walk_by_time(client, project, kind, start):
        yield answer


async def _walk_by_time(
    client: GitLab, project: MirroredProject, kind: Kind, start: int | None
) -> AsyncIterator[Answer[Told]]:
    """Pages by offset, but each begins anew at the moment the last one reached.

    An entity that is changed while we list goes to the end and moves all behind it one place up: a plain
    second page would miss one. Only within one and the same moment does the offset count.
    """
    decoded: Callable[[bytes], Told] = partial(decode.entities, kind)
    reached = start
    target: str | None = endpoints.entities(kind, project.gitlab_id, updated_after=start)
    while target is not None:
        answer = await client.get(target, decoded)
        yield answer
        target = answer.next_target
        if target is None or not answer.value:
            continue
        newest = max(entity.updated_at for entity, _ in answer.value)
        if reached is None or newest > reached:
            reached = newest
            target = endpoints.entities(kind, project.gitlab_id, updated_after=reached)
