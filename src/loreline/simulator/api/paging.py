"""Pages of a list, and the headers that lead through them."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import msgspec

from loreline.simulator.api.exchange import Answer, Headers, Question, Refused, bad_request

if TYPE_CHECKING:
    from collections.abc import Sequence

PER_PAGE = 20
MOST_PER_PAGE = 100


class Page(NamedTuple):
    number: int
    size: int

    @property
    def start(self) -> int:
        return (self.number - 1) * self.size

    @property
    def end(self) -> int:
        return self.number * self.size


def page_of(question: Question) -> Page:
    number = question.number("page", 1)
    size = question.number("per_page", PER_PAGE)
    # Kaminari's `page` and `per` take nonsense for their defaults.
    return Page(max(1, number), min(size, MOST_PER_PAGE) if size > 0 else PER_PAGE)


def refuse_keyset(question: Question) -> None:
    """Answer like a list that knows only offsets."""
    if question.get("pagination") == "keyset":
        raise Refused(405, {"error": "Keyset pagination is not yet available for this type of request"})


def refuse_far_offset(question: Question, page: Page, type_name: str) -> None:
    """Answer like a list that has keyset pagination and wants it used."""
    limit = question.world.behaviour.offset_limit
    if limit and page.end > limit:
        raise Refused(
            405,
            {
                "error": f"Offset pagination has a maximum allowed offset of {limit} for requests that "
                f"return objects of type {type_name}. Remaining records can be retrieved using keyset pagination."
            },
        )


def page_headers(question: Question, page: Page, total: int) -> Headers:
    """What OffsetHeaderBuilder sends; beyond the counting limit totals and the last page stay away."""
    last = max(1, -(-total // page.size))
    after = str(page.number + 1) if page.number < last else ""
    before = str(page.number - 1) if 1 < page.number <= last + 1 else ""
    counted = total <= question.world.behaviour.count_limit
    links = []
    if before:
        links.append(_link(question, "prev", page, before))
    if after:
        links.append(_link(question, "next", page, after))
    links.append(_link(question, "first", page, "1"))
    if counted:
        links.append(_link(question, "last", page, str(last)))
    headers = [
        (b"link", ", ".join(links).encode()),
        (b"x-next-page", after.encode()),
        (b"x-page", b"%d" % page.number),
        (b"x-per-page", b"%d" % page.size),
        (b"x-prev-page", before.encode()),
    ]
    if counted:
        headers.append((b"x-total", b"%d" % total))
        headers.append((b"x-total-pages", b"%d" % last))
    return headers


def stored_page(question: Question, data: bytes, count: int) -> Answer:
    """A page of a list that is already JSON; untouched if it fits."""
    page = page_of(question)
    headers = page_headers(question, page, count)
    if page.start == 0 and count <= page.size:
        return Answer(200, data, headers)
    items = msgspec.json.decode(data, type=list[msgspec.Raw])
    return Answer(200, joined(items[page.start : page.end]), headers)


def value_page(question: Question, values: Sequence[Any]) -> Answer:
    page = page_of(question)
    body = msgspec.json.encode(values[page.start : page.end])
    return Answer(200, body, page_headers(question, page, len(values)))


def joined(items: Sequence[bytes | msgspec.Raw]) -> bytes:
    return b"[%b]" % b",".join(items)


def keyset_link(question: Question, **bounds: str) -> Headers:
    """The only header of a keyset page that is not the last."""
    return [(b"link", _url(question, bounds, "next").encode())]


def write_cursor(values: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode({**values, "_kd": "n"})).decode()


def read_cursor(question: Question) -> dict[str, str] | None:
    text = question.get("cursor")
    if text is None:
        return None
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=dict[str, str])
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        raise bad_request("cursor is invalid") from None


def _link(question: Question, relation: str, page: Page, number: str) -> str:
    return _url(question, {"page": number, "per_page": str(page.size)}, relation)


def _url(question: Question, changes: dict[str, str], relation: str) -> str:
    params = [(key, value) for key, value in question.params if key not in changes]
    params.extend(changes.items())
    params.sort()
    return f'<{question.base}{question.path}?{urlencode(params)}>; rel="{relation}"'
