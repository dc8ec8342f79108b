"""From what GitLab says to reference edges: which two entities, which way, shown by what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from loreline.core.entities import ClosedIssue, Kind
from loreline.core.references import (
    EntityRef,
    Observation,
    ReferenceType,
    SourceMethod,
    find_mentions,
    parse_system_note,
)
from loreline.store import entities, projects, queue, references, threads
from loreline.store.entities import EntityKey
from loreline.store.references import End, Sighting


class Surroundings:
    """What the texts of one project are read against; looked up once per batch."""

    def __init__(self, db: apsw.Connection, project: projects.MirroredProject) -> None:
        self.db = db
        self.project = project
        self.origins = projects.web_origins(db, project.instance_id)
        self._projects: dict[str, projects.MirroredProject | None] = {project.path.casefold(): project}

    def end(self, ref: EntityRef) -> End:
        """The local entity a reference names, or where it would be."""
        path = ref.project_path or self.project.path
        kind = ref.kind or Kind.ISSUE
        key = path.casefold()
        if key not in self._projects:
            project_id = projects.local_id(self.db, self.project.instance_id, path)
            self._projects[key] = None if project_id is None else projects.by_id(self.db, project_id)
        project = self._projects[key]
        if project is None:
            return End(kind, None, path, ref.iid)
        # Whatever former path was written, what is not there would stand under the present one.
        return End(kind, entities.local_id(self.db, project.id, kind, ref.iid), project.path, ref.iid)


def description_seen(around: Surroundings, entity: EntityKey, title: str, description: str | None, now: int) -> None:
    """Mentions in a title and description; their edits are not dated, so the entity's last change stands for them."""
    me = End(entity.kind, entity.id)
    home, origins = around.project.path, around.origins
    refs = dict.fromkeys([*find_mentions(title, home, origins), *find_mentions(description or "", home, origins)])
    sightings = [
        (
            SourceMethod.DESCRIPTION,
            Sighting(me, end, ReferenceType.MENTIONED, "mentions", 0, entity.updated_at),
        )
        for end in _others(me, map(around.end, refs))
    ]
    _replace(around, entity, (SourceMethod.DESCRIPTION,), sightings, now)


def notes_seen(around: Surroundings, entity: EntityKey, texts: Iterable[threads.Text], now: int) -> None:
    """Mentions in people's notes and the relations GitLab's own notes tell; texts come oldest first."""
    me = End(entity.kind, entity.id)
    home = around.project.path
    found: dict[Any, tuple[SourceMethod, Sighting]] = {}
    for note_id, is_system, body, created_at, changed_at in texts:
        if is_system:
            for observation in parse_system_note(body, home, around.origins):
                _system_sighting(found, me, around.end(observation.target), observation, note_id, created_at)
        else:
            for end in _others(me, map(around.end, find_mentions(body, home, around.origins))):
                sighting = Sighting(
                    me, end, ReferenceType.MENTIONED, "mentions", note_id, created_at, max(created_at, changed_at)
                )
                found[SourceMethod.NOTE, note_id, end] = (SourceMethod.NOTE, sighting)
    _replace(around, entity, (SourceMethod.SYSTEM_NOTE, SourceMethod.NOTE), found.values(), now)


def _system_sighting(
    found: dict[Any, tuple[SourceMethod, Sighting]],
    me: End,
    other: End,
    observation: Observation,
    note_id: int,
    created_at: int,
) -> None:
    if _same(me, other):
        return
    if observation.withdrawn:
        # "removed the relation with #3" takes back whatever related the two before.
        taken_back = [
            key
            for key, (method, sighting) in found.items()
            if method is SourceMethod.SYSTEM_NOTE
            and sighting.reference_type is observation.reference_type
            and other in (sighting.source, sighting.target)
        ]
        for key in taken_back:
            del found[key]
        return
    source, target = (other, me) if observation.inward else (me, other)
    sighting = Sighting(source, target, observation.reference_type, observation.relation, note_id, created_at)
    found[SourceMethod.SYSTEM_NOTE, note_id, other] = (SourceMethod.SYSTEM_NOTE, sighting)


def path_arrived(db: apsw.Connection, project: projects.MirroredProject, now: int) -> None:
    """A project under a name that texts may have been using already, or under another than before."""
    former = [path for path in projects.paths(db, project.id) if path.casefold() != project.path.casefold()]
    references.path_changed(db, project.instance_id, former, project.path)
    for kind, local_id, seen_at in references.path_arrived(db, project.instance_id, project.path, project.id):
        _look_again(db, kind, local_id, seen_at, now)


def closes_seen(around: Surroundings, request: EntityKey, closed: Iterable[ClosedIssue], now: int) -> None:
    """What GitLab's API says a merge request closes."""
    me = End(request.kind, request.id)
    sightings = []
    for issue in closed:
        target = _closed_end(around, issue)
        if target is not None:
            sighting = Sighting(me, target, ReferenceType.CLOSES, "closes", 0, None)
            sightings.append((SourceMethod.API_CLOSES_ISSUES, sighting))
    _replace(around, request, (SourceMethod.API_CLOSES_ISSUES,), sightings, now)


def _closed_end(around: Surroundings, issue: ClosedIssue) -> End | None:
    if issue.external is not None:
        return End(Kind.ISSUE, external=issue.external)
    project = around.project
    path = issue.project_path
    if issue.gitlab_project_id not in (None, project.gitlab_id):
        other = projects.by_gitlab_id(around.db, project.instance_id, issue.gitlab_project_id or 0)
        path = other.path if other else path
    elif issue.gitlab_project_id == project.gitlab_id:
        path = project.path
    return around.end(EntityRef(issue.iid or 0, Kind.ISSUE, path)) if path else None


def state_events_seen(around: Surroundings, entity: EntityKey, now: int) -> None:
    """Which merge requests closed an entity, by its stored state events.

    These name the cause by its global id only: until it is mirrored there is no edge, just the event's row.
    """
    me = End(entity.kind, entity.id)
    owner = entities.owner_column(entity.kind)
    rows = around.db.execute(
        "SELECT e.gitlab_id, e.created_at, m.id FROM resource_state_events e JOIN merge_requests m"
        " ON m.gitlab_id = e.source_merge_request_id JOIN projects p ON p.id = m.project_id"
        f" WHERE e.{owner} = ? AND e.state = 'closed' AND p.instance_id = ?",
        (entity.id, entity.instance_id),
    ).fetchall()
    sightings = [
        (
            SourceMethod.API_STATE_EVENT,
            Sighting(End(Kind.MERGE_REQUEST, request_id), me, ReferenceType.CLOSES, "closes", event_id, created_at),
        )
        for event_id, created_at, request_id in rows
    ]
    _replace(around, entity, (SourceMethod.API_STATE_EVENT,), sightings, now)


def request_arrived(db: apsw.Connection, request: EntityKey, now: int) -> None:
    """A merge request that state events have been naming by its global id."""
    rows = db.execute(
        "SELECT DISTINCT e.project_id, e.issue_id, e.merge_request_id FROM resource_state_events e"
        " JOIN projects p ON p.id = e.project_id WHERE e.source_merge_request_id = ? AND p.instance_id = ?",
        (request.gitlab_id, request.instance_id),
    ).fetchall()
    for _project_id, issue_id, merge_request_id in rows:
        kind = Kind.ISSUE if issue_id is not None else Kind.MERGE_REQUEST
        entity = entities.by_id(db, kind, issue_id if issue_id is not None else merge_request_id)
        if entity is not None:
            project = projects.by_id(db, entity.project_id)
            state_events_seen(Surroundings(db, project), entity, now)


def _replace(
    around: Surroundings,
    entity: EntityKey,
    methods: tuple[SourceMethod, ...],
    sightings: Iterable[tuple[SourceMethod, Sighting]],
    now: int,
) -> None:
    fresh = references.replace_sightings(around.db, entity.instance_id, (entity.kind, entity.id), methods, sightings)
    for sighting in fresh:
        if sighting.source.id == entity.id and sighting.source.kind is entity.kind and sighting.target.id is not None:
            _look_again(
                around.db, sighting.target.kind, sighting.target.id, sighting.changed_at or sighting.seen_at, now
            )


def _look_again(db: apsw.Connection, kind: Kind, local_id: int, mentioned_at: int | None, now: int) -> None:
    """Read the threads of a mentioned entity, unless they have been since.

    GitLab writes "mentioned in …" on the mentioned side without touching it, so no list will ever show that its
    threads have grown.
    """
    if mentioned_at is None or not entities.threads_read_before(db, kind, local_id, mentioned_at):
        return
    mentioned = entities.by_id(db, kind, local_id)
    if mentioned is not None:
        queue.enqueue(db, mentioned.project_id, kind, mentioned.id, mentioned.iid, (queue.JobType.DISCUSSIONS,), now)


def _others(me: End, ends: Iterable[End]) -> Iterator[End]:
    return (end for end in ends if not _same(me, end))


def _same(one: End, other: End) -> bool:
    return one.id is not None and one.id == other.id and one.kind is other.kind
