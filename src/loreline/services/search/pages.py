"""Pages of an answer, and the cursors between them."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import structs

from loreline.core import cursor as cursors
from loreline.core.fusion import Fused
from loreline.errors import InvalidValue
from loreline.services.search.request import Request


def page_of(found: list[Fused], request: Request) -> tuple[list[Fused], str | None]:
    """The part of the order that was asked for, and where the next one begins."""
    order = _order(request)
    start = 0
    if request.cursor is not None:
        position = cursors.decode(request.cursor)
        if position is None or position.order != order or not isinstance(position.value, int):
            raise InvalidValue(
                "that cursor belongs to no such search",
                hint="take the cursor of the answer before, with the same words, filters and order",
            )
        # Where the last one stood; if it has moved or gone meanwhile, as many as were shown are passed by.
        places = {one.id: at for at, one in enumerate(found)}
        start = places.get(position.id, position.value - 1) + 1
    page = found[start : start + request.limit]
    if start + len(page) >= len(found) or not page:
        return page, None
    return page, cursors.encode(cursors.Position(order, start + len(page), page[-1].id))


def _order(request: Request) -> str:
    """Names a search, so that no other goes on with its cursor. `6m` ago is another moment each time it is asked."""
    filters = request.filters
    for name in ("created_after", "created_before", "updated_after", "updated_before"):
        filters = structs.replace(filters, **{name: getattr(filters, name) is not None})
    asked = msgspec.json.encode((request.text, request.mode, filters, request.sort, request.group, request.raw))
    return f"search:{hashlib.blake2b(asked, digest_size=6).hexdigest()}"
