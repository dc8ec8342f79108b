"""Labels and milestones of a project."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from loreline.simulator.api.exchange import Answer, Question, answer, not_found
from loreline.simulator.api.paging import value_page
from loreline.simulator.corpus import KINDS
from loreline.simulator.moments import parse_moment

if TYPE_CHECKING:
    from loreline.simulator.place import Place

_COUNTS = ("open_issues_count", "closed_issues_count", "open_merge_requests_count")


def labels(question: Question) -> Answer:
    place = question.place()
    found = sorted(place.labels.values(), key=lambda label: label["name"].lower())
    search = (question.get("search") or "").lower()
    if search:
        found = [label for label in found if search in label["name"].lower()]
    counts = _counts(place) if question.flag("with_counts") else None
    return value_page(question, [_shown(label, counts) for label in found])


def label(question: Question) -> Answer:
    place = question.place()
    key = question.segments[3]
    for found in place.labels.values():
        if key in (str(found["id"]), found["name"]):
            return answer(_shown(found, None))
    raise not_found("Label")


def milestones(question: Question) -> Answer:
    found = sorted(question.place().milestones.values(), key=lambda milestone: (milestone["title"], milestone["id"]))
    state = question.choice("state", ("active", "closed", "all"), "all")
    if state != "all":
        found = [milestone for milestone in found if milestone["state"] == state]
    iids = question.all("iids")
    if iids:
        found = [milestone for milestone in found if str(milestone["iid"]) in iids]
    title = question.get("title")
    if title is not None:
        found = [milestone for milestone in found if milestone["title"] == title]
    search = (question.get("search") or "").lower()
    if search:
        found = [milestone for milestone in found if search in milestone["title"].lower()]
    after, before = question.moment("updated_after"), question.moment("updated_before")
    if after is not None or before is not None:
        found = [
            milestone
            for milestone in found
            if (after is None or parse_moment(milestone["updated_at"]) >= after)
            and (before is None or parse_moment(milestone["updated_at"]) <= before)
        ]
    return value_page(question, found)


def milestone(question: Question) -> Answer:
    key = question.segments[3]
    found = question.place().milestones.get(int(key) if key.isdigit() else 0)
    if found is None:
        raise not_found()
    return answer(found)


def _counts(place: Place) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for kind in KINDS:
        shelf = place.shelves[kind]
        for row in shelf.rows():
            columns = shelf.columns(row)
            for name in columns.labels:
                counts[_count_name(kind, columns.state), place.patches.label_names.get(name) or name] += 1
    return counts


def _count_name(kind: str, state: str) -> str:
    if kind == "issues":
        return "open_issues_count" if state == "opened" else "closed_issues_count"
    return "open_merge_requests_count" if state == "opened" else ""


def _shown(label: dict[str, Any], counts: Counter[tuple[str, str]] | None) -> dict[str, Any]:
    shown = {name: value for name, value in label.items() if name not in _COUNTS}
    if counts is not None:
        shown.update({name: counts[name, label["name"]] for name in _COUNTS})
    return shown


ROUTES = {
    "projects/:/labels": labels,
    "projects/:/labels/:": label,
    "projects/:/milestones": milestones,
    "projects/:/milestones/:": milestone,
}
