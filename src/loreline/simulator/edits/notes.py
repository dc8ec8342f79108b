"""Comments: adding, editing, deleting, resolving and hiding them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loreline.errors import InvalidValue
from loreline.simulator.edits.operation import operation
from loreline.simulator.edits.traces import (
    changed,
    count_user_notes,
    mention,
    new_note,
    new_thread,
    system_note,
    throttled_touch,
)

if TYPE_CHECKING:
    from loreline.simulator.corpus import Kind
    from loreline.simulator.live import Live
    from loreline.simulator.world import World


@operation
def add_note(
    world: World,
    /,
    project: int | str,
    kind: Kind,
    iid: int,
    body: str,
    *,
    author: str | None = None,
    thread: bool = False,
    discussion_id: str | None = None,
    position: dict[str, Any] | None = None,
    internal: bool = False,
) -> dict[str, Any]:
    """Comment: on its own, as a new thread, in one (`discussion_id`), or on a diff (`position`).

    Returns the note with its `discussion_id`.
    """
    place = world.place(project)
    live = world.live(project, kind, iid)
    who = world.person(author)
    threaded = thread or discussion_id is not None
    note_type = "DiffNote" if position is not None else "DiscussionNote" if threaded else None
    resolvable = kind == "merge_requests" and note_type is not None
    note = new_note(world, place, live, body, who, note_type=note_type, internal=internal, resolvable=resolvable)
    if position is not None:
        note |= {"commit_id": None, "position": _position(live, position)}
    if discussion_id is None:
        live.discussions.append(new_thread(world, note, individual=note_type is None))
        discussion_id = live.discussions[-1]["id"]
    else:
        found = _thread(live, discussion_id)
        if found["notes"][0]["type"] == "DiffNote":
            first = found["notes"][0]
            note |= {"type": "DiffNote", "commit_id": None, "position": first["position"]}
        elif found["individual_note"]:
            # A reply turns a lone comment into a thread.
            found["individual_note"] = False
            found["notes"][0]["type"] = "DiscussionNote"
        found["notes"].append(note)
    count_user_notes(live)
    throttled_touch(world, live)
    changed(place, live)
    mention(world, place, live, body, who)
    return {**note, "discussion_id": discussion_id}


@operation
def edit_note(
    world: World,
    /,
    project: int | str,
    kind: Kind,
    iid: int,
    note_id: int,
    body: str,
    *,
    author: str | None = None,
) -> None:
    place = world.place(project)
    live = world.live(project, kind, iid)
    _, note = _note(live, note_id)
    before, note["body"] = note["body"], body
    note["updated_at"] = world.now()
    throttled_touch(world, live)
    changed(place, live)
    mention(world, place, live, body, world.person(author), before)


@operation
def delete_note(world: World, /, project: int | str, kind: Kind, iid: int, note_id: int) -> None:
    """Delete a comment. GitLab touches on save only, so updated_at stays."""
    place = world.place(project)
    live = world.live(project, kind, iid)
    thread, note = _note(live, note_id)
    thread["notes"].remove(note)
    if not thread["notes"]:
        live.discussions.remove(thread)
    count_user_notes(live)
    changed(place, live)


@operation
def resolve_thread(
    world: World,
    /,
    project: int | str,
    iid: int,
    discussion_id: str,
    *,
    resolved: bool = True,
    author: str | None = None,
) -> None:
    """Resolve or reopen a merge request's thread.

    GitLab writes that past its callbacks: neither updated_at moves, but the system note about the last
    open thread touches like any note.
    """
    place = world.place(project)
    live = world.live(project, "merge_requests", iid)
    who = world.person(author)
    open_before = _has_open_threads(live)
    for note in _thread(live, discussion_id)["notes"]:
        if note["resolvable"] and note["resolved"] != resolved:
            note["resolved"] = resolved
            note["resolved_by"] = who if resolved else None
            note["resolved_at"] = world.now() if resolved else None
    if open_before and not _has_open_threads(live):
        system_note(world, place, live, "resolved all threads", who)
    live.fields["blocking_discussions_resolved"] = not _has_open_threads(live)
    changed(place, live)


@operation
def hide_note(world: World, /, project: int | str, kind: Kind, iid: int, note_id: int, *, hidden: bool = True) -> None:
    """Take a note out of every token's sight; its place on a page stays empty."""
    live = world.live(project, kind, iid)
    _note(live, note_id)
    if hidden:
        live.hidden_notes.add(note_id)
    else:
        live.hidden_notes.discard(note_id)


def _thread(live: Live, discussion_id: str) -> dict[str, Any]:
    for thread in live.discussions:
        if thread["id"] == discussion_id:
            return thread
    raise InvalidValue(f"The {live.word} {live.iid} has no thread {discussion_id}.")


def _note(live: Live, note_id: int) -> tuple[dict[str, Any], dict[str, Any]]:
    for thread in live.discussions:
        for note in thread["notes"]:
            if note["id"] == note_id:
                return thread, note
    raise InvalidValue(f"The {live.word} {live.iid} has no note {note_id}.")


def _has_open_threads(live: Live) -> bool:
    return any(note["resolvable"] and not note["resolved"] for thread in live.discussions for note in thread["notes"])


def _position(live: Live, position: dict[str, Any]) -> dict[str, Any]:
    refs = live.fields.get("diff_refs") or {}
    path = position.get("new_path") or position.get("old_path")
    return {
        "base_sha": refs.get("base_sha"),
        "start_sha": refs.get("start_sha"),
        "head_sha": refs.get("head_sha"),
        "old_path": path,
        "new_path": path,
        "position_type": "text",
        "old_line": None,
        "new_line": None,
        "line_range": None,
        **position,
    }
