"""Reading the mirror: lists, single entities and counts."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import apsw
from msgspec import Struct

from loreline.core import cursor as cursors
from loreline.core.entities import Kind
from loreline.core.references import EntityRef, parse_reference, project_path_below
from loreline.errors import Ambiguous, InvalidValue, NotFound
from loreline.store import counting, entities, listing, projects, views
from loreline.store.entities import EntityKey

MOST = 1_000


class Query(Struct, frozen=True, kw_only=True):
    """A list as a person asks for it."""

    projects: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    author: str | None = None
    assignee: str | None = None
    reviewer: str | None = None
    labels: tuple[str, ...] = ()
    milestone: str | None = None
    updated_since: int | None = None
    search: str | None = None
    sort: str = "updated"
    ascending: bool = False
    limit: int = 30
    cursor: str | None = None


class Listing(Struct, frozen=True):
    items: list[listing.Row]
    total: int
    next_cursor: str | None


class Count(Struct, frozen=True):
    what: str
    total: int
    parts: dict[str, int]


def list_entities(db: apsw.Connection, kind: Kind, query: Query) -> Listing:
    """One page of a list, how many there are in all, and where the next page begins."""
    if not 1 <= query.limit <= MOST:
        raise InvalidValue(f"a limit of {query.limit} is out of range", hint=f"use 1 to {MOST}, and --cursor for more")
    if query.reviewer is not None and kind is not Kind.MERGE_REQUEST:
        raise InvalidValue("issues have no reviewers", hint="lore list mrs --reviewer USER, or --assignee USER")
    order = listing.Order(query.sort, not query.ascending)
    chosen = listing.Filter(
        project_ids=project_ids(db, query.projects),
        states=query.states,
        author=_username(query.author),
        assignee=_username(query.assignee),
        reviewer=_username(query.reviewer),
        labels=query.labels,
        milestone=query.milestone,
        updated_since=query.updated_since,
        title_words=tuple((query.search or "").split()),
    )
    rows, more = listing.page(db, kind, chosen, order, query.limit, _after(query.cursor, order))
    following = None
    if more and rows:
        value: Any = {"updated": rows[-1].updated_at, "created": rows[-1].created_at, "number": rows[-1].iid}.get(
            query.sort, rows[-1].title
        )
        following = cursors.encode(cursors.Position(order.name, value, rows[-1].id))
    return Listing(rows, listing.count(db, kind, chosen), following)


def show(db: apsw.Connection, kind: Kind, text: str, project: str | None) -> views.EntityView:
    """The one entity a reference means."""
    return views.entity(db, find(db, kind, text, project))


def find(db: apsw.Connection, kind: Kind, text: str, project: str | None) -> EntityKey:
    ref = parse_reference(text)
    if ref is None:
        raise InvalidValue(
            f"{text!r} names no {kind.noun}",
            hint=f"write 12, {kind.sigil}12, group/project{kind.sigil}12 or its GitLab address",
        )
    if ref.kind is not None and ref.kind is not kind:
        raise InvalidValue(
            f"{text} is {_with_article(ref.kind)}, not {_with_article(kind)}",
            hint=f"lore show {shlex.quote(text)}",
        )
    candidates = _candidates(db, ref, project)
    found = [key for one in candidates if (key := entities.find(db, one.id, kind, ref.iid)) is not None]
    if len(found) > 1:
        paths = [projects.by_id(db, key.project_id).path for key in found]
        raise Ambiguous(
            f"{kind.sigil}{ref.iid} is in {len(found)} projects: {', '.join(paths[:5])}",
            hint=f"name one: {paths[0]}{kind.sigil}{ref.iid}",
            candidates=[f"{path}{kind.sigil}{ref.iid}" for path in paths],
        )
    if not found:
        where = ref.project_path or project or (candidates[0].path if len(candidates) == 1 else "any mirrored project")
        raise NotFound(
            f"there is no {kind.noun} {kind.sigil}{ref.iid} in {where}",
            hint="run lore sync if it is new; confidential or deleted ones are not shown to every token",
        )
    return found[0]


def _with_article(kind: Kind) -> str:
    return f"{'an' if kind is Kind.ISSUE else 'a'} {kind.noun}"


def meant(db: apsw.Connection, ref: EntityRef) -> list[EntityKey]:
    """Whatever is mirrored under a reference: none, or one in each project it may mean."""
    try:
        candidates = _candidates(db, ref, None)
    except NotFound:
        return []
    kinds = (ref.kind,) if ref.kind is not None else tuple(Kind)
    return [
        key for one in candidates for kind in kinds if (key := entities.find(db, one.id, kind, ref.iid)) is not None
    ]


def _candidates(db: apsw.Connection, ref: EntityRef, project: str | None) -> list[projects.MirroredProject]:
    path = ref.project_path or project
    if path is None:
        return projects.every(db)
    if ref.origin is None:
        return _matching(db, path)
    for instance in projects.instances(db):
        below = project_path_below(f"{ref.origin}/{path}", projects.web_origins(db, instance))
        if below is not None:
            return [one for one in _matching(db, below) if one.instance_id == instance]
    raise NotFound(
        f"{ref.origin} is no GitLab that is mirrored here", hint="add it as an [[instance]], or name the project"
    )


def _matching(db: apsw.Connection, path: str) -> list[projects.MirroredProject]:
    found = projects.matching(db, path.strip("/"))
    if not found:
        known = [one.path for one in projects.every(db)]
        raise NotFound(
            f"the project {path} is not mirrored",
            hint=f"mirrored are: {', '.join(known[:5])}{' …' if len(known) > 5 else ''}" if known else "run lore sync",
        )
    return found


def count(db: apsw.Connection, what: str, wanted: Sequence[str]) -> Count:
    parts = counting.breakdown(db, what, project_ids(db, tuple(wanted)))
    return Count(what, sum(parts.values()), parts)


def project_ids(db: apsw.Connection, wanted: tuple[str, ...]) -> tuple[int, ...] | None:
    """The projects meant by paths or their last parts; None for all."""
    if not wanted:
        return None
    ids = []
    for path in wanted:
        found = _matching(db, path)
        if len(found) > 1:
            paths = [one.path for one in found]
            raise Ambiguous(f"{path} may be {', '.join(paths[:5])}", hint="give more of the path", candidates=paths)
        ids.append(found[0].id)
    return tuple(ids)


def _username(name: str | None) -> str | None:
    return name.removeprefix("@") if name else None


def _after(text: str | None, order: listing.Order) -> tuple[Any, int] | None:
    if text is None:
        return None
    position = cursors.decode(text)
    if position is None or position.order != order.name:
        raise InvalidValue(
            "that cursor belongs to no such list", hint="take the cursor of the answer before, with the same --sort"
        )
    return position.value, position.id
