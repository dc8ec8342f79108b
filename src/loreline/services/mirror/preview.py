"""What a sync would do: asked of GitLab with a handful of requests, and nothing written."""

from __future__ import annotations

from collections.abc import Mapping

import apsw
from msgspec import Struct

from loreline.core import plans
from loreline.core.entities import Kind
from loreline.errors import GitLabNotFound, NotFound
from loreline.gitlab import decode, endpoints
from loreline.services.mirror.sync import Options, connect
from loreline.services.mirror.targets import find_targets
from loreline.settings import Settings, require_instances
from loreline.store import cursors, projects, queue
from loreline.store.connection import open_database
from loreline.store.runs import Failure


class ProjectPreview(Struct, frozen=True):
    project: str
    first: bool
    """It has not been mirrored before."""
    issues: int | None
    merge_requests: int | None
    """How many changed ones would be looked at; None where GitLab doesn't count that far."""
    waiting: int
    """Dependents left over from earlier syncs."""


class Preview(Struct, frozen=True):
    projects: list[ProjectPreview]
    failures: list[Failure]


async def preview(settings: Settings, environ: Mapping[str, str], options: Options, now: int) -> Preview:
    told: list[ProjectPreview] = []
    failures: list[Failure] = []

    def failed(path: str, subject: str, error: BaseException) -> None:
        failures.append(Failure(path, subject, getattr(error, "code", "internal"), str(error)))

    db = _existing(settings)
    try:
        for instance in require_instances(settings):
            async with connect(instance, settings, environ) as client:
                async for target in find_targets(client, instance, options.projects, failed):
                    known = _known(db, instance.url, target.project.gitlab_id)
                    counts: dict[Kind, int | None] = {}
                    project = target.project
                    enabled = {Kind.ISSUE: project.issues_enabled, Kind.MERGE_REQUEST: project.merge_requests_enabled}
                    for kind in options.kinds:
                        if not enabled[kind]:
                            counts[kind] = 0
                            continue
                        cursor = cursors.read(db, known.id, kind) if db is not None and known else None
                        whole = cursor is None or options.full or options.reconcile
                        start = None if whole or cursor is None else plans.listing_start(cursor.updated_at)
                        address = endpoints.entities(kind, project.gitlab_id, updated_after=start)
                        try:
                            counts[kind] = (await client.get(address, decode.check_list)).total
                        except GitLabNotFound as error:
                            failed(project.path, kind.plural.replace("_", " "), error)
                    depth = queue.depth(db, now, known.id) if db is not None and known else queue.Depth(0, 0, 0)
                    told.append(
                        ProjectPreview(
                            project=target.project.path,
                            first=known is None,
                            issues=counts.get(Kind.ISSUE),
                            merge_requests=counts.get(Kind.MERGE_REQUEST),
                            waiting=depth.ready + depth.put_off,
                        )
                    )
    finally:
        if db is not None:
            db.close()
    return Preview(told, failures)


def _existing(settings: Settings) -> apsw.Connection | None:
    try:
        return open_database(settings.database)
    except NotFound:
        return None


def _known(db: apsw.Connection | None, base_url: str, gitlab_id: int) -> projects.MirroredProject | None:
    if db is None:
        return None
    instance_id = projects.known_instance(db, base_url)
    return projects.by_gitlab_id(db, instance_id, gitlab_id) if instance_id is not None else None
