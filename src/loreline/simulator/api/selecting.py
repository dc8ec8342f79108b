"""Which entities a list request means, and in what order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from loreline.simulator.api.exchange import bad_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from loreline.simulator.api.exchange import Question
    from loreline.simulator.corpus import Entity, Kind
    from loreline.simulator.place import Place

ORDERS: dict[str, Callable[[Entity], Any]] = {
    "created_at": lambda entity: entity.created,
    "updated_at": lambda entity: entity.updated,
    "title": lambda entity: entity.title.lower(),
    "id": lambda entity: entity.id,
}
_ACCEPTED = {
    "issues": (
        "created_at",
        "updated_at",
        "title",
        "id",
        "due_date",
        "label_priority",
        "milestone_due",
        "popularity",
        "priority",
        "relative_position",
        "weight",
    ),
    "merge_requests": (
        "created_at",
        "updated_at",
        "title",
        "label_priority",
        "merged_at",
        "milestone_due",
        "popularity",
        "priority",
    ),
}
_STATES = {
    "issues": ("opened", "closed", "all"),
    "merge_requests": ("opened", "closed", "locked", "merged", "all"),
}


def ordering_of(question: Question, kind: Kind) -> tuple[str, Callable[[Entity], Any], bool]:
    """The column to order by, its key, and whether it falls. Columns a corpus lacks fall back to id."""
    name = question.choice("order_by", _ACCEPTED[kind], "created_at")
    descending = question.choice("sort", ("asc", "desc"), "desc") == "desc"
    order = name if name in ORDERS else "id"
    return order, ORDERS[order], descending


def filter_of(question: Question, place: Place, kind: Kind) -> tuple[object, Callable[[Entity, int], bool] | None]:
    """A test for rows, and a name under which its result may be kept."""
    state = question.choice("state", _STATES[kind], "all")
    scope = question.choice(
        "scope", ("all", "created_by_me", "assigned_to_me", "created-by-me", "assigned-to-me"), "all"
    ).replace("-", "_")
    moments = {name: question.moment(name) for name in ("updated_after", "updated_before")}
    moments |= {name: question.moment(name) for name in ("created_after", "created_before")}
    tests: list[Callable[[Entity, int], bool]] = []
    if state != "all":
        tests.append(lambda entity, _: entity.state == state)
    if scope == "created_by_me":
        tests.append(_by_author(question.token.user["username"]))
    if scope == "assigned_to_me":
        me = question.token.user["username"]
        tests.append(lambda entity, _: me in entity.assignees)
    tests.extend(_TIME_TESTS[name](moment) for name, moment in moments.items() if moment is not None)
    tests.extend(_tests_by_value(question, place, kind))
    secretive = _needs_visibility(place, kind) or not question.token.insider
    if secretive:
        tests.append(lambda _, row: place.visible(kind, row, question.token))
    if not tests:
        return ("all",), None
    name = (
        tuple(sorted(pair for pair in question.params if pair[0] not in _PAGING)),
        question.token.value if secretive or scope != "all" else None,
    )
    return name, lambda entity, row: all(test(entity, row) for test in tests)


_PAGING = frozenset(("page", "per_page", "pagination", "order_by", "sort", "cursor", "with_labels_details"))

_TIME_TESTS: dict[str, Callable[[int], Callable[[Entity, int], bool]]] = {
    "updated_after": lambda moment: lambda entity, _: entity.updated >= moment,
    "updated_before": lambda moment: lambda entity, _: entity.updated <= moment,
    "created_after": lambda moment: lambda entity, _: entity.created >= moment,
    "created_before": lambda moment: lambda entity, _: entity.created <= moment,
}


def _needs_visibility(place: Place, kind: Kind) -> bool:
    return any(live.hidden for live in place.shelves[kind].live.values())


def _by_author(username: str) -> Callable[[Entity, int], bool]:
    return lambda entity, _: entity.author == username


def _tests_by_value(question: Question, place: Place, kind: Kind) -> list[Callable[[Entity, int], bool]]:
    tests: list[Callable[[Entity, int], bool]] = []
    shelf = place.shelves[kind]
    iids = question.all("iids")
    if iids:
        if not all(iid.lstrip("-").isdigit() for iid in iids):
            raise bad_request("iids is invalid")
        wanted = {int(iid) for iid in iids}
        tests.append(lambda _, row: shelf.iid(row) in wanted)
    labels = question.all("labels")
    if labels:
        tests.append(_label_test(place, kind, labels))
    milestone = question.get("milestone")
    if milestone is not None:
        tests.append(_milestone_test(place, kind, milestone))
    author = question.get("author_username")
    if author is not None:
        tests.append(_by_author(author))
    if question.get("confidential") is not None:
        confidential = question.flag("confidential")
        tests.append(lambda entity, _: entity.confidential == confidential)
    search = question.get("search")
    if search is not None:
        words = search.lower().split()
        fields = (question.get("in") or "title,description").split(",")

        def found(_: Entity, row: int) -> bool:
            shown = msgspec.json.decode(place.single(kind, row))
            text = "\n".join(str(shown.get(field) or "") for field in fields).lower()
            return all(word in text for word in words)

        tests.append(found)
    return tests


def _label_test(place: Place, kind: Kind, wanted: list[str]) -> Callable[[Entity, int], bool]:
    shelf = place.shelves[kind]
    names = place.patches.label_names

    def carried(entity: Entity, row: int) -> bool:
        # An edited entity has its labels as they read today; a stored one needs the patches.
        today = entity.labels if row in shelf.live else [names.get(label, label) for label in entity.labels]
        present = {label.lower() for label in today if label is not None}
        if wanted == ["None"]:
            return not present
        if wanted == ["Any"]:
            return bool(present)
        return all(label.lower() in present for label in wanted)

    return carried


def _milestone_test(place: Place, kind: Kind, wanted: str) -> Callable[[Entity, int], bool]:
    shelf = place.shelves[kind]
    titles = {
        stored["title"]: (now["title"] if now else None)
        for number, now in place.patches.milestones.items()
        for stored in place.corpus.milestones
        if stored["id"] == number
    }

    def planned(entity: Entity, row: int) -> bool:
        title = entity.milestone
        if title is not None and row not in shelf.live:
            title = titles.get(title, title)
        if wanted == "None":
            return title is None
        if wanted == "Any":
            return title is not None
        return title is not None and title.lower() == wanted.lower()

    return planned
