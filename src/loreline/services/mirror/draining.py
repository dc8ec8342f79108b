"""Emptying the queue of dependents: claimed in batches, fetched side by side, stored with their job's end."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from loreline.core.entities import Kind
from loreline.errors import (
    AuthenticationFailed,
    DatabaseFailed,
    DatabaseLocked,
    GitLabNotFound,
    LoreError,
    NetworkFailed,
    RateLimited,
    SyncRunning,
)
from loreline.gitlab import decode, endpoints
from loreline.gitlab.client import Answer, GitLab
from loreline.services.mirror import apply, steps
from loreline.services.mirror.journal import Journal
from loreline.services.mirror.writer import Writer
from loreline.store import queue
from loreline.store.queue import Job, JobType

_CLAIM = 256
_IDLE_SECONDS = 0.05

FATAL = (AuthenticationFailed, DatabaseFailed, DatabaseLocked, SyncRunning)
"""What concerns every job alike, so that going on makes no sense."""


class Drain:
    """One instance's queue, emptied while `more_coming` says that listings still feed it."""

    def __init__(
        self,
        client: GitLab,
        writer: Writer,
        journal: Journal,
        instance_id: int,
        project_ids: Iterable[int],
        kinds: Iterable[Kind],
        wanted: Iterable[JobType],
        clock: Callable[[], int],
    ) -> None:
        self._client = client
        self._writer = writer
        self._journal = journal
        self._instance_id = instance_id
        self._project_ids = tuple(project_ids)
        self._kinds = tuple(kinds)
        self._wanted = tuple(wanted)
        self._clock = clock
        self._claimed: deque[Job] = deque()
        self._claiming = asyncio.Lock()
        self._unanswered = 0

    async def run(self, fed: asyncio.Event) -> None:
        """Work until the queue is empty and `fed` is set.

        There are more workers than requests in flight: while some wait for their commit, others fetch.
        """
        async with asyncio.TaskGroup() as group:
            for _ in range(self._client.connection.concurrency * 3):
                group.create_task(self._work(fed))

    async def _work(self, fed: asyncio.Event) -> None:
        while (job := await self._next(fed)) is not None:
            try:
                await self._do(job)
                self._unanswered = 0
            except FATAL:
                raise
            except Exception as error:  # noqa: BLE001 - one job's failure is counted and told, the others go on
                await self._failed(job, error)
            self._journal.progress.fetched(1)

    async def _next(self, fed: asyncio.Event) -> Job | None:
        while True:
            if self._claimed:
                return self._claimed.popleft()
            async with self._claiming:
                if self._claimed:
                    continue
                was_fed = fed.is_set()
                self._claimed.extend(await self._claim())
                if not self._claimed:
                    if was_fed:
                        return None
                    await asyncio.sleep(_IDLE_SECONDS)

    async def _claim(self) -> list[Job]:
        jobs, waiting = await self._writer.run(
            steps.claim, self._instance_id, self._project_ids, self._kinds, self._wanted, _CLAIM, self._clock()
        )
        if jobs:
            self._journal.progress.queued(waiting)
        return jobs

    async def _do(self, job: Job) -> None:
        names = apply.LISTS[job.job_type]
        if len(names) == 1:
            fetched = [await self._fetch(job, names[0])]
        else:
            fetched = await asyncio.gather(*(self._fetch(job, name) for name in names))
        answers = {name: [answer.body for answer in pages] for name, pages in zip(names, fetched, strict=True)}
        now = self._clock()
        # The clock of GitLab's first answer: what came after it may be missing from it.
        times = [answer.server_time for pages in fetched for answer in pages if answer.server_time is not None]
        self._journal.rows += await self._writer.run(steps.store_dependents, job, answers, min(times, default=now), now)

    async def _fetch(self, job: Job, name: str) -> list[Answer[Any]]:
        """All pages of a list, checked to be one; the writer's process decodes them."""
        if name == "details":
            target = endpoints.entity(job.kind, job.gitlab_project_id, job.iid)
            return [await self._client.get(target, decode.entity_id)]
        target = endpoints.dependents(job.kind, job.gitlab_project_id, job.iid, name)
        return [answer async for answer in self._client.pages(target, decode.split_items)]

    async def _failed(self, job: Job, error: Exception) -> None:
        if isinstance(error, GitLabNotFound) and await self._is_gone(job):
            return
        self._journal.failed(job.project_path, job.subject, error)
        told = error.message if isinstance(error, LoreError) else f"{type(error).__name__}: {error}"
        jitter = random.uniform(-1, 1)
        await self._writer.run(queue.put_off, job, told, self._clock(), jitter)
        if isinstance(error, NetworkFailed | RateLimited):
            self._unanswered += 1
            if self._unanswered >= self._client.connection.concurrency * 2:
                raise error  # each was tried many times: the server is down, and the rest would only wait for it

    async def _is_gone(self, job: Job) -> bool:
        """Whether the entity itself has vanished; then it goes from the mirror, and its jobs with it."""
        try:
            await self._client.get(endpoints.entity(job.kind, job.gitlab_project_id, job.iid), decode.anything)
        except GitLabNotFound as error:
            if error.details.get("status") != 404:
                return False
        else:
            return False
        if await self._writer.run(steps.remove_by_id, job.kind, job.local_id, self._clock()):
            self._journal.rows["deleted"] += 1
        return True
