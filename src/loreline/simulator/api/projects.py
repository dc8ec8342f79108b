"""Projects and the groups they live in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loreline.simulator.api.exchange import Answer, Question, answer, not_found
from loreline.simulator.api.paging import (
    keyset_link,
    page_headers,
    page_of,
    refuse_far_offset,
    refuse_keyset,
    value_page,
)

if TYPE_CHECKING:
    from loreline.simulator.groups import Group
    from loreline.simulator.place import Place

_ORDERS = ("id", "name", "path", "created_at", "updated_at", "last_activity_at", "similarity", "star_count")


def project(question: Question) -> Answer:
    return answer(_shown(question.place()))


def projects(question: Question) -> Answer:
    return _listed(question, list(question.world.places.values()), "created_at")


def group(question: Question) -> Answer:
    found = _group(question)
    shown = _group_shown(question, found)
    shown["projects"] = [_shown(place) for place in _inside(question, found, deep=False)]
    return answer(shown)


def group_projects(question: Question) -> Answer:
    found = _group(question)
    deep = question.flag("include_subgroups")
    return _listed(question, _inside(question, found, deep=deep), "created_at")


def subgroups(question: Question) -> Answer:
    groups = question.world.groups.below(_group(question))
    return value_page(question, [_group_shown(question, one) for one in groups])


def users(question: Question) -> Answer:
    place = question.place()
    found = sorted(place.users.values(), key=lambda user: user["id"])
    search = (question.get("search") or "").lower()
    if search:
        found = [user for user in found if search in user["username"].lower() or search in user["name"].lower()]
    return value_page(question, found)


def _listed(question: Question, places: list[Place], default_order: str) -> Answer:
    places = [place for place in places if not place.hidden]
    if question.get("archived") is not None:
        archived = question.flag("archived")
        places = [place for place in places if bool(place.fields.get("archived")) == archived]
    search = (question.get("search") or "").lower()
    places = [place for place in places if search in place.path.lower()]
    keyset = question.get("pagination") == "keyset"
    order = question.choice("order_by", _ORDERS, default_order)
    descending = question.choice("sort", ("asc", "desc"), "desc") == "desc"
    places.sort(key=lambda place: (_order_key(place, order), place.id), reverse=descending)
    # `id_after` and `id_before` are filters of their own, which is how the next keyset page is named.
    after, before = question.number("id_after", 0), question.number("id_before", 0)
    places = [place for place in places if place.id > after and (not before or place.id < before)]
    page = page_of(question)
    if keyset:
        if order != "id":
            refuse_keyset(question)
        shown = places[: page.size]
        bound = "id_before" if descending else "id_after"
        headers = keyset_link(question, **{bound: str(shown[-1].id)}) if len(places) > page.size else []
        return answer([_shown(place) for place in shown], headers)
    refuse_far_offset(question, page, "Project")
    headers = page_headers(question, page, len(places))
    return answer([_shown(place) for place in places[page.start : page.end]], headers)


def _order_key(place: Place, order: str) -> Any:
    if order == "id":
        return place.id
    value = place.fields.get(order if order != "updated_at" else "last_activity_at", "")
    return value.lower() if isinstance(value, str) else value


def _shown(place: Place) -> dict[str, Any]:
    fields = dict(place.fields)
    fields.setdefault("archived", False)
    fields.setdefault("empty_repo", False)
    fields.setdefault("readme_url", None)
    fields.setdefault("avatar_url", None)
    return fields


def _group(question: Question) -> Group:
    found = question.world.groups.find(question.segments[1])
    if found is None:
        raise not_found("Group")
    return found


def _inside(question: Question, group: Group, *, deep: bool) -> list[Place]:
    below = f"{group.full_path}/"
    return [
        place
        for place in question.world.places.values()
        if not place.hidden
        and (place.path.startswith(below) if deep else place.path.rpartition("/")[0] == group.full_path)
    ]


def _group_shown(question: Question, group: Group) -> dict[str, Any]:
    groups = question.world.groups
    parent = groups.by_path.get(group.parent or "")
    steps = group.full_path.split("/")
    ancestors = ["/".join(steps[: depth + 1]) for depth in range(len(steps))]
    return {
        "id": group.id,
        "web_url": f"https://gitlab.example.com/groups/{group.full_path}",
        "name": group.name,
        "path": group.path,
        "description": "",
        "visibility": "private",
        "avatar_url": None,
        "full_name": " / ".join(groups.by_path[path].name for path in ancestors if path in groups.by_path),
        "full_path": group.full_path,
        "created_at": "2020-01-01T00:00:00.000Z",
        "parent_id": parent.id if parent else None,
        "archived": False,
    }


ROUTES = {
    "projects": projects,
    "projects/:": project,
    "projects/:/users": users,
    "groups/:": group,
    "groups/:/projects": group_projects,
    "groups/:/subgroups": subgroups,
}
