"""Writes the demo: the Git repository, and per project the JSON lines a GitLab simulator serves.

`build_demo` is the way in. Everything is decided by the stories, so two builds are equal byte for byte.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from loreline.simulator.demo import shapes
from loreline.simulator.demo.people import GOALS, LABELS, PEOPLE, PROJECTS, Goal, LabelKind, Project
from loreline.simulator.demo.records import (
    LabelRecord,
    MilestoneRecord,
    NoteRecord,
    Record,
    StateRecord,
)
from loreline.simulator.demo.repository import History, build_repository
from loreline.simulator.demo.shapes import Json
from loreline.simulator.demo.standing import Standing, standing_of
from loreline.simulator.demo.stories import STORIES
from loreline.simulator.demo.story import Entity, Issue, Kind, MergeRequest, Target, moment
from loreline.simulator.demo.timeline import Versions, records_of
from loreline.simulator.demo.versions import versions_of
from loreline.simulator.mentions import closed_issues

# Ids of projects and people are small and given by their order; everything else counts up from here.
FIRST_ID = 1001
KINDS: tuple[Kind, ...] = ("issues", "merge_requests")


@dataclass(frozen=True, slots=True)
class Demo:
    """Where the demo lies."""

    repository: Path
    corpus: Path
    projects: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class _World:
    entities: Mapping[Target, Entity]
    records: tuple[Record, ...]
    versions: Versions
    history: History
    standing: Mapping[Target, Standing]
    numbers: Mapping[object, int]


def build_demo(directory: Path) -> Demo:
    """Build the demo into an empty (or new) folder: `repository/` and `corpus/<group>/<project>/*.jsonl`."""
    history = build_repository(directory / "repository", STORIES)
    world = _gather(history)
    corpus = directory / "corpus"
    folders = {project.path: corpus / project.path for project in PROJECTS}
    for project in PROJECTS:
        folder = folders[project.path]
        folder.mkdir(parents=True)
        for name, lines in _files_of(project, world).items():
            text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
            (folder / f"{name}.jsonl").write_bytes(text.encode())
    return Demo(history.directory, corpus, folders)


def _gather(history: History) -> _World:
    entities = tuple(entity for story in STORIES for entity in story.entities)
    by_target = {entity.target: entity for entity in entities}
    if len(by_target) != len(entities):
        raise ValueError("two stories use one number")
    versions = {entity.target: versions_of(entity, history) for entity in entities if isinstance(entity, MergeRequest)}
    records = tuple(records_of(entities, versions, history))
    by_entity: defaultdict[Target, list[Record]] = defaultdict(list)
    for record in records:
        by_entity[record.target].append(record)
    standing = {entity.target: standing_of(entity, tuple(by_entity[entity.target])) for entity in entities}
    return _World(by_target, records, versions, history, standing, _number(entities, records))


def _number(entities: Iterable[Entity], records: Iterable[Record]) -> dict[object, int]:
    """One count for the whole instance, rising with time."""
    created = {project.path: moment(project.created) for project in PROJECTS}
    born: list[tuple[int, object]] = [(created[label.project], label) for label in LABELS]
    born += [(moment(goal.created), goal) for goal in GOALS]
    born += [(moment(entity.at), entity.target) for entity in entities]
    born += [(record.at, record) for record in records]
    born.sort(key=lambda entry: entry[0])
    return {thing: FIRST_ID + place for place, (_, thing) in enumerate(born)}


def _files_of(project: Project, world: _World) -> dict[str, list[Json]]:
    entities = [entity for entity in world.entities.values() if entity.project == project.path]
    issues = sorted((entity for entity in entities if isinstance(entity, Issue)), key=lambda one: one.iid)
    requests = sorted((entity for entity in entities if isinstance(entity, MergeRequest)), key=lambda one: one.iid)
    records = [record for record in world.records if record.target.project == project.path]
    notes = [record for record in records if isinstance(record, NoteRecord)]
    last = max(world.standing[entity.target].updated for entity in entities)
    open_issues = sum(world.standing[issue.target].state == "opened" for issue in issues)
    goals = [goal for goal in GOALS if goal.project == project.path]
    return {
        "project": [
            shapes.project_shape(project, _project_number(project.path), moment(project.created), last, open_issues)
        ],
        "users": [shapes.user(person.username) for person in PEOPLE],
        "labels": [
            _label(label, entities, world) for label in LABELS if label.project == project.path and not label.deleted
        ],
        "milestones": [_milestone(goal, world) for goal in goals],
        "issues": [_issue(issue, world) for issue in issues],
        "merge_requests": [_merge_request(request, world) for request in requests],
        "discussions": _per_entity(entities, notes, world),
        "resource_state_events": _per_entity(entities, [one for one in records if isinstance(one, StateRecord)], world),
        "resource_label_events": _per_entity(entities, [one for one in records if isinstance(one, LabelRecord)], world),
        "resource_milestone_events": _per_entity(
            entities, [one for one in records if isinstance(one, MilestoneRecord)], world
        ),
        "mr_commits": [{"iid": request.iid, "items": _commits(request, world)} for request in requests],
        "mr_diffs": [
            {
                "iid": request.iid,
                "items": [shapes.diff_shape(diff) for diff in world.versions[request.target][-1].diffs],
            }
            for request in requests
        ],
        "closes_issues": [
            {"iid": request.iid, "issue_iids": list(closing)} for request in requests if (closing := _closing(request))
        ],
    }


def _closing(request: MergeRequest) -> tuple[int, ...]:
    return closed_issues(request.description) if request.into == "main" else ()


def _project_number(path: str) -> int:
    return 1 + [project.path for project in PROJECTS].index(path)


def _label(label: LabelKind, entities: Iterable[Entity], world: _World) -> Json:
    carrying = [entity for entity in entities if label.name in world.standing[entity.target].labels]
    states = [(entity.target.kind, world.standing[entity.target].state) for entity in carrying]
    return shapes.label_shape(
        label,
        world.numbers[label],
        states.count(("issues", "opened")),
        states.count(("issues", "closed")),
        states.count(("merge_requests", "opened")),
    )


def _milestone(goal: Goal, world: _World) -> Json:
    number = world.numbers[goal]
    return shapes.milestone_shape(
        goal, number, _project_number(goal.project), moment(goal.created), moment(goal.updated)
    )


def _goal(project: str, title: str) -> Goal:
    return next(goal for goal in GOALS if goal.project == project and goal.title == title)


def _entity(entity: Entity, world: _World) -> Json:
    standing = world.standing[entity.target]
    people = [shapes.user(username) for username in standing.assignees]
    milestone = None
    if standing.milestone is not None:
        milestone = _milestone(_goal(entity.project, standing.milestone), world)
    number = world.numbers[entity.target]
    common = shapes.common_shape(entity.target, number, _project_number(entity.project), entity.description)
    return common | {
        "title": standing.title,
        "description": entity.description,
        "created_at": shapes.timestamp(moment(entity.at)),
        "updated_at": shapes.timestamp(standing.updated),
        "state": standing.state,
        "closed_at": None if standing.closed is None else shapes.timestamp(standing.closed[1]),
        "closed_by": None if standing.closed is None else shapes.user(standing.closed[0]),
        "labels": list(standing.labels),
        "milestone": milestone,
        "assignees": people,
        "author": shapes.user(entity.author),
        "assignee": people[0] if people else None,
        "user_notes_count": standing.comments,
        "upvotes": entity.upvotes,
    }


def _issue(issue: Issue, world: _World) -> Json:
    standing = world.standing[issue.target]
    common = _entity(issue, world)
    closing = [
        request
        for request in world.entities.values()
        if isinstance(request, MergeRequest) and request.project == issue.project and issue.iid in _closing(request)
    ]
    return common | {
        "type": "ISSUE",
        "issue_type": "issue",
        "merge_requests_count": len(closing),
        "due_date": issue.due,
        "confidential": standing.confidential,
        "has_tasks": common["task_completion_status"]["count"] > 0,
        "severity": "UNKNOWN",
        "moved_to_id": None if standing.moved_to is None else world.numbers[standing.moved_to],
        "service_desk_reply_to": None,
        "_links": shapes.issue_links(issue.target, common["project_id"], standing.duplicate_of),
    }


def _merge_request(request: MergeRequest, world: _World) -> Json:
    standing = world.standing[request.target]
    version = world.versions[request.target][-1]
    merge = request.merge
    landed: Json = {"merge_commit_sha": None, "squash_commit_sha": None}
    if merge is not None and merge.method != "fast_forward":
        landed["merge_commit_sha"] = world.history.sha(f"!{request.iid}")
    if merge is not None and merge.method == "squash":
        landed["squash_commit_sha"] = world.history.sha(f"!{request.iid} squash")
    draft = standing.title.startswith("Draft: ")
    unresolved = any(
        record.target == request.target
        and isinstance(record, NoteRecord)
        and record.kind is not None
        and record.resolved is None
        for record in world.records
    )
    merger = None if merge is None else shapes.user(merge.by)
    status = "mergeable"
    if standing.state != "opened":
        status = "not_open"
    elif draft:
        status = "draft_status"
    elif unresolved:
        status = "discussions_not_resolved"
    common = _entity(request, world)
    return (
        common
        | landed
        | {
            "merged_by": merger,
            "merge_user": merger,
            "merged_at": None if merge is None else shapes.timestamp(moment(merge.at)),
            "target_branch": request.into,
            "source_branch": request.branch,
            "reviewers": [shapes.user(username) for username in standing.reviewers],
            "source_project_id": common["project_id"],
            "target_project_id": common["project_id"],
            "draft": draft,
            "work_in_progress": draft,
            "merge_when_pipeline_succeeds": False,
            "merge_status": "can_be_merged",
            "detailed_merge_status": status,
            "merge_after": None,
            "sha": version.head,
            "should_remove_source_branch": None,
            "force_remove_source_branch": True,
            "prepared_at": common["created_at"],
            "reference": common["references"]["short"],
            "squash": merge is not None and merge.method == "squash",
            "squash_on_merge": merge is not None and merge.method == "squash",
            "has_conflicts": False,
            "blocking_discussions_resolved": not unresolved,
            "changes_count": str(len(version.diffs)),
            "diff_refs": {
                "base_sha": version.base,
                "head_sha": version.head,
                "start_sha": version.start,
            },
        }
    )


def _commits(request: MergeRequest, world: _World) -> list[Json]:
    """Newest first, as GitLab lists them."""
    commits = world.history.commits
    return [
        shapes.commit_shape(built, [commits[parent].sha for parent in built.parents], request.project)
        for built in (commits[commit.key] for commit in reversed(request.commits))
    ]


def _per_entity(entities: Iterable[Entity], records: Iterable[Record], world: _World) -> list[Json]:
    """One line per entity that has any, in the order of kinds and numbers."""
    lines: list[Json] = []
    for entity in sorted(entities, key=lambda one: (KINDS.index(one.target.kind), one.iid)):
        own = [record for record in records if record.target == entity.target]
        notes = [record for record in own if isinstance(record, NoteRecord)]
        items = _discussions(notes, world) if notes else [_event(record, world) for record in own]
        if items:
            lines.append({"kind": entity.target.kind, "iid": entity.iid, "items": items})
    return lines


def _discussions(notes: Iterable[NoteRecord], world: _World) -> list[Json]:
    threads: dict[str, list[NoteRecord]] = {}
    for note in notes:
        threads.setdefault(note.thread, []).append(note)
    return [
        {
            "id": shapes.discussion_id(own[0].target, thread),
            "individual_note": own[0].kind is None,
            "notes": [
                shapes.note_shape(
                    note,
                    world.numbers[note],
                    world.numbers[note.target],
                    _project_number(note.target.project),
                    world.history.resolve(note.body),
                )
                for note in own
            ],
        }
        for thread, own in threads.items()
    ]


def _event(record: Record, world: _World) -> Json:
    event: Json = {
        "id": world.numbers[record],
        "user": shapes.user(record.by),
        "created_at": shapes.timestamp(record.at),
        "resource_type": "Issue" if record.target.kind == "issues" else "MergeRequest",
        "resource_id": world.numbers[record.target],
    }
    match record:
        case StateRecord():
            source = None if record.source is None else world.numbers[record.source]
            event |= {
                "source_commit": record.source_commit,
                "source_merge_request_id": source,
                "state": record.state,
            }
        case LabelRecord():
            label = next(one for one in LABELS if (one.project, one.name) == (record.target.project, record.label))
            shown = None if label.deleted else shapes.label_in_event(label, world.numbers[label])
            event |= {"label": shown, "action": record.action}
        case MilestoneRecord():
            goal = _goal(record.target.project, record.milestone)
            event |= {"milestone": _milestone(goal, world), "action": record.action, "state": record.state}
        case NoteRecord():
            raise TypeError("a note is no event")
    return event
