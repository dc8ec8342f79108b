"""How an issue or merge request stands in the end, replayed from everything that happened to it."""

from __future__ import annotations

from dataclasses import dataclass

from loreline.simulator.demo.people import LABELS
from loreline.simulator.demo.records import LabelRecord, MilestoneRecord, NoteRecord, Record, StateRecord
from loreline.simulator.demo.story import (
    AskReview,
    Assign,
    Duplicate,
    Entity,
    Issue,
    LineThread,
    MergeRequest,
    MoveTo,
    Retitle,
    Target,
    Thread,
    moment,
)

_DELETED = {(label.project, label.name) for label in LABELS if label.deleted}


@dataclass(frozen=True, slots=True)
class Standing:
    title: str
    state: str
    closed: tuple[str, int] | None
    labels: tuple[str, ...]
    milestone: str | None
    assignees: tuple[str, ...]
    reviewers: tuple[str, ...]
    confidential: bool
    moved_to: Target | None
    duplicate_of: int | None
    comments: int
    updated: int


def standing_of(entity: Entity, records: tuple[Record, ...]) -> Standing:
    state, closed = "opened", None
    labels: set[str] = set()
    milestone = None
    updated = moment(entity.at)
    comments = 0
    for record in records:
        match record:
            case StateRecord():
                state = "opened" if record.state == "reopened" else record.state
                closed = (record.by, record.at) if state == "closed" else None
            case LabelRecord():
                labels = labels | {record.label} if record.action == "add" else labels - {record.label}
            case MilestoneRecord():
                milestone = record.milestone if record.action == "add" else None
            case NoteRecord():
                comments += not record.system
        if not isinstance(record, NoteRecord) or record.touches:
            updated = max(updated, record.at)
    resolutions = (act.resolved for act in entity.acts if isinstance(act, Thread | LineThread))
    updated = max([updated, *(moment(resolved[1]) for resolved in resolutions if resolved is not None)])
    moves = [act for act in entity.acts if isinstance(act, MoveTo)]
    duplicates = [act for act in entity.acts if isinstance(act, Duplicate)]
    titles = [act.title for act in entity.acts if isinstance(act, Retitle)]
    assigned = [act.who for act in entity.acts if isinstance(act, Assign)]
    asked = [act.who for act in entity.acts if isinstance(act, AskReview)]
    return Standing(
        title=titles[-1] if titles else entity.title,
        state=state,
        closed=closed,
        labels=tuple(sorted(label for label in labels if (entity.project, label) not in _DELETED)),
        milestone=milestone,
        assignees=(*entity.assignees, *assigned),
        reviewers=(*entity.reviewers, *asked) if isinstance(entity, MergeRequest) else (),
        confidential=isinstance(entity, Issue) and entity.confidential,
        moved_to=Target(moves[0].project, "issues", moves[0].iid) if moves else None,
        duplicate_of=duplicates[0].of if duplicates else None,
        comments=comments,
        updated=updated,
    )
