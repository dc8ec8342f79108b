"""Finding what no list of changes can show: what was deleted, hidden, or changed without a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loreline.core import plans
from loreline.core.entities import Kind
from loreline.errors import GitLabNotFound
from loreline.gitlab import decode, endpoints
from loreline.gitlab.client import GitLab
from loreline.services.mirror import steps
from loreline.services.mirror.listing import store_page
from loreline.services.mirror.targets import in_sight, lost_access
from loreline.services.runs.journal import Journal
from loreline.services.runs.writer import Writer
from loreline.store import projects
from loreline.store.entities import EntityKey
from loreline.store.projects import MirroredProject


async def sweep_slice(
    client: GitLab,
    writer: Writer,
    journal: Journal,
    project: MirroredProject,
    kinds: Sequence[Kind],
    clock: Callable[[], int],
    sweep_days: int,
) -> None:
    """Look again at the share of entities that is due: in `sweep_days` all have had their turn."""
    for due in await writer.run(steps.due_for_sweep, project, kinds, sweep_days, clock()):
        await _look_at(client, writer, journal, project, due.kind, due.keys, clock)
        await writer.run(projects.swept, project.id, due.kind, due.paid_until)


async def sweep_unseen(
    client: GitLab,
    writer: Writer,
    journal: Journal,
    project: MirroredProject,
    kind: Kind,
    clock: Callable[[], int],
    since: int,
) -> None:
    """After a listing of everything: what it did not show is looked at one by one."""
    count, keys = await writer.run(steps.unseen_since, project, kind, since)
    await _look_at(client, writer, journal, project, kind, keys, clock, of=count)
    await writer.run(projects.swept, project.id, kind, clock())


async def _look_at(
    client: GitLab,
    writer: Writer,
    journal: Journal,
    project: MirroredProject,
    kind: Kind,
    keys: Sequence[EntityKey],
    clock: Callable[[], int],
    *,
    of: int | None = None,
) -> None:
    gone: list[EntityKey] = []
    for start in range(0, len(keys), endpoints.PAGE):
        part = keys[start : start + endpoints.PAGE]
        shown: set[int] = set()
        listing = endpoints.entities(kind, project.gitlab_id, iids=[key.iid for key in part])
        async for answer in client.pages(listing, decode.Patience(kind)):
            shown.update(entity.gitlab_id for entity, _ in answer.value.entities)
            await store_page(writer, journal, project, kind, answer, clock)
        gone += [key for key in part if key.gitlab_id not in shown and await _is_gone(client, project, key)]
    if not gone:
        return
    if not await in_sight(client, project.gitlab_id, kind):
        raise GitLabNotFound(
            f"{project.path} does not show its {kind.plural.replace('_', ' ')} any more",
            hint="nothing is removed from the mirror; check that the token's user is still a member",
        )
    if plans.looks_like_lost_access(len(gone), of or len(keys)):
        journal.failed(
            project.path, f"sweep of {kind.plural.replace('_', ' ')}", lost_access(len(gone), of or len(keys))
        )
        return
    journal.rows["deleted"] += await writer.run(steps.remove, gone, clock())


async def _is_gone(client: GitLab, project: MirroredProject, key: EntityKey) -> bool:
    """A list may leave out what is still there; only a 404 of the thing itself is believed."""
    try:
        answer = await client.get(endpoints.entity(key.kind, project.gitlab_id, key.iid), decode.entity_id)
    except GitLabNotFound as error:
        return error.details.get("status") == 404
    return answer.value != key.gitlab_id
