"""Every derived row anew from the raw payloads, without the network: what a better decoder is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import apsw

from loreline.core.entities import Kind
from loreline.gitlab import decode
from loreline.services.mirror import apply
from loreline.services.mirror.report import SyncReport, report
from loreline.services.runs.beside import Companion, accompanied
from loreline.services.runs.flight import flight
from loreline.services.runs.journal import Journal
from loreline.services.runs.progress import Progress
from loreline.services.runs.writer import Writer
from loreline.settings import Settings
from loreline.store import entities, payloads, projects, references
from loreline.store.projects import MirroredProject

_BATCH = 50


async def run_replay(
    settings: Settings,
    *,
    force: bool,
    clock: Callable[[], int],
    progress: Progress,
    companion: Companion | None = None,
) -> SyncReport:
    """Replay all projects of the mirror. Killed anywhere, it can simply be run again."""
    async with Writer(settings.database) as writer:
        async with (
            flight(writer, "sync --replay", force=force, clock=clock, progress=progress) as journal,
            accompanied(companion, writer, journal, clock),
        ):
            for project in await writer.ask(projects.every):
                await _replay_project(writer, journal, project, clock)
                journal.projects_done.append(project.path)
        return await report(writer, journal, clock)


async def _replay_project(writer: Writer, journal: Journal, project: MirroredProject, clock: Callable[[], int]) -> None:
    journal.progress.stage(f"{project.path}: replaying")
    project = await writer.run(_replay_catalog, project)
    for kind in Kind:
        after: int | None = 0
        while after is not None:
            after, rows, count = await writer.run_lazily(_replay_batch, project, kind, after, clock())
            journal.rows += rows
            journal.progress.listed(count)
    await writer.run(_drop_unbacked, project)


def _replay_catalog(db: apsw.Connection, project: MirroredProject) -> MirroredProject:
    for payload in payloads.bodies(db, project.id, "project", project.gitlab_id):
        project = projects.upsert(db, project.instance_id, decode.project(payload.body))
    lists = {
        name: [payload.body for payload in payloads.bodies(db, project.id, name, project.gitlab_id)]
        for name in ("labels", "milestones", "users")
    }
    apply.catalog(db, project, lists)
    return project


def _replay_batch(
    db: apsw.Connection, project: MirroredProject, kind: Kind, after: int, now: int
) -> tuple[int | None, apply.Rows, int]:
    """The next entities by GitLab's id, with all their dependents; None when there are no more."""
    rows: apply.Rows = Counter()
    batch = payloads.after(db, project.id, kind.value, after, _BATCH)
    for payload in batch:
        after = payload.gitlab_id
        rows += apply.entity_again(db, project, kind, payload, now)
        key = entities.by_gitlab_id(db, project.id, kind, payload.gitlab_id)
        if key is None:
            continue
        for name in apply.DEPENDENTS:
            pages = payloads.bodies(db, project.id, f"{kind.value}_{name}", payload.gitlab_id)
            if pages:
                answers = {name: [page.body for page in pages]}
                rows += apply.dependents(
                    db, project, key, answers, fetched_at=pages[0].fetched_at, now=now, replayed=True
                )
    return (after if len(batch) == _BATCH else None), rows, len(batch)


def _drop_unbacked(db: apsw.Connection, project: MirroredProject) -> None:
    """Rows that no payload tells of, and references that nothing shows any more."""
    for kind in Kind:
        for key in entities.without_payload(db, project.id, kind):
            entities.delete(db, key, noticed_at=key.updated_at)
    references.drop_unseen(db)
