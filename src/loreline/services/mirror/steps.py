"""The transactions of a sync: each function is one, run by the writer in its own process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw
from msgspec import Struct

from loreline.core import plans
from loreline.core.entities import Kind, Project
from loreline.errors import LoreError, NetworkFailed
from loreline.gitlab import decode
from loreline.services.mirror import apply, sightings
from loreline.services.mirror.apply import STOPPING, as_told
from loreline.store import cursors, entities, payloads, projects, queue
from loreline.store.connection import transaction
from loreline.store.entities import EntityKey
from loreline.store.projects import MirroredProject
from loreline.store.queue import Job, JobType


def put_off_count(db: apsw.Connection, now: int) -> int:
    """How many dependents failed and wait for their time."""
    return queue.depth(db, now).put_off


# ── projects ────────────────────────────────────────────────────────────────────────────────────────────


def store_project(db: apsw.Connection, instance_id: int, project: Project, body: bytes, now: int) -> MirroredProject:
    before = projects.by_gitlab_id(db, instance_id, project.gitlab_id)
    mirrored = projects.upsert(db, instance_id, project)
    if before is None or before.path != mirrored.path:
        sightings.path_arrived(db, mirrored, now)
    kept = payloads.put(db, mirrored.id, "project", mirrored.gitlab_id, body, fetched_at=now)
    projects.link_payload(db, mirrored.id, kept.id)
    return mirrored


def start_over(db: apsw.Connection, project: MirroredProject, kinds: Sequence[Kind], now: int) -> None:
    """Everything is wanted again; said in the queue itself, so that a kill changes nothing."""
    for kind in kinds:
        queue.enqueue_all(db, project.id, kind, queue.job_types(kind, talk=True, code=True), now)
        cursors.reset(db, project.id, kind)
    queue.make_ready(db, [project.id])


def enqueue_unsettled(db: apsw.Connection, project: MirroredProject, kinds: Sequence[Kind], now: int) -> None:
    """Threads that were read while a note could still be saved unseen are read once more."""
    for kind in kinds:
        for local_id, iid in entities.unsettled(db, project.id, kind):
            queue.enqueue(db, project.id, kind, local_id, iid, (JobType.DISCUSSIONS,), now)


def store_catalog(
    db: apsw.Connection, project: MirroredProject, lists: Mapping[str, Sequence[bytes]], now: int
) -> None:
    """The project's 'labels', 'milestones' and 'users', each as all pages of its list."""
    for name, pages in lists.items():
        for number, body in enumerate(pages):
            payloads.put(db, project.id, name, project.gitlab_id, body, fetched_at=now, page=number)
        payloads.drop_pages_from(db, project.id, name, project.gitlab_id, len(pages))
    apply.catalog(db, project, lists)
    projects.catalog_fetched(db, project.id, now)


# ── entities ────────────────────────────────────────────────────────────────────────────────────────────


def store_listing(
    db: apsw.Connection,
    project: MirroredProject,
    kind: Kind,
    items: Sequence[bytes],
    advance: cursors.Advance | None,
    fetched_at: int,
    now: int,
) -> tuple[apply.Rows, list[tuple[int, LoreError]]]:
    """A page of a listing, together with the cursor it reaches; also the entities that could not be stored."""
    rows, broken = apply.entity_page(db, project, kind, items, fetched_at=fetched_at, now=now)
    if advance is not None:
        cursors.advance(db, project.id, kind, advance)
    return rows, broken


class Slice(Struct, frozen=True):
    """What of one kind is to be looked at again."""

    kind: Kind
    keys: list[EntityKey]
    paid_until: int
    """Once it has been, the sweep of this kind is up to date to this moment."""


def due_for_sweep(
    db: apsw.Connection, project: MirroredProject, kinds: Sequence[Kind], sweep_days: int, now: int
) -> list[Slice]:
    """The share of each kind that is due, longest unseen first."""
    slices = []
    for kind in kinds:
        count = projects.entity_count(db, project.id, kind)
        swept_at = projects.swept_at(db, project.id, kind)
        if swept_at is None:
            projects.swept(db, project.id, kind, now)  # the first sync has just seen everything
            continue
        share, paid_until = plans.sweep_share(count, swept_at, now, sweep_days)
        if share:
            keys = entities.least_recently_seen(db, project.id, kind, now, share)
            slices.append(Slice(kind, keys, paid_until))
    return slices


def unseen_since(db: apsw.Connection, project: MirroredProject, kind: Kind, since: int) -> tuple[int, list[EntityKey]]:
    """How many there are, and those that no list has shown since."""
    count = projects.entity_count(db, project.id, kind)
    return count, entities.least_recently_seen(db, project.id, kind, since, count)


def remove(db: apsw.Connection, keys: Sequence[EntityKey], now: int) -> int:
    """Forget what GitLab no longer shows; how many were still there."""
    found = [key for key in keys if entities.by_id(db, key.kind, key.id) is not None]
    for key in found:
        entities.delete(db, key, noticed_at=now)
    return len(found)


# ── dependents ──────────────────────────────────────────────────────────────────────────────────────────


def claim(
    db: apsw.Connection,
    instance_id: int,
    project_ids: Sequence[int],
    kinds: Sequence[Kind],
    wanted: Sequence[JobType],
    limit: int,
    now: int,
) -> tuple[list[Job], int]:
    """The next jobs, and how many wait in all."""
    jobs = queue.claim(db, instance_id, project_ids, kinds, wanted, limit, now)
    return jobs, queue.pending(db) if jobs else 0


class Fetched(Struct, frozen=True):
    """A job's answers: the pages of each of its lists."""

    job: Job
    answers: dict[str, list[bytes]]
    fetched_at: int
    """GitLab's clock when it began."""

    @property
    def size(self) -> int:
        return sum(len(page) for pages in self.answers.values() for page in pages)


def store_dependents(
    db: apsw.Connection, fetched: Sequence[Fetched], now: int
) -> tuple[apply.Rows, list[tuple[Job, LoreError]]]:
    """What jobs of one entity have fetched, and the end of those jobs; also those whose answer is not believed yet."""
    first = fetched[0].job
    entity = entities.by_id(db, first.kind, first.local_id)
    # What has been asked for again since is on its way again, and newer than this.
    fetched = [done for done in fetched if queue.holds(db, done.job)]
    rows = apply.Rows()
    ended: list[Job] = []
    doubtful: list[tuple[Job, LoreError]] = []
    if entity is not None:
        project = projects.by_id(db, first.project_id)
        for done in fetched:
            job = done.job
            if job.job_type is JobType.DISCUSSIONS and job.attempts < 2 and _suspiciously_empty(db, entity, done):
                reason: LoreError = NetworkFailed(
                    f"GitLab shows no thread of {job.project_path}{job.kind.sigil}{job.iid}, which has comments",
                    hint="it is asked again; if it stays so, it is believed",
                )
                queue.put_off(db, job, reason.message, now, 0)
                doubtful.append((job, reason))
                continue
            try:
                with transaction(db):
                    rows += apply.dependents(db, project, entity, done.answers, fetched_at=done.fetched_at, now=now)
            except STOPPING:
                raise
            except Exception as error:  # noqa: BLE001 - one list that can't be stored does not hold up the others
                reason = as_told(error)
                queue.put_off(db, job, reason.message, now, 0)
                doubtful.append((job, reason))
                continue
            ended.append(job)
    queue.done(db, ended if entity is not None else [done.job for done in fetched])
    return rows, doubtful


def _suspiciously_empty(db: apsw.Connection, entity: EntityKey, done: Fetched) -> bool:
    empty = not any(decode.check_list(page) for page in done.answers["discussions"])
    return empty and entities.user_notes_count(db, entity.kind, entity.id) > 0


def remove_by_id(db: apsw.Connection, kind: Kind, local_id: int, now: int) -> bool:
    key = entities.by_id(db, kind, local_id)
    if key is not None:
        entities.delete(db, key, noticed_at=now)
    return key is not None
