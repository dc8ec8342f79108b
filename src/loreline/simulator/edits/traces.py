"""What GitLab leaves behind when something happens: notes, events, touches and mentions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from loreline.simulator.mentions import Named, references
from loreline.simulator.moments import SECOND

if TYPE_CHECKING:
    from loreline.simulator.live import Live
    from loreline.simulator.place import Place
    from loreline.simulator.world import World

# app/models/concerns/throttled_touch.rb
TOUCH_INTERVAL = 60 * SECOND


def touch(world: World, live: Live) -> None:
    """Move updated_at, as saving the entity itself does."""
    live.touch(world.clock.now())


def throttled_touch(world: World, live: Live) -> None:
    """Move updated_at as saving a note does: not within a minute of the last time."""
    now = world.clock.now()
    if now - live.updated >= TOUCH_INTERVAL:
        live.touch(now)


def new_note(
    world: World,
    place: Place,
    live: Live,
    body: str,
    author: dict[str, Any],
    *,
    note_type: str | None = None,
    system: bool = False,
    internal: bool = False,
    resolvable: bool = False,
) -> dict[str, Any]:
    now = world.now()
    note: dict[str, Any] = {
        "id": world.next_id("notes"),
        "type": note_type,
        "body": body,
        "attachment": None,
        "author": author,
        "created_at": now,
        "updated_at": now,
        "system": system,
        "noteable_id": live.id,
        "noteable_type": live.noteable_type,
        "project_id": place.id,
        "resolvable": resolvable,
    }
    if resolvable:
        note |= {"resolved": False, "resolved_by": None, "resolved_at": None}
    return note | {
        "confidential": internal,
        "internal": internal,
        "imported": False,
        "imported_from": "none",
        "noteable_iid": live.iid,
        "commands_changes": {},
    }


def new_thread(world: World, note: dict[str, Any], *, individual: bool) -> dict[str, Any]:
    return {"id": world.next_sha("discussion"), "individual_note": individual, "notes": [note]}


def system_note(
    world: World, place: Place, live: Live, body: str, author: dict[str, Any], *, touching: bool = True
) -> dict[str, Any]:
    """A note that GitLab writes; state, label and milestone changes have events instead."""
    note = new_note(world, place, live, body, author, system=True)
    live.discussions.append(new_thread(world, note, individual=True))
    if touching:
        throttled_touch(world, live)
    changed(place, live)
    return note


def state_event(
    world: World,
    live: Live,
    state: str,
    author: dict[str, Any],
    *,
    source_merge_request_id: int | None = None,
    source_commit: str | None = None,
) -> None:
    live.state_events.append(
        {
            **_event(world, live, "state_events", author),
            "source_commit": source_commit,
            "source_merge_request_id": source_merge_request_id,
            "state": state,
        }
    )


def label_event(
    world: World, live: Live, label: dict[str, Any], action: Literal["add", "remove"], author: dict[str, Any]
) -> None:
    shown = ("id", "name", "description", "description_html", "text_color", "color", "archived")
    live.label_events.append(
        {
            **_event(world, live, "label_events", author),
            "label": {name: label[name] for name in shown if name in label},
            "action": action,
        }
    )


def milestone_event(
    world: World,
    live: Live,
    milestone: dict[str, Any],
    action: Literal["add", "remove"],
    author: dict[str, Any],
) -> None:
    live.milestone_events.append(
        {
            **_event(world, live, "milestone_events", author),
            "milestone": dict(milestone),
            "action": action,
            "state": live.fields["state"],
        }
    )


def mention(
    world: World, place: Place, live: Live, text: str | None, author: dict[str, Any], before: str | None = ""
) -> None:
    """Write "mentioned in" on what a text refers to now and did not before; that touches nothing."""
    mentioned_before = references(before or "", place.path)
    for named in references(text or "", place.path):
        found = _target(world, named)
        if named in mentioned_before or found is None or found[1] is live:
            continue
        home, target = found
        source = f"{live.word} {reference(place, live, seen_from=home)}"
        body = f"mentioned in {source}"
        known = (note["body"] for thread in target.discussions for note in thread["notes"] if note["system"])
        if body not in known:
            system_note(world, home, target, body, author, touching=False)


def reference(place: Place, live: Live, *, seen_from: Place) -> str:
    """`#12` or `!5`, with the project's path where it is another's."""
    mark = "#" if live.kind == "issues" else "!"
    return f"{'' if place is seen_from else place.path}{mark}{live.iid}"


def changed(place: Place, live: Live) -> None:
    """Call when an entity's columns may have changed, so that lists notice."""
    live.forget_columns()
    place.shelves[live.kind].changed()


def count_user_notes(live: Live) -> None:
    notes = (note for thread in live.discussions for note in thread["notes"])
    live.fields["user_notes_count"] = sum(not note["system"] for note in notes)


def _event(world: World, live: Live, table: str, author: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": world.next_id(table),
        "user": author,
        "created_at": world.now(),
        "resource_type": live.noteable_type,
        "resource_id": live.id,
    }


def _target(world: World, named: Named) -> tuple[Place, Live] | None:
    home = next((one for one in world.places.values() if one.path == named.path), None)
    row = home.shelves[named.kind].row(named.iid) if home is not None else None
    return None if home is None or row is None else (home, home.thaw(named.kind, row))
