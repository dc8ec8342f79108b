"""Projects as a whole: created, renamed, archived, shut or hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loreline.simulator.corpus import Corpus
from loreline.simulator.edits.operation import operation
from loreline.simulator.patches import Patches
from loreline.simulator.place import Place

if TYPE_CHECKING:
    from loreline.simulator.corpus import Kind
    from loreline.simulator.world import World

_HOST = "https://gitlab.example.com"


@operation
def create_project(world: World, /, path: str, **fields: Any) -> int:
    """An empty project; its path makes the groups it needs. Returns its id."""
    number = max(world.places, default=0) + 1
    now = world.now()
    project = {
        "id": number,
        "description": None,
        "created_at": now,
        "default_branch": "main",
        "tag_list": [],
        "topics": [],
        "readme_url": None,
        "avatar_url": None,
        "star_count": 0,
        "forks_count": 0,
        "last_activity_at": now,
        "visibility": "private",
        "archived": False,
        "issues_enabled": True,
        "merge_requests_enabled": True,
        "issues_access_level": "enabled",
        "merge_requests_access_level": "enabled",
        **_located(path, 1000 + number),
        **fields,
    }
    world.add_place(Place(Corpus(project)))
    return number


@operation
def rename_project(world: World, /, project: int | str, path: str) -> None:
    """Rename or transfer a project: its id stays, its old path redirects, nothing in it is touched."""
    place = world.place(project)
    old = place.path
    place.old_paths.append(old)
    place.fields.update(_located(path, place.fields["namespace"]["id"]))
    world.groups.admit(place.fields)
    original = place.patches.path[0] if place.patches.path else old
    place.patches.path = (original, path)
    patch = Patches()
    patch.path = (old, path)
    place.milestones = {number: patch.apply(milestone) for number, milestone in place.milestones.items()}
    place.lay(patch)


@operation
def archive_project(world: World, /, project: int | str, *, archived: bool = True) -> None:
    world.place(project).fields["archived"] = archived


@operation
def set_feature(world: World, /, project: int | str, kind: Kind, *, enabled: bool) -> None:
    """Switch the issues or merge requests of a project on or off."""
    fields = world.place(project).fields
    fields[f"{kind}_enabled"] = enabled
    fields[f"{kind}_access_level"] = "enabled" if enabled else "disabled"


@operation
def hide_project(world: World, /, project: int | str, *, hidden: bool = True) -> None:
    """Take a project out of every token's sight, or put it back."""
    world.place(project).hidden = hidden


@operation
def delete_project(world: World, /, project: int | str) -> None:
    place = world.place(project)
    del world.places[place.id]


def _located(path: str, namespace_id: int) -> dict[str, Any]:
    above, _, name = path.rpartition("/")
    return {
        "name": name,
        "name_with_namespace": " / ".join(path.split("/")),
        "path": name,
        "path_with_namespace": path,
        "ssh_url_to_repo": f"git@gitlab.example.com:{path}.git",
        "http_url_to_repo": f"{_HOST}/{path}.git",
        "web_url": f"{_HOST}/{path}",
        "namespace": {
            "id": namespace_id,
            "name": above.rpartition("/")[2],
            "path": above.rpartition("/")[2],
            "kind": "group",
            "full_path": above,
            "parent_id": None,
        },
    }
