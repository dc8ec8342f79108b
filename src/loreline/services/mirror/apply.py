"""GitLab's answers into rows: the one place where sync and replay write. Runs inside a transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import apsw
from msgspec import Struct

from loreline.core import plans
from loreline.core.entities import Issue, Kind, MergeRequest
from loreline.errors import LoreError
from loreline.gitlab import decode
from loreline.services.mirror import sightings
from loreline.services.mirror.sightings import Surroundings
from loreline.store import changes, code, entities, events, payloads, projects, queue, references, threads, users
from loreline.store.connection import transaction
from loreline.store.entities import EntityKey
from loreline.store.queue import JobType

Rows = Counter[str]
"""Rows written, by the name of what they are."""

T = TypeVar("T")


def catalog(db: apsw.Connection, project: projects.MirroredProject, lists: Mapping[str, Sequence[bytes]]) -> None:
    """A project's labels, milestones and members, each as all pages of its list."""
    projects.replace_labels(db, project.id, [label for page in lists["labels"] for label in decode.labels(page)])
    projects.replace_milestones(
        db, project.id, [one for page in lists["milestones"] for one in decode.milestones(page)]
    )
    users.upsert(db, project.instance_id, [user for page in lists["users"] for user in decode.users(page)])


def entity_page(
    db: apsw.Connection,
    project: projects.MirroredProject,
    kind: Kind,
    items: Sequence[bytes],
    *,
    fetched_at: int,
    now: int,
) -> tuple[Rows, list[tuple[int, LoreError]]]:
    """A page of a listing: write what is new or different and ask for the dependents that may have changed.

    Entities that could not be stored are told by number, with the reason.
    """
    rows: Rows = Counter()
    broken: list[tuple[int, LoreError]] = []
    around = Surroundings(db, project)
    told = [(decode.entity(kind, item), item) for item in items]
    known = entities.known(db, project.id, kind, [entity.gitlab_id for entity, _ in told])
    unchanged = []
    for entity, item in told:
        before = known.get(entity.gitlab_id)
        listed = plans.Listed(
            iid=entity.iid,
            activity_key=plans.activity_key(entity),
            code_key=plans.code_key(entity),
            payload_hash=payloads.body_hash(item),
        )
        decision = plans.decide(before, listed)
        if before is not None and decision.nothing:
            unchanged.append(before.id)
            continue
        try:
            with transaction(db):
                kept = payloads.put(db, project.id, kind.value, entity.gitlab_id, item, fetched_at=fetched_at)
                key = _write_entity(db, project, kind, entity, kept.id, known=before is not None, seen_at=now)
                _place_in_graph(db, around, key, entity, arrived=before is None, now=now)
                jobs = queue.job_types(kind, talk=decision.talk, code=decision.code)
                queue.enqueue(db, project.id, kind, key.id, key.iid, jobs, now)
        except STOPPING:
            raise
        except Exception as error:  # noqa: BLE001 - one entity that can't be stored does not hold up its page
            broken.append((entity.iid, as_told(error)))
            continue
        rows[kind.plural] += 1
    entities.seen(db, kind, unchanged, now)
    return rows, broken


STOPPING = (apsw.BusyError, apsw.FullError, apsw.IOError, apsw.CorruptError, apsw.ReadOnlyError, MemoryError)
"""Failures of the file or the machine: no other row would fare better."""


def as_told(error: Exception) -> LoreError:
    """What one row's failure is told as."""
    if isinstance(error, LoreError):
        return error
    return LoreError(f"it can't be stored: {type(error).__name__}: {error}", hint="please report this")


def entity_again(
    db: apsw.Connection, project: projects.MirroredProject, kind: Kind, payload: payloads.Payload, now: int
) -> Rows:
    """Make an entity's row anew from its stored payload; nothing is asked for, for nothing has changed."""
    entity = decode.entity(kind, payload.body)
    known = entities.known(db, project.id, kind, [entity.gitlab_id]).get(entity.gitlab_id)
    key = _write_entity(db, project, kind, entity, payload.id, known=known is not None, seen_at=payload.fetched_at)
    _place_in_graph(db, Surroundings(db, project), key, entity, arrived=known is None, now=now)
    return Counter({kind.plural: 1})


def _write_entity(
    db: apsw.Connection,
    project: projects.MirroredProject,
    kind: Kind,
    entity: Issue | MergeRequest,
    payload_id: int,
    *,
    known: bool,
    seen_at: int,
) -> EntityKey:
    local_id = entities.upsert(
        db,
        project,
        kind,
        entity,
        raw_payload_id=payload_id,
        activity_key=plans.activity_key(entity),
        code_key=plans.code_key(entity),
        seen_at=seen_at,
        known=known,
    )
    return EntityKey(kind, local_id, project.id, project.instance_id, entity.gitlab_id, entity.iid, entity.updated_at)


def _place_in_graph(
    db: apsw.Connection, around: Surroundings, key: EntityKey, entity: Issue | MergeRequest, *, arrived: bool, now: int
) -> None:
    """The references of its description, and those that have been waiting for it."""
    if arrived:
        paths = projects.paths(db, key.project_id)
        references.entity_arrived(db, key.instance_id, key.kind, key.id, paths, key.iid)
        if key.kind is Kind.MERGE_REQUEST:
            sightings.request_arrived(db, key, now)
    sightings.description_seen(around, key, entity.title, entity.description, now)


class _Write(Struct, frozen=True):
    """What a writer of dependents gets."""

    db: apsw.Connection
    project: projects.MirroredProject
    entity: EntityKey
    pages: Sequence[bytes]
    payload_ids: Sequence[int]
    now: int
    replayed: bool
    fewer: bool
    """There were more pages before."""

    def items(self, read: Callable[[bytes], list[T]]) -> list[T]:
        return [item for page in self.pages for item in read(page)]

    def around(self) -> Surroundings:
        return Surroundings(self.db, self.project)


def dependents(
    db: apsw.Connection,
    project: projects.MirroredProject,
    entity: EntityKey,
    answers: Mapping[str, Sequence[bytes]],
    *,
    fetched_at: int,
    now: int,
    replayed: bool = False,
) -> Rows:
    """All pages of an entity's dependents, by list name: written where they differ from what is stored.

    `replayed` ones come from the store itself: their rows are made anew from the same bytes.
    """
    rows: Rows = Counter()
    wrote = False
    for name, pages in answers.items():
        kept, fewer = _keep(db, entity, f"{entity.kind.value}_{name}", pages, fetched_at)
        # Most first answers are empty lists, which write nothing.
        nothing = kept[0].first and pages == [b"[]"]
        if replayed or fewer or (not nothing and any(page.differs for page in kept)):
            rows += _WRITERS[name](_Write(db, project, entity, pages, [page.id for page in kept], now, replayed, fewer))
            wrote = True
        if name == "discussions":
            entities.discussions_fetched(db, entity.kind, entity.id, fetched_at, unless_known=replayed)
    if wrote:  # which may be to take away
        changes.upserted(db, entity.kind, entity.id)
    return rows


def _keep(
    db: apsw.Connection, entity: EntityKey, resource_type: str, pages: Sequence[bytes], fetched_at: int
) -> tuple[list[payloads.Kept], bool]:
    """The pages as kept, and whether there were more of them before."""
    kept = [
        payloads.put(db, entity.project_id, resource_type, entity.gitlab_id, body, fetched_at=fetched_at, page=number)
        for number, body in enumerate(pages)
    ]
    fewer = not kept[0].first and payloads.drop_pages_from(
        db, entity.project_id, resource_type, entity.gitlab_id, len(pages)
    )
    return kept, fewer


def _discussions(write: _Write) -> Rows:
    db, entity = write.db, write.entity
    stored = threads.stored(db, entity)
    changed, moved = [], []
    present: set[str] = set()
    for payload_id, page in zip(write.payload_ids, write.pages, strict=True):
        for item in decode.split_items(page):
            digest = payloads.body_hash(item)
            position = len(present)
            before = stored.get(decode.thread_id(item)) if stored else None
            if before is not None and before.content_hash == digest and not write.replayed:
                thread_id = decode.thread_id(item)
                if before.position != position and thread_id not in present:
                    moved.append((before.id, position))
                present.add(thread_id)
                if len(write.pages) > 1 or write.fewer:
                    threads.told_by(db, before.id, payload_id)  # it may stand on another page than before
                continue
            thread = decode.thread(item)
            # A thread of which the token sees no note is none, and a list that shifted while it was read may
            # show one twice.
            if thread.notes and thread.gitlab_id not in present:
                present.add(thread.gitlab_id)
                changed.append(threads.ThreadRow(thread, position, digest, payload_id))
    gone = [row.id for thread_id, row in stored.items() if thread_id not in present]
    notes = threads.write(db, entity, changed, stored, gone) if changed or gone else 0
    threads.move(db, moved)
    if changed or gone:
        texts = _texts(changed) if not stored else threads.texts(db, entity)
        sightings.notes_seen(write.around(), entity, texts, write.now)
    return Counter(discussions=len(changed), notes=notes)


def _texts(rows: Sequence[threads.ThreadRow]) -> list[threads.Text]:
    """What `threads.texts` would read back."""
    notes = [note for row in rows for note in row.thread.notes]
    notes.sort(key=lambda note: (note.created_at, note.gitlab_id))
    return [(note.gitlab_id, note.is_system, note.body, note.created_at, note.updated_at) for note in notes]


def _state_events(write: _Write) -> Rows:
    found = write.items(decode.state_events)
    events.replace_state(write.db, write.entity, found)
    sightings.state_events_seen(write.around(), write.entity, write.now)
    return Counter(state_events=len(found))


def _label_events(write: _Write) -> Rows:
    found = write.items(decode.label_events)
    events.replace_label(write.db, write.entity, found)
    return Counter(label_events=len(found))


def _milestone_events(write: _Write) -> Rows:
    found = write.items(decode.milestone_events)
    events.replace_milestone(write.db, write.entity, found)
    return Counter(milestone_events=len(found))


def _closes_issues(write: _Write) -> Rows:
    found = write.items(decode.closed_issues)
    sightings.closes_seen(write.around(), write.entity, found, write.now)
    return Counter(closes_issues=len(found))


def _diffs(write: _Write) -> Rows:
    found = write.items(decode.file_changes)
    code.replace_file_changes(write.db, write.entity, found)
    return Counter(file_changes=len(found))


def _commits(write: _Write) -> Rows:
    found = write.items(decode.commits)
    code.replace_commits(write.db, write.entity, found)
    return Counter(commits=len(found))


def _details(write: _Write) -> Rows:
    entities.set_details(write.db, write.entity.id, decode.merge_request_details(write.pages[0]))
    return Counter(details=1)


_WRITERS: dict[str, Callable[[_Write], Rows]] = {
    "discussions": _discussions,
    "resource_state_events": _state_events,
    "resource_label_events": _label_events,
    "resource_milestone_events": _milestone_events,
    "closes_issues": _closes_issues,
    "diffs": _diffs,
    "commits": _commits,
    "details": _details,
}

LISTS: dict[JobType, tuple[str, ...]] = {
    JobType.DISCUSSIONS: ("discussions",),
    JobType.RESOURCE_EVENTS: ("resource_state_events", "resource_label_events", "resource_milestone_events"),
    JobType.CLOSES_ISSUES: ("closes_issues",),
    JobType.DIFFS: ("diffs",),
    JobType.COMMITS: ("commits",),
    JobType.DETAILS: ("details",),
}
"""Which of GitLab's lists a job reads; 'details' is the entity itself."""

DEPENDENTS = tuple(_WRITERS)
"""Every list of dependents, events before what they are read with."""
