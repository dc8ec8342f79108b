"""One sync from end to end: lease, projects, listings, dependents, sweep, audit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from loreline import credentials
from loreline.core.entities import Kind
from loreline.core.times import DAY
from loreline.errors import AuthenticationFailed, ConfigInvalid, InvalidValue, NetworkFailed, RateLimited
from loreline.gitlab import decode, endpoints
from loreline.gitlab.client import GitLab
from loreline.gitlab.connection import Connection
from loreline.services.mirror import steps
from loreline.services.mirror.draining import FATAL, Drain
from loreline.services.mirror.listing import list_entities
from loreline.services.mirror.report import SyncReport, report
from loreline.services.mirror.sweeping import sweep_slice, sweep_unseen
from loreline.services.mirror.targets import find_targets, may_mean
from loreline.services.runs.beside import Companion, accompanied
from loreline.services.runs.flight import flight, root_of
from loreline.services.runs.journal import Journal
from loreline.services.runs.progress import Progress
from loreline.services.runs.writer import Writer
from loreline.settings import Instance, Settings, require_instances
from loreline.store import projects
from loreline.store.projects import MirroredProject
from loreline.store.queue import JobType

_CATALOG_AGE = DAY
"""Labels, milestones and members are listed anew after this; entities bring the names they use themselves."""


class Options(Struct, frozen=True, kw_only=True):
    """What this run is to do, beyond the settings."""

    command: str = "sync"
    full: bool = False
    reconcile: bool = False
    force: bool = False
    events: bool = True
    kinds: tuple[Kind, ...] = (Kind.ISSUE, Kind.MERGE_REQUEST)
    projects: tuple[str, ...] = ()


Clock = Callable[[], int]


async def run_sync(
    settings: Settings,
    environ: Mapping[str, str],
    options: Options,
    clock: Clock,
    progress: Progress,
    companion: Companion | None = None,
) -> SyncReport:
    """Bring the mirror up to date. Raises when nothing could be done; else failures stand in the report."""
    instances = require_instances(settings)
    _check_targets(instances)
    likely = tuple(instance for instance in instances if may_mean(instance, options.projects))
    instances = likely or instances
    async with Writer(settings.database) as writer:
        async with (
            flight(writer, options.command, force=options.force, clock=clock, progress=progress) as journal,
            accompanied(companion, writer, journal, clock),
        ):
            for instance in instances:
                try:
                    client = connect(instance, settings, environ)
                    journal.follow(client.traffic)
                    client.on_wait = lambda seconds: journal.progress.stage(f"GitLab asks us to wait {seconds:.0f} s")
                    async with client:
                        await _sync_instance(client, writer, journal, instance, settings, options, clock)
                except* (AuthenticationFailed, ConfigInvalid, NetworkFailed, RateLimited) as errors:
                    if len(instances) == 1:
                        raise
                    journal.failed(instance.name, "instance", root_of(errors))
            if not journal.projects_done:
                raise journal.first_error or InvalidValue(
                    f"no configured project matches {' or '.join(options.projects) or 'the groups'}",
                    hint="see the projects, groups and exclude keys of the configuration",
                )
        return await report(writer, journal, clock)


def connect(instance: Instance, settings: Settings, environ: Mapping[str, str]) -> GitLab:
    """A client for an instance, with its token fetched."""
    sync = settings.sync
    return GitLab(
        Connection(
            url=instance.url,
            token=credentials.token(instance, environ),
            bearer=instance.token_type == "oauth",  # noqa: S105 - a kind of token
            ca_bundle=instance.ca_bundle,
            client_cert=instance.client_cert,
            client_key=instance.client_key,
            proxy=instance.proxy,
            concurrency=sync.concurrency,
            requests_per_second=sync.requests_per_second,
            timeout_seconds=sync.timeout_seconds,
            attempts=sync.retries + 1,
            retry_seconds=sync.retry_seconds,
        )
    )


def _check_targets(instances: Sequence[Instance]) -> None:
    if not any(instance.projects or instance.groups for instance in instances):
        raise ConfigInvalid(
            "no project or group is configured", hint='add projects = ["group/project"] to an [[instance]]'
        )


async def _sync_instance(
    client: GitLab,
    writer: Writer,
    journal: Journal,
    instance: Instance,
    settings: Settings,
    options: Options,
    clock: Clock,
) -> None:
    instance_id = await writer.run(projects.instance_id, instance.url)
    journal.progress.stage(f"{instance.name}: finding projects")
    known = [
        await writer.run(steps.store_project, instance_id, target.project, target.body, clock())
        async for target in find_targets(client, instance, options.projects, journal.failed)
    ]
    if not known:
        return
    by_id = {project.id: project for project in known}
    fed = asyncio.Event()
    drain = Drain(client, writer, journal, instance_id, by_id, options.kinds, _wanted_jobs(settings, options), clock)
    enabled = {project.id: await writer.run(projects.enabled_kinds, project.id) for project in known}

    async def feed() -> None:
        try:
            async with asyncio.TaskGroup() as group:
                limit = asyncio.Semaphore(4)
                for project in known:
                    kinds = tuple(kind for kind in options.kinds if kind in enabled[project.id])
                    group.create_task(
                        _feed_project(limit, client, writer, journal, project, kinds, settings, options, clock)
                    )
        finally:
            fed.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(feed())
        group.create_task(drain.run(fed))


def _wanted_jobs(settings: Settings, options: Options) -> list[JobType]:
    """What is switched off is queued all the same: switched on again, nothing is missing."""
    off = set()
    if not (settings.sync.events and options.events):
        off.add(JobType.RESOURCE_EVENTS)
    if not settings.sync.file_changes:
        off.add(JobType.DIFFS)
    return [job for job in JobType if job not in off]


async def _feed_project(
    limit: asyncio.Semaphore,
    client: GitLab,
    writer: Writer,
    journal: Journal,
    project: MirroredProject,
    kinds: Sequence[Kind],
    settings: Settings,
    options: Options,
    clock: Clock,
) -> None:
    started_at = clock()
    everything = options.full or options.reconcile

    async def part(subject: str, work: Awaitable[None]) -> bool:
        """One part's failure is told and the others go on."""
        try:
            await work
        except FATAL:
            raise
        except Exception as error:  # noqa: BLE001
            journal.failed(project.path, subject, error)
            return False
        return True

    async with limit:
        if options.full:
            await writer.run(steps.start_over, project, kinds, clock())
        await writer.run(steps.enqueue_unsettled, project, kinds, clock())

        async def list_all(kind: Kind) -> None:
            await list_entities(client, writer, journal, project, kind, clock, from_start=everything)
            if everything:
                await sweep_unseen(client, writer, journal, project, kind, clock, started_at)

        listed = [await part(kind.plural.replace("_", " "), list_all(kind)) for kind in kinds]
        # After the entities: what these have let go of goes too.
        fetched_at = project.catalog_fetched_at
        if everything or fetched_at is None or clock() - fetched_at > _CATALOG_AGE:
            await part("labels, milestones and members", _refresh_catalog(client, writer, project, clock))
        if not everything:
            due = sweep_slice(client, writer, journal, project, kinds, clock, settings.sync.sweep_days)
            await part("sweep", due)
    if any(listed) or not kinds:
        journal.projects_done.append(project.path)


async def _refresh_catalog(client: GitLab, writer: Writer, project: MirroredProject, clock: Clock) -> None:
    """The project's labels, milestones and members, whole lists at once."""
    addresses = {"labels": endpoints.labels, "milestones": endpoints.milestones, "users": endpoints.users}
    lists = {
        name: [answer.body async for answer in client.pages(address(project.gitlab_id), decode.split_items)]
        for name, address in addresses.items()
    }
    await writer.run(steps.store_catalog, project, lists, clock())
