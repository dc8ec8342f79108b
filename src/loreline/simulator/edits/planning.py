"""Labels, milestones and users, on entities and by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loreline.errors import InvalidValue
from loreline.simulator.edits.operation import operation
from loreline.simulator.edits.traces import changed, label_event, milestone_event, touch
from loreline.simulator.patches import Patches

if TYPE_CHECKING:
    from loreline.simulator.corpus import Kind
    from loreline.simulator.place import Place
    from loreline.simulator.world import World


@operation
def add_label(
    world: World,
    /,
    project: int | str,
    kind: Kind,
    iid: int,
    label: str,
    *,
    author: str | None = None,
    touching: bool = True,
) -> None:
    """Label something; an unknown name becomes a new label."""
    place = world.place(project)
    live = world.live(project, kind, iid)
    if label in live.fields["labels"]:
        return
    if all(known["name"] != label for known in place.labels.values()):
        create_label(world, project, label)
    live.fields["labels"] = sorted([*live.fields["labels"], label])
    label_event(world, live, find_labels(place, [label])[0], "add", world.person(author))
    if touching:
        touch(world, live)
    changed(place, live)


@operation
def remove_label(
    world: World,
    /,
    project: int | str,
    kind: Kind,
    iid: int,
    label: str,
    *,
    author: str | None = None,
    touching: bool = True,
) -> None:
    place = world.place(project)
    live = world.live(project, kind, iid)
    if label not in live.fields["labels"]:
        raise InvalidValue(f"The {live.word} {iid} has no label {label!r}.")
    live.fields["labels"] = [name for name in live.fields["labels"] if name != label]
    label_event(world, live, find_labels(place, [label])[0], "remove", world.person(author))
    if touching:
        touch(world, live)
    changed(place, live)


@operation
def create_label(world: World, /, project: int | str, name: str, **fields: Any) -> int:
    place = world.place(project)
    number = world.next_id("labels")
    place.labels[number] = {
        "id": number,
        "name": name,
        "description": None,
        "description_html": "",
        "text_color": "#FFFFFF",
        "color": "#428BCA",
        "archived": False,
        "subscribed": False,
        "priority": None,
        "is_project_label": True,
        **fields,
    }
    return number


@operation
def edit_label(world: World, /, project: int | str, label: str, **fields: Any) -> None:
    """Change a label's fields (a new `name` too); no entity is touched by it."""
    place = world.place(project)
    old = find_labels(place, [label])[0]
    new = {**old, **fields}
    place.labels[old["id"]] = new
    _lay_label(place, old, new)


@operation
def delete_label(world: World, /, project: int | str, label: str) -> None:
    """Delete a label: it leaves its entities without a trace, and its events name none from now on."""
    place = world.place(project)
    old = find_labels(place, [label])[0]
    del place.labels[old["id"]]
    _lay_label(place, old, None)


@operation
def set_milestone(
    world: World,
    /,
    project: int | str,
    kind: Kind,
    iid: int,
    milestone: str | None,
    *,
    author: str | None = None,
    touching: bool = True,
) -> None:
    """Set a milestone by title, or take it away with None."""
    place = world.place(project)
    live = world.live(project, kind, iid)
    who = world.person(author)
    before = live.fields["milestone"]
    if before is not None:
        milestone_event(world, live, before, "remove", who)
    live.fields["milestone"] = None
    if milestone is not None:
        found = find_milestone(place, milestone)
        live.fields["milestone"] = dict(found)
        milestone_event(world, live, found, "add", who)
    if touching:
        touch(world, live)
    changed(place, live)


@operation
def create_milestone(world: World, /, project: int | str, title: str, **fields: Any) -> int:
    place = world.place(project)
    number = world.next_id("milestones")
    iid = max((milestone["iid"] for milestone in place.milestones.values()), default=0) + 1
    place.milestones[number] = {
        "id": number,
        "iid": iid,
        "project_id": place.id,
        "title": title,
        "description": "",
        "state": "active",
        "created_at": world.now(),
        "updated_at": world.now(),
        "due_date": None,
        "start_date": None,
        "expired": False,
        "web_url": f"{place.web_url}/-/milestones/{iid}",
        **fields,
    }
    return number


@operation
def edit_milestone(world: World, /, project: int | str, milestone: str, **fields: Any) -> None:
    place = world.place(project)
    old = find_milestone(place, milestone)
    new = {**old, "updated_at": world.now(), **fields}
    place.milestones[old["id"]] = new
    place.patches.milestones[old["id"]] = new
    patch = Patches()
    patch.milestones[old["id"]] = new
    place.lay(patch)


@operation
def delete_milestone(world: World, /, project: int | str, milestone: str) -> None:
    place = world.place(project)
    number = find_milestone(place, milestone)["id"]
    del place.milestones[number]
    place.patches.milestones[number] = None
    patch = Patches()
    patch.milestones[number] = None
    place.lay(patch)


@operation
def edit_user(world: World, /, user: str, **fields: Any) -> None:
    """Change an account (`username`, `name`, `state`, …) wherever it shows."""
    patch = Patches()
    for place in world.places.values():
        for number, known in place.users.items():
            if known["username"] == user:
                patch.users[number] = fields
    if not patch.users:
        raise InvalidValue(f"The simulator has no user {user!r}.")
    for number in patch.users:
        for place in world.places.values():
            if number in place.users:
                place.users[number] = {**place.users[number], **fields}
            place.patches.users[number] = {**place.patches.users.get(number, {}), **fields}
            place.lay(patch)


def find_labels(place: Place, names: list[str], *, strict: bool = True) -> list[dict[str, Any]]:
    """Labels by name; unknown ones raise InvalidValue, or are left out."""
    by_name = {label["name"]: label for label in place.labels.values()}
    unknown = [name for name in names if name not in by_name]
    if unknown and strict:
        raise InvalidValue(f"{place.path} has no label {unknown[0]!r}.")
    return [by_name[name] for name in names if name in by_name]


def find_milestone(place: Place, title: str) -> dict[str, Any]:
    for milestone in place.milestones.values():
        if milestone["title"] == title:
            return milestone
    raise InvalidValue(f"{place.path} has no milestone {title!r}.")


def _lay_label(place: Place, old: dict[str, Any], new: dict[str, Any] | None) -> None:
    number = old["id"]
    name = new["name"] if new else None
    place.patches.labels[number] = new
    for stored in place.corpus.labels:
        if stored["id"] == number:
            place.patches.label_names[stored["name"]] = name
    patch = Patches()
    patch.labels[number] = new
    patch.label_names[old["name"]] = name
    place.lay(patch)
