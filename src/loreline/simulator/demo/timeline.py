"""Turns what people did into what GitLab recorded, in the order in which it happened.

GitLab's own part is derived here: "mentioned in …" notes, notes about pushed commits, issues that a merge
closes, the notes on both ends of a relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

from loreline.simulator.demo.diffs import find_line
from loreline.simulator.demo.records import (
    LabelRecord,
    MilestoneRecord,
    NoteRecord,
    Place,
    Record,
    StateRecord,
)
from loreline.simulator.demo.repository import History
from loreline.simulator.demo.story import (
    Act,
    Approve,
    AskReview,
    Assign,
    Close,
    Duplicate,
    Entity,
    Label,
    LineThread,
    Merge,
    MergeRequest,
    Milestone,
    MoveTo,
    Picked,
    Redescribe,
    Relate,
    Reopen,
    Retitle,
    Say,
    StartMergeRequest,
    Target,
    Thread,
    moment,
)
from loreline.simulator.demo.versions import Version
from loreline.simulator.mentions import closed_issues, references

Versions = Mapping[Target, tuple[Version, ...]]


def records_of(entities: tuple[Entity, ...], versions: Versions, history: History) -> list[Record]:
    """Every note and event of all projects, in order."""
    records: list[Record] = []
    for entity in entities:
        records += _creation(entity)
        records += _pushes(entity, versions, history)
        title = entity.title
        for act in entity.acts:
            records += _records_of_act(entity, act, title, versions, history)
            if isinstance(act, Retitle):
                title = act.title
        records += _all_resolved(entity)
    records += _mentions(entities, history)
    return sorted(records, key=lambda record: record.at)


def _system(target: Target, at: int, by: str, body: str, *, touches: bool = True) -> NoteRecord:
    return NoteRecord(target, at, by, body, f"system {at} {body}", system=True, touches=touches)


def _creation(entity: Entity) -> Iterator[Record]:
    target, at, by = entity.target, moment(entity.at), entity.author
    for label in entity.labels:
        yield LabelRecord(target, at, by, label, "add")
    if entity.milestone is not None:
        yield MilestoneRecord(target, at, by, entity.milestone, "add", "opened")
    if entity.assignees:
        yield _system(target, at + 1000, by, f"assigned to {_names(entity.assignees)}")
    if isinstance(entity, MergeRequest) and entity.reviewers:
        yield _system(target, at + 2000, by, f"requested review from {_names(entity.reviewers)}")


def _names(usernames: tuple[str, ...]) -> str:
    *most, last = [f"@{username}" for username in usernames]
    return f"{', '.join(most)} and {last}" if most else last


def _pushes(entity: Entity, versions: Versions, history: History) -> Iterator[Record]:
    if not isinstance(entity, MergeRequest):
        return
    before: Version | None = None
    for version in versions[entity.target]:
        if before is not None:
            count = len(version.commits)
            titles = "".join(
                f"<li>{history.sha(commit.key)[:8]} - {commit.message.splitlines()[0]}</li>"
                for commit in version.commits
            )
            link = f"/{entity.project}/-/merge_requests/{entity.iid}/diffs?start_sha={before.head}"
            body = (
                f"added {count} commit{'s' if count > 1 else ''}\n\n<ul>{titles}</ul>\n\n"
                f"[Compare with previous version]({link})"
            )
            yield _system(entity.target, version.at, version.commits[-1].author, body)
        before = version


def _records_of_act(entity: Entity, act: Act, title: str, versions: Versions, history: History) -> Iterator[Record]:
    match act:
        case Say():
            yield _note(entity, act, thread=f"note {act.at} {act.by}", history=history)
        case Thread(notes, resolved):
            yield from _thread(entity, notes, resolved, "DiscussionNote", None, history)
        case LineThread(path, needle, notes, removed, resolved):
            opened = moment(notes[0].at)
            version = [one for one in versions[entity.target] if one.at <= opened][-1]
            line = find_line(version.diffs, path, history.resolve(needle), removed=removed)
            place = Place(version.base, version.start, version.head, line)
            yield from _thread(entity, notes, resolved, "DiffNote", place, history)
        case Merge():
            if not isinstance(entity, MergeRequest):
                raise TypeError(f"{entity.target} cannot be merged")
            yield from _merge(entity, act, history)
        case Label() | Milestone() | Close() | Reopen():
            yield from _events_of_act(entity, act)
        case Duplicate() | Relate() | MoveTo():
            yield from _link(entity.target, act)
        case _:
            yield _system(entity.target, moment(act.at), act.by, _words_of_act(entity.target, act, title))


def _events_of_act(entity: Entity, act: Label | Milestone | Close | Reopen) -> Iterator[Record]:
    """What current versions of GitLab keep as events only, without a note."""
    target, at, by = entity.target, moment(act.at), act.by
    match act:
        case Label(add=add, remove=remove):
            for label in add:
                yield LabelRecord(target, at, by, label, "add")
            for label in remove:
                yield LabelRecord(target, at, by, label, "remove")
        case Milestone(title=new):
            if entity.milestone is not None:
                yield MilestoneRecord(target, at, by, entity.milestone, "remove", "opened")
            if new is not None:
                yield MilestoneRecord(target, at, by, new, "add", "opened")
        case Close():
            yield StateRecord(target, at, by, "closed")
        case Reopen():
            yield StateRecord(target, at, by, "reopened")


def _words_of_act(target: Target, act: Act, title: str) -> str:
    """GitLab's words for an act that leaves nothing but a system note."""
    match act:
        case Assign(who=who):
            words = f"assigned to @{who}"
        case AskReview(who=who):
            words = f"requested review from @{who}"
        case Approve():
            words = "approved this merge request"
        case Redescribe():
            words = "changed the description"
        case Retitle(title=new) if title == f"Draft: {new}":
            words = "marked this merge request as **ready**"
        case Retitle(title=new):
            words = _title_change(title, new)
        case StartMergeRequest(iid=iid):
            words = f"created merge request !{iid} to address this issue"
        case Picked(branch=branch, commit=commit):
            link = f"/{target.project}/-/tree/{branch}"
            words = f"picked the changes into the branch [`{branch}`]({link}) with commit {{{{{commit}}}}}"
        case _:
            raise TypeError(f"{target}: nothing is known of {act}")
    return words


def _title_change(old: str, new: str) -> str:
    """GitLab marks the part that differs: `{-removed-}` and `{+added+}`."""
    front = _shared(old, new)
    back = _shared(old[front:][::-1], new[front:][::-1])
    gone, come = old[front : len(old) - back], new[front : len(new) - back]
    before, after = old[:front], old[len(old) - back :]
    marked_old = f"{before}{{-{gone}-}}{after}" if gone else old
    marked_new = f"{before}{{+{come}+}}{after}" if come else new
    return f"changed title from **{marked_old}** to **{marked_new}**"


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _link(target: Target, act: Duplicate | Relate | MoveTo) -> Iterator[Record]:
    """A note on both ends; a duplicate and a moved issue are closed by it."""
    at, by = moment(act.at), act.by
    match act:
        case Duplicate(of=of):
            other = Target(target.project, "issues", of)
            here = f"marked this issue as a duplicate of #{of}"
            there = f"marked #{target.iid} as a duplicate of this issue"
        case Relate(to=to):
            other = Target(target.project, "issues", to)
            here = f"marked this issue as related to #{to}"
            there = f"marked this issue as related to #{target.iid}"
        case MoveTo(project=project, iid=iid):
            other = Target(project, "issues", iid)
            here = f"moved to {other.reference_from(target.project)}"
            there = f"moved from {target.reference_from(project)}"
    yield _system(target, at, by, here)
    yield _system(other, at, by, there)
    if not isinstance(act, Relate):
        yield StateRecord(target, at, by, "closed")


def _merge(request: MergeRequest, merge: Merge, history: History) -> Iterator[Record]:
    at = moment(merge.at)
    yield StateRecord(request.target, at, merge.by, "merged")
    if request.into != "main":
        # GitLab closes issues only when the default branch gets the work.
        return
    landed = request.commits[-1].key if merge.method == "fast_forward" else f"!{request.iid}"
    for iid in closed_issues(request.description):
        issue = Target(request.project, "issues", iid)
        yield StateRecord(issue, at + 2000, merge.by, "closed", request.target, history.sha(landed))
        yield _system(issue, at + 2000, merge.by, f"closed via merge request !{request.iid}")


def _note(
    entity: Entity,
    said: Say,
    *,
    thread: str,
    history: History,
    kind: str | None = None,
    place: Place | None = None,
    resolved: tuple[str, str] | None = None,
) -> NoteRecord:
    return NoteRecord(
        entity.target,
        moment(said.at),
        said.by,
        history.resolve(said.body),
        thread,
        kind=kind,
        internal=said.internal,
        place=place,
        resolved=None if resolved is None else (resolved[0], moment(resolved[1])),
    )


def _thread(
    entity: Entity,
    notes: tuple[Say, ...],
    resolved: tuple[str, str] | None,
    kind: str,
    place: Place | None,
    history: History,
) -> Iterator[NoteRecord]:
    thread = f"thread {notes[0].at} {notes[0].by}"
    for said in notes:
        yield _note(entity, said, thread=thread, history=history, kind=kind, place=place, resolved=resolved)


def _all_resolved(entity: Entity) -> Iterator[Record]:
    threads = [act for act in entity.acts if isinstance(act, Thread | LineThread)]
    if not isinstance(entity, MergeRequest) or not threads:
        return
    resolutions = [act.resolved for act in threads if act.resolved is not None]
    if len(resolutions) == len(threads):
        by, at = max(resolutions, key=lambda resolution: moment(resolution[1]))
        yield _system(entity.target, moment(at), by, "resolved all threads")


def _mentions(entities: tuple[Entity, ...], history: History) -> Iterator[Record]:
    """One note per pair, where the first mention was made; mentions never move `updated_at`."""
    known = {entity.target for entity in entities}
    for entity in entities:
        mentioned: set[Target] = {entity.target}
        texts = [(moment(entity.at) + 3000, entity.author, f"{entity.title}\n{entity.description}")]
        for act in entity.acts:
            said = act.notes if isinstance(act, Thread | LineThread) else (act,)
            texts += [
                (moment(one.at) + 1000, one.by, one.body) for one in said if isinstance(one, Say) and not one.internal
            ]
        for at, by, text in sorted(texts, key=lambda entry: entry[0]):
            for target in (Target(*named) for named in references(text, entity.project)):
                if target not in known:
                    raise ValueError(f"{entity.target} mentions {target}, which does not exist")
                if target not in mentioned:
                    mentioned.add(target)
                    reference = entity.target.reference_from(target.project)
                    body = f"mentioned in {entity.target.word} {reference}"
                    yield _system(target, at, by, body, touches=False)
    project = next(entity.project for entity in entities if isinstance(entity, MergeRequest))
    for built in history.commits.values():
        for target in (Target(*named) for named in references(built.message, project)):
            yield _system(target, built.at + 1000, built.author, f"mentioned in commit {built.sha}", touches=False)
