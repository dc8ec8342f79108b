"""Walking a project's issues or merge requests from where the last sync came to."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from loreline.core import plans
from loreline.core.entities import Kind
from loreline.errors import NetworkFailed
from loreline.gitlab import decode, endpoints
from loreline.gitlab.client import Answer, GitLab
from loreline.gitlab.failures import KeysetRefused
from loreline.services.mirror import steps
from loreline.services.runs.flight import root_of
from loreline.services.runs.journal import Journal
from loreline.services.runs.writer import Writer
from loreline.store import cursors, projects
from loreline.store.projects import MirroredProject

Clock = Callable[[], int]
_PAGES_AHEAD = 8

Told = decode.Listed


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
    # A cursor of the future (somebody imported such a date, a clock was wrong) would pass by all that comes before.
    start = None if start is None else min(start, clock())
    committing: deque[asyncio.Task[None]] = deque()
    reached = cursor
    try:
        async with asyncio.TaskGroup() as group:
            async for answer in _walk(client, writer, project, kind, start):
                advance = cursors.Advance(after=reached, to=_reached(answer, clock()))
                reached = max((one for one in (reached, advance.to) if one is not None), default=None)
                page = store_page(writer, journal, project, kind, answer, clock, advance=advance)
                committing.append(group.create_task(page))
                # The writer keeps their order, so the next page is fetched while these are committed.
                if len(committing) > _PAGES_AHEAD:
                    await committing.popleft()
            group.create_task(writer.settle())
    except BaseExceptionGroup as group_error:
        raise root_of(group_error) from group_error


def _reached(answer: Answer[Told], now: int) -> cursors.Cursor | None:
    """The last entity of a page, but no later than GitLab's own clock."""
    if not answer.value.entities:
        return None
    last = max(cursors.Cursor(entity.updated_at, entity.gitlab_id) for entity, _ in answer.value.entities)
    latest = answer.server_time if answer.server_time is not None else now
    return last if last.updated_at <= latest else cursors.Cursor(latest, 0)


async def store_page(
    writer: Writer,
    journal: Journal,
    project: MirroredProject,
    kind: Kind,
    answer: Answer[Told],
    clock: Clock,
    *,
    advance: cursors.Advance | None = None,
) -> None:
    """One page and, with `advance`, the cursor it reaches."""
    told = answer.value
    for iid, reason in told.broken:
        journal.failed(project.path, f"{kind.sigil}{iid}", NetworkFailed(f"it can't be read: {reason}"))
    if not told.entities:
        return
    now = clock()
    items = [item for _, item in told.entities]
    rows, broken = await writer.run_lazily(
        steps.store_listing, project, kind, items, advance, answer.server_time or now, now
    )
    journal.rows += rows
    for iid, error in broken:
        journal.failed(project.path, f"{kind.sigil}{iid}", error)
    journal.progress.listed(len(items))


async def _walk(
    client: GitLab, writer: Writer, project: MirroredProject, kind: Kind, start: int | None
) -> AsyncIterator[Answer[Told]]:
    first: Answer[Told] | None = None
    if kind is Kind.ISSUE and await writer.ask(projects.keyset_issues, project.instance_id) is not False:
        target = endpoints.entities(kind, project.gitlab_id, updated_after=start, keyset=True)
        try:
            async for answer in client.pages(target, decode.Patience(kind)):
                if answer.by_offset:
                    # Releases before 18.3 don't know the wish and answer as ever.
                    first = answer
                    break
                yield answer
        except KeysetRefused:
            await writer.run(projects.remember_keyset_issues, project.instance_id, offered=False)
        else:
            await writer.run(projects.remember_keyset_issues, project.instance_id, offered=first is None)
            if first is None:
                return
    async for answer in _walk_by_time(client, project, kind, start, first):
        yield answer


async def _walk_by_time(
    client: GitLab, project: MirroredProject, kind: Kind, start: int | None, first: Answer[Told] | None
) -> AsyncIterator[Answer[Told]]:
    """Pages by offset, but each begins anew at the moment the last one reached.

    An entity that is changed while we list goes to the end and moves all behind it one place up: a plain
    second page would miss one. Only within one and the same moment does the offset count.
    """
    decoded = decode.Patience(kind)
    reached = start
    target: str | None = endpoints.entities(kind, project.gitlab_id, updated_after=start)
    while target is not None:
        answer = first or await client.get(target, decoded)
        first = None
        yield answer
        target = answer.next_target
        if target is None or not answer.value.entities:
            continue
        newest = max(entity.updated_at for entity, _ in answer.value.entities)
        if reached is None or newest > reached:
            reached = newest
            target = endpoints.entities(kind, project.gitlab_id, updated_after=reached)
