"""Emptying the queue of dependents: claimed in batches, fetched side by side, stored with their job's end."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from loreline.core import plans
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
from loreline.services.mirror.steps import Fetched
from loreline.services.mirror.targets import in_sight, lost_access
from loreline.services.runs.journal import Journal
from loreline.services.runs.progress import Work
from loreline.services.runs.writer import Writer
from loreline.store import queue
from loreline.store.queue import Job, JobType

_CLAIM = 1024
_LOW = 64
"""With fewer entities than this in hand, the next jobs are claimed."""
_BACKLOG_BYTES = 64 * 1024 * 1024
_BACKLOG_JOBS = 2_000
_IDLE_SECONDS = 0.05

CONCERNS_ALL = (DatabaseFailed, DatabaseLocked, SyncRunning)
"""Failures after which nothing can be stored any more."""

FATAL = (AuthenticationFailed, *CONCERNS_ALL)
"""Failures that concern every job of an instance alike."""


class Backlog:
    """What is fetched and not yet committed, bounded in bytes and in number."""

    def __init__(self, most_bytes: int, most: int) -> None:
        self._most_bytes = most_bytes
        self._most = most
        self._bytes = 0
        self._count = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self, size: int) -> None:
        while self._count and (self._bytes + size > self._most_bytes or self._count >= self._most):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._bytes += size
        self._count += 1

    def leave(self, size: int) -> None:
        self._bytes -= size
        self._count -= 1
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)


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
        self._claimed: deque[list[Job]] = deque()
        self._claiming: asyncio.Task[None] | None = None
        self._exhausted = False
        """The last claim brought less than it asked for: the next waits until what there is has been handed out."""
        self._unanswered = 0
        self._tried: defaultdict[tuple[int, Kind], set[int]] = defaultdict(set)
        """Entities whose jobs were fetched, by project and kind."""
        self._gone: defaultdict[tuple[int, Kind], list[Job]] = defaultdict(list)
        """Jobs of those that have vanished, one each."""
        self._backlog = Backlog(_BACKLOG_BYTES, _BACKLOG_JOBS)

    async def run(self, fed: asyncio.Event) -> None:
        """Work until the queue is empty and `fed` is set.

        Fetching goes on while what was fetched waits for its commit, as far as the backlog has room: the more
        there is to commit together, the less each commit writes.
        """
        async with asyncio.TaskGroup() as storing:
            async with asyncio.TaskGroup() as fetching:
                for _ in range(self._client.connection.concurrency):
                    fetching.create_task(self._work(fed, storing))
            storing.create_task(self._writer.settle())
        for (project_id, kind), jobs in self._gone.items():
            await self._remove(jobs, len(self._tried[project_id, kind]))

    async def _work(self, fed: asyncio.Event, storing: asyncio.TaskGroup) -> None:
        while (jobs := await self._next(fed)) is not None:
            fetched = []
            self._tried[jobs[0].project_id, jobs[0].kind].add(jobs[0].local_id)
            for job in jobs:
                try:
                    fetched.append(await self._fetch_all(job))
                    self._unanswered = 0
                except FATAL:
                    raise
                except Exception as error:  # noqa: BLE001 - one job's failure is counted and told, the others go on
                    if await self._failed(job, error):
                        break
            if fetched:
                size = sum(done.size for done in fetched)
                await self._backlog.enter(size)
                storing.create_task(self._store(fetched, size))

    async def _store(self, fetched: list[Fetched], size: int) -> None:
        try:
            rows, doubtful = await self._writer.run_lazily(steps.store_dependents, fetched, self._clock())
            self._journal.rows += rows
            for job, reason in doubtful:
                self._journal.failed(job.project_path, job.subject, reason)
        except FATAL:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            for done in fetched:
                await self._put_off(done.job, error)
        finally:
            self._backlog.leave(size)
        self._journal.progress.done(Work.DEPENDENTS, len(fetched))

    async def _next(self, fed: asyncio.Event) -> list[Job] | None:
        """The next entity's jobs; more are claimed before the last ones are handed out."""
        while True:
            if self._claimed:
                if len(self._claimed) < _LOW and not self._exhausted and self._claiming is None:
                    self._claiming = asyncio.create_task(self._claim(fed))
                return self._claimed.popleft()
            if self._claiming is None:
                was_fed = fed.is_set()
                self._claiming = asyncio.create_task(self._claim(fed))
                await asyncio.shield(self._claiming)
                if not self._claimed and was_fed:
                    return None
            else:
                await asyncio.shield(self._claiming)

    async def _claim(self, fed: asyncio.Event) -> None:
        try:
            jobs, waiting = await self._writer.ask(
                steps.claim, self._instance_id, self._project_ids, self._kinds, self._wanted, _CLAIM, self._clock()
            )
            if not jobs and not fed.is_set():
                # One pause for all that wait: who asks without pause keeps the writer from its commits, and the
                # listings wait for these.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_IDLE_SECONDS):
                        await fed.wait()
        finally:
            self._claiming = None
        if jobs:
            self._journal.progress.waiting(Work.DEPENDENTS, waiting)
        self._exhausted = len(jobs) < _CLAIM
        by_entity: dict[tuple[Kind, int], list[Job]] = {}
        for job in jobs:
            by_entity.setdefault((job.kind, job.local_id), []).append(job)
        self._claimed.extend(by_entity.values())

    async def _fetch_all(self, job: Job) -> Fetched:
        answers = {name: await self._fetch(job, name) for name in apply.LISTS[job.job_type]}
        bodies = {name: [answer.body for answer in pages] for name, pages in answers.items()}
        # GitLab's clock at the first answer: what came later may be missing.
        times = [one.server_time for pages in answers.values() for one in pages if one.server_time is not None]
        return Fetched(job, bodies, min(times, default=self._clock()))

    async def _fetch(self, job: Job, name: str) -> list[Answer[Any]]:
        """All pages of a list, checked to be one; the writer's process decodes them."""
        if name == "details":
            target = endpoints.entity(job.kind, job.gitlab_project_id, job.iid)
            return [await self._client.get(target, decode.entity_id)]
        target = endpoints.dependents(job.kind, job.gitlab_project_id, job.iid, name)
        return [answer async for answer in self._client.pages(target, decode.check_list)]

    async def _failed(self, job: Job, error: Exception) -> bool:
        """Put a job off and tell why; True when its entity seems to be gone, and so no other job of it is tried."""
        if isinstance(error, GitLabNotFound) and await self._is_gone(job):
            self._gone[job.project_id, job.kind].append(job)
            return True
        await self._put_off(job, error)
        if isinstance(error, NetworkFailed | RateLimited):
            self._unanswered += 1
            if self._unanswered >= self._client.connection.concurrency * 2:
                if "status" not in error.details or not await self._answers():
                    raise error  # each was tried many times: the server is down, and the rest would only wait for it
                self._unanswered = 0
        return False

    async def _answers(self) -> bool:
        """Whether GitLab answers anything at all: one broken address is no reason to give up on the others."""
        try:
            await self._client.get(endpoints.version(), decode.anything)
        except (NetworkFailed, RateLimited):
            return False
        except LoreError:
            return True
        return True

    async def _put_off(self, job: Job, error: Exception) -> None:
        self._journal.failed(job.project_path, job.subject, error)
        told = error.message if isinstance(error, LoreError) else f"{type(error).__name__}: {error}"
        jitter = random.uniform(-1, 1)
        await self._writer.run(queue.put_off, job, told, self._clock(), jitter)

    async def _is_gone(self, job: Job) -> bool:
        """Whether the entity itself has vanished."""
        try:
            await self._client.get(endpoints.entity(job.kind, job.gitlab_project_id, job.iid), decode.anything)
        except GitLabNotFound as error:
            if error.details.get("status") != 404:
                return False
        else:
            return False
        return await in_sight(self._client, job.gitlab_project_id, job.kind)

    async def _remove(self, jobs: Sequence[Job], tried: int) -> None:
        """Take vanished entities out of the mirror, with their jobs; but not when nearly all have vanished at once."""
        if plans.looks_like_lost_access(len(jobs), tried):
            error = lost_access(len(jobs), tried)
            for job in jobs:
                await self._writer.run(queue.put_off, job, error.message, self._clock(), 0)
            self._journal.failed(jobs[0].project_path, jobs[0].kind.plural.replace("_", " "), error)
            return
        for job in jobs:
            if await self._writer.run(steps.remove_by_id, job.kind, job.local_id, self._clock()):
                self._journal.rows["deleted"] += 1
