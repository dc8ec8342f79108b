"""Issues and merge requests: the lists, and one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from loreline.simulator.api.exchange import Answer, Question, bad_request, forbidden, not_found
from loreline.simulator.api.paging import (
    joined,
    keyset_link,
    page_headers,
    page_of,
    read_cursor,
    refuse_far_offset,
    refuse_keyset,
    write_cursor,
)
from loreline.simulator.api.selecting import ORDERS, filter_of, ordering_of

if TYPE_CHECKING:
    from loreline.simulator.corpus import Kind
    from loreline.simulator.place import Place
    from loreline.simulator.shelf import Shelf


def issues(question: Question) -> Answer:
    return _list(question, "issues")


def merge_requests(question: Question) -> Answer:
    return _list(question, "merge_requests")


def issue(question: Question) -> Answer:
    return _one(question, "issues")


def merge_request(question: Question) -> Answer:
    return _one(question, "merge_requests")


def find(question: Question, kind: Kind) -> tuple[Place, int]:
    """The project and row that the path names, if the token may see them."""
    place = question.place()
    iid = question.segments[3]
    row = place.shelves[kind].row(int(iid)) if iid.isdigit() else None
    if row is None or not place.feature_enabled(kind) or not place.visible(kind, row, question.token):
        raise not_found()
    return place, row


def _one(question: Question, kind: Kind) -> Answer:
    place, row = find(question, kind)
    return Answer(200, place.single(kind, row), [])


def _list(question: Question, kind: Kind) -> Answer:
    place = question.place()
    if not place.feature_enabled(kind):
        raise forbidden()
    shelf = place.shelves[kind]
    order, key, descending = ordering_of(question, kind)
    name, admits = filter_of(question, place, kind)
    rows = shelf.selection(order, key, name, admits)
    keyset = question.get("pagination") == "keyset"
    if keyset and kind == "merge_requests":
        refuse_keyset(question)
    # Before 18.3 the list of issues paginated by offset, whatever was wished for.
    keyset = keyset and question.world.behaviour.keyset_issues
    if keyset:
        shown, headers = _keyset_page(question, shelf, rows, order, descending=descending)
    else:
        page = page_of(question)
        if kind == "issues" and question.world.behaviour.keyset_issues:
            refuse_far_offset(question, page, "Issue")
        headers = page_headers(question, page, len(rows))
        if descending:
            stop = max(0, len(rows) - page.start)
            shown = rows[max(0, len(rows) - page.end) : stop][::-1]
        else:
            shown = rows[page.start : page.end]
    items = [place.listed(kind, row) for row in shown]
    if question.flag("with_labels_details"):
        items = [_with_label_details(place, item) for item in items]
    return Answer(200, joined(items), headers)


def _keyset_page(
    question: Question, shelf: Shelf, rows: list[int], order: str, *, descending: bool
) -> tuple[list[int], list[tuple[bytes, bytes]]]:
    key = ORDERS[order]
    size = page_of(question).size
    cursor = read_cursor(question)
    start, stop = 0, len(rows)
    if cursor is not None:
        try:
            text = cursor[order]
            bound = (text if order == "title" else int(text), int(cursor["id"]))
        except (KeyError, ValueError):
            raise bad_request("cursor is invalid") from None
        if descending:
            stop = shelf.position_after(rows, order, key, (bound[0], bound[1] - 1))
        else:
            start = shelf.position_after(rows, order, key, bound)
    shown = rows[max(start, stop - size) : stop][::-1] if descending else rows[start : start + size]
    if stop - start <= size:
        return shown, []
    last = shown[-1]
    values = {order: str(key(shelf.columns(last)))} | {"id": str(shelf.id(last))}
    return shown, keyset_link(question, cursor=write_cursor(values))


def _with_label_details(place: Place, data: bytes) -> bytes:
    fields: dict[str, Any] = msgspec.json.decode(data)
    by_name = {label["name"]: label for label in place.labels.values()}
    shown = ("id", "name", "description", "description_html", "text_color", "color")
    fields["labels"] = [
        {name: by_name[label].get(name) for name in shown} for label in fields["labels"] if label in by_name
    ]
    return msgspec.json.encode(fields)


ROUTES = {
    "projects/:/issues": issues,
    "projects/:/issues/:": issue,
    "projects/:/merge_requests": merge_requests,
    "projects/:/merge_requests/:": merge_request,
}
