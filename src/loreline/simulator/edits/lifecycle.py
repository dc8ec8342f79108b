"""Issues and merge requests from creation to deletion."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from loreline.errors import InvalidValue
from loreline.simulator.corpus import ONLY_SINGLE
from loreline.simulator.edits.changes import new_commits, new_diffs, set_head
from loreline.simulator.edits.operation import operation
from loreline.simulator.edits.planning import find_labels, find_milestone
from loreline.simulator.edits.traces import (
    changed,
    label_event,
    mention,
    milestone_event,
    reference,
    state_event,
    system_note,
    touch,
)
from loreline.simulator.live import Live
from loreline.simulator.mentions import closed_issues

if TYPE_CHECKING:
    from loreline.simulator.corpus import Kind
    from loreline.simulator.place import Place
    from loreline.simulator.world import World


@operation
def create_issue(
    world: World,
    /,
    project: int | str,
    title: str,
    *,
    description: str | None = "",
    author: str | None = None,
    labels: list[str] | None = None,
    milestone: str | None = None,
    assignees: list[str] | None = None,
    confidential: bool = False,
) -> int:
    """Open an issue and return its iid."""
    place = world.place(project)
    fields = _common(world, place, "issues", title, description, author, assignees)
    fields |= {
        "closed_by": None,
        "type": "ISSUE",
        "issue_type": "issue",
        "merge_requests_count": 0,
        "due_date": None,
        "confidential": confidential,
        "has_tasks": False,
        "severity": "UNKNOWN",
        "moved_to_id": None,
        "service_desk_reply_to": None,
        "_links": _links(place, fields["iid"]),
        **ONLY_SINGLE["issues"],
    }
    return _opened(world, place, "issues", fields, labels, milestone).iid


@operation
def create_merge_request(
    world: World,
    /,
    project: int | str,
    title: str,
    *,
    description: str | None = "",
    author: str | None = None,
    labels: list[str] | None = None,
    milestone: str | None = None,
    assignees: list[str] | None = None,
    reviewers: list[str] | None = None,
    source_branch: str = "topic",
    target_branch: str = "main",
    commits: list[dict[str, Any]] | None = None,
    diffs: list[dict[str, Any]] | None = None,
) -> int:
    """Open a merge request and return its iid; `commits` and `diffs` are as for `push`."""
    place = world.place(project)
    fields = _common(world, place, "merge_requests", title, description, author, assignees)
    draft = title.lower().startswith("draft:")
    fields |= {
        "merged_by": None,
        "merge_user": None,
        "merged_at": None,
        "closed_by": None,
        "target_branch": target_branch,
        "source_branch": source_branch,
        "reviewers": [world.person(name) for name in reviewers or ()],
        "source_project_id": place.id,
        "target_project_id": place.id,
        "draft": draft,
        "work_in_progress": draft,
        "merge_when_pipeline_succeeds": False,
        "merge_status": "can_be_merged",
        "detailed_merge_status": "mergeable",
        "merge_after": None,
        "sha": None,
        "merge_commit_sha": None,
        "squash_commit_sha": None,
        "should_remove_source_branch": None,
        "force_remove_source_branch": False,
        "prepared_at": world.now(),
        "reference": f"!{fields['iid']}",
        "squash": False,
        "squash_on_merge": False,
        "has_conflicts": False,
        "blocking_discussions_resolved": True,
        **ONLY_SINGLE["merge_requests"],
    }
    live = _opened(world, place, "merge_requests", fields, labels, milestone)
    live.closes = list(closed_issues(description or ""))
    # GitLab lists the newest commit first.
    live.commits = new_commits(world, place, live, commits or [{"title": title}])[::-1]
    live.diffs = new_diffs(diffs or [])
    base = world.next_sha("commit")
    set_head(world, live, {"base_sha": base, "start_sha": base})
    return live.iid


@operation
def edit_text(
    world: World,
    /,
    project: int | str,
    kind: Kind,
    iid: int,
    *,
    title: str | None = None,
    description: str | None = None,
    author: str | None = None,
) -> None:
    """Change title, description or both."""
    place = world.place(project)
    live = world.live(project, kind, iid)
    who = world.person(author)
    touch(world, live)
    if title is not None and title != live.fields["title"]:
        before, live.fields["title"] = live.fields["title"], title
        system_note(world, place, live, f"changed title from **{{-{before}-}}** to **{{+{title}+}}**", who)
        mention(world, place, live, title, who, before)
    if description is not None and description != live.fields["description"]:
        old, live.fields["description"] = live.fields["description"], description
        system_note(world, place, live, "changed the description", who)
        mention(world, place, live, description, who, old)
        if kind == "merge_requests":
            live.closes = list(closed_issues(description or ""))
    changed(place, live)


@operation
def close(
    world: World,
    /,
    project: int | str,
    kind: Kind,
    iid: int,
    *,
    author: str | None = None,
    by_merge_request: int | None = None,
    by_commit: str | None = None,
) -> None:
    """Close; `by_merge_request` is the iid of one of the same project."""
    place = world.place(project)
    live = world.live(project, kind, iid)
    who = world.person(author)
    source = None
    if by_merge_request is not None:
        source = world.live(project, "merge_requests", by_merge_request).id
    live.fields |= {"state": "closed", "closed_at": world.now(), "closed_by": who}
    touch(world, live)
    state_event(world, live, "closed", who, source_merge_request_id=source, source_commit=by_commit)
    changed(place, live)


@operation
def reopen(world: World, /, project: int | str, kind: Kind, iid: int, *, author: str | None = None) -> None:
    place = world.place(project)
    live = world.live(project, kind, iid)
    live.fields |= {"state": "opened", "closed_at": None, "closed_by": None}
    touch(world, live)
    state_event(world, live, "reopened", world.person(author))
    changed(place, live)


@operation
def assign(
    world: World,
    /,
    project: int | str,
    kind: Kind,
    iid: int,
    usernames: list[str],
    *,
    author: str | None = None,
) -> None:
    """Make these the assignees."""
    place = world.place(project)
    live = world.live(project, kind, iid)
    people = [world.person(name) for name in usernames]
    before = {person["username"] for person in live.fields["assignees"]}
    live.fields["assignees"] = people
    live.fields["assignee"] = people[0] if people else None
    touch(world, live)
    added = " and ".join(f"@{name}" for name in usernames if name not in before)
    removed = " and ".join(f"@{name}" for name in sorted(before - set(usernames)))
    said = " and ".join(
        part for part in (added and f"assigned to {added}", removed and f"unassigned {removed}") if part
    )
    if said:
        system_note(world, place, live, said, world.person(author))
    changed(place, live)


@operation
def set_confidential(
    world: World, /, project: int | str, iid: int, *, confidential: bool = True, author: str | None = None
) -> None:
    place = world.place(project)
    live = world.live(project, "issues", iid)
    live.fields["confidential"] = confidential
    touch(world, live)
    said = "made the issue confidential" if confidential else "made the issue visible to everyone"
    system_note(world, place, live, said, world.person(author))


@operation
def delete(world: World, /, project: int | str, kind: Kind, iid: int) -> None:
    """Delete an issue or merge request; nothing tells of it."""
    place = world.place(project)
    shelf = place.shelves[kind]
    row = shelf.row(iid)
    if row is None:
        raise InvalidValue(f"{place.path} has nothing numbered {iid} among its {kind}.")
    shelf.gone.add(row)
    shelf.changed()


@operation
def hide(world: World, /, project: int | str, kind: Kind, iid: int, *, hidden: bool = True) -> None:
    """Take an issue or merge request out of every token's sight, or put it back."""
    place = world.place(project)
    live = world.live(project, kind, iid)
    live.hidden = hidden
    changed(place, live)


@operation
def move_issue(world: World, /, project: int | str, iid: int, to: int | str, *, author: str | None = None) -> int:
    """Move an issue to another project: a copy there, the old one closed. Returns the new iid."""
    old_place, new_place = world.place(project), world.place(to)
    old = world.live(project, "issues", iid)
    who = world.person(author)
    fields = copy.deepcopy(old.fields)
    new_iid = new_place.shelves["issues"].top_iid() + 1
    fields |= {
        "id": world.next_id("issues"),
        "iid": new_iid,
        "project_id": new_place.id,
        "labels": [label["name"] for label in find_labels(new_place, fields["labels"], strict=False)],
        "milestone": _same_milestone(new_place, fields["milestone"]),
        "web_url": f"{new_place.web_url}/-/issues/{new_iid}",
        "references": _references(new_place, "#", new_iid),
        "_links": _links(new_place, new_iid),
    }
    now = world.clock.now()
    new = Live(kind="issues", fields=fields, created=old.created, updated=now)
    new.touch(now)
    new.discussions = copy.deepcopy(old.discussions)
    for thread in new.discussions:
        thread["id"] = world.next_sha("discussion")
        for note in thread["notes"]:
            note |= {"id": world.next_id("notes"), "noteable_id": new.id, "noteable_iid": new_iid}
            note["project_id"] = new_place.id
    for name in ("state_events", "label_events", "milestone_events"):
        events = copy.deepcopy(getattr(old, name))
        for event in events:
            event |= {"id": world.next_id(name), "resource_id": new.id}
        setattr(new, name, events)
    new_place.shelves["issues"].add(new)
    system_note(world, new_place, new, f"moved from {reference(old_place, old, seen_from=new_place)}", who)
    # MoveService closes without a state event: the notes tell of the move.
    old.fields |= {
        "state": "closed",
        "closed_at": world.now(),
        "closed_by": who,
        "moved_to_id": new.id,
    }
    touch(world, old)
    system_note(world, old_place, old, f"moved to {reference(new_place, new, seen_from=old_place)}", who)
    return new_iid


def _opened(
    world: World,
    place: Place,
    kind: Kind,
    fields: dict[str, Any],
    labels: list[str] | None,
    milestone: str | None,
) -> Live:
    now = world.clock.now()
    live = Live(kind=kind, fields=fields, created=now, updated=now)
    place.shelves[kind].add(live)
    who = fields["author"]
    for label in find_labels(place, labels or []):
        fields["labels"] = sorted([*fields["labels"], label["name"]])
        label_event(world, live, label, "add", who)
    if milestone is not None:
        found = find_milestone(place, milestone)
        fields["milestone"] = dict(found)
        milestone_event(world, live, found, "add", who)
    mention(world, place, live, f"{fields['title']}\n{fields['description'] or ''}", who)
    changed(place, live)
    return live


def _common(
    world: World,
    place: Place,
    kind: Kind,
    title: str,
    description: str | None,
    author: str | None,
    assignees: list[str] | None,
) -> dict[str, Any]:
    iid = place.shelves[kind].top_iid() + 1
    now = world.now()
    people = [world.person(name) for name in assignees or ()]
    return {
        "id": world.next_id(kind),
        "iid": iid,
        "project_id": place.id,
        "title": title,
        "description": description,
        "created_at": now,
        "updated_at": now,
        "state": "opened",
        "closed_at": None,
        "labels": [],
        "milestone": None,
        "assignees": people,
        "author": world.person(author),
        "assignee": people[0] if people else None,
        "user_notes_count": 0,
        "upvotes": 0,
        "downvotes": 0,
        "discussion_locked": None,
        "time_stats": {
            "time_estimate": 0,
            "total_time_spent": 0,
            "human_time_estimate": None,
            "human_total_time_spent": None,
        },
        "task_completion_status": {"count": 0, "completed_count": 0},
        "imported": False,
        "imported_from": "none",
        "web_url": f"{place.web_url}/-/{kind}/{iid}",
        "references": _references(place, "#" if kind == "issues" else "!", iid),
    }


def _references(place: Place, mark: str, iid: int) -> dict[str, str]:
    return {"short": f"{mark}{iid}", "relative": f"{mark}{iid}", "full": f"{place.path}{mark}{iid}"}


def _links(place: Place, iid: int) -> dict[str, str | None]:
    home = f"https://gitlab.example.com/api/v4/projects/{place.id}"
    own = f"{home}/issues/{iid}"
    return {
        "self": own,
        "notes": f"{own}/notes",
        "award_emoji": f"{own}/award_emoji",
        "project": home,
        "closed_as_duplicate_of": None,
    }


def _same_milestone(place: Place, milestone: dict[str, Any] | None) -> dict[str, Any] | None:
    if milestone is None:
        return None
    same = (one for one in place.milestones.values() if one["title"] == milestone["title"])
    return next((dict(one) for one in same), None)
