"""Everything that answers a question, in the order that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import apsw
from msgspec import Struct, structs

from loreline.core.documents import SourceType
from loreline.core.fusion import Fused
from loreline.core.query import Query
from loreline.core.ranking import weights
from loreline.index import lexical
from loreline.index.lexical import Asked, Table
from loreline.index.matrix import Ids
from loreline.index.scope import entities_inside, threads_inside
from loreline.services.mirror import browse
from loreline.services.search import retrieving
from loreline.services.search.meaning import Near
from loreline.services.search.request import Mode, Request, Sort
from loreline.store import documents, hits

_TELLING = 0.35
"""Ordered by time, what says less than this part of the best is left out: any word of a long question is somewhere."""


class Asking(Struct, frozen=True):
    """A question, ready to be put to any part of the mirror."""

    request: Request
    query: Query
    meaning: Callable[[], Near | None]
    """How near everything is to it; None where words have to do."""


class Ranked(Struct, frozen=True):
    """All that was found, in the order that was asked for."""

    all: list[Fused]
    left_out: tuple[str, ...]
    exact: dict[int, int | None]
    """Entities that the question names, and the note it means."""
    threads: frozenset[int]


def rank(db: apsw.Connection, asking: Asking) -> Ranked:
    request, query = asking.request, asking.query
    filters = query.filters
    project_ids = browse.project_ids(db, filters.projects)
    of_threads = filters.source_type is SourceType.DISCUSSION
    both = filters.source_type is None and not request.group
    # Of each only where it is asked for: there are ten times as many threads as entities.
    scopes = {
        Table.ENTITIES: None if of_threads else entities_inside(db, filters, project_ids),
        Table.THREADS: threads_inside(db, filters, project_ids) if of_threads or both else None,
    }
    exact = {} if of_threads else _exact(db, query, scopes[Table.ENTITIES])
    if query.is_empty and not request.raw:
        only = scopes[Table.THREADS if of_threads else Table.ENTITIES]
        listed = _listed(db, only, exact, request)
        return Ranked(listed, (), exact, frozenset(one.id for one in listed) if of_threads else frozenset())
    found: list[Fused] = []
    threads: list[Fused] = []
    left_out: tuple[str, ...] = ()
    weighed = weights(request.corpus, query)
    for table in (Table.ENTITIES,) * (not of_threads) + (Table.THREADS,) * (of_threads or both):
        among = retrieving.inside(db, table, query, scopes[table])
        asked = _asked(db, table, asking, None if among.only is None else len(among.only))
        if table is Table.ENTITIES:
            told = retrieving.entities(db, among, asked, asking.meaning, weighed)
            found = told.ranked
        else:
            told = retrieving.threads(db, among, asked, asking.meaning, weighed)
            threads = told.ranked
        left_out = left_out or told.left_out
    together = sorted([*found, *map(_behind, threads)], key=lambda one: (-one.score, -one.id)) if threads else found
    together = _named_first(together, exact)
    return Ranked(_sorted(db, together, request.sort), left_out, exact, frozenset(one.id for one in threads))


_PART = 0.9


def _behind(thread: Fused) -> Fused:
    """The best thread is a part of an entity that is all about the question, or of one that is not."""
    parts = {name: structs.replace(part, share=part.share * _PART) for name, part in thread.parts.items()}
    return Fused(thread.id, thread.score * _PART, parts)


def _asked(db: apsw.Connection, table: Table, asking: Asking, among: int | None) -> Asked | None:
    if asking.request.mode is Mode.SEMANTIC:
        return None
    if asking.request.raw:
        return lexical.raw_expression(asking.request.text)
    return lexical.expression(db, table, asking.query, among)


def _exact(db: apsw.Connection, query: Query, only: Ids | None) -> dict[int, int | None]:
    found: dict[int, int | None] = {}
    for reference in query.references:
        for key in browse.meant(db, reference):
            document = documents.of_source(db, SourceType(key.kind.value), key.id)
            if document is not None:
                found[document] = reference.note_id
    for sha in query.commits:
        found.update((document, None) for document in hits.of_commits(db, sha))
    if only is None or not found:
        return found
    allowed = set(only.tolist())
    return {document: note for document, note in found.items() if document in allowed}


def _named_first(found: Sequence[Fused], exact: dict[int, int | None]) -> list[Fused]:
    by_id = {one.id: one for one in found if one.id in exact}
    named = [Fused(one, 1.0, by_id[one].parts if one in by_id else {}) for one in exact]
    return [*named, *(one for one in found if one.id not in exact)]


def _listed(db: apsw.Connection, only: Ids | None, exact: dict[int, int | None], request: Request) -> list[Fused]:
    """Filters without words: what they leave, latest change first."""
    if only is None:
        return _named_first([], exact)
    times = hits.times(db, only.tolist())
    oldest = request.sort is Sort.OLDEST
    latest = sorted(times, key=lambda one: (times[one], one), reverse=not oldest)
    return _named_first([Fused(one, 0.0, {}) for one in latest], exact)


def _sorted(db: apsw.Connection, found: list[Fused], sort: Sort) -> list[Fused]:
    if sort is Sort.RELEVANCE or not found:
        return found
    telling = [one for one in found if one.score >= found[0].score * _TELLING]
    times = hits.times(db, [one.id for one in telling])
    return sorted(
        (one for one in telling if one.id in times),
        key=lambda one: (times[one.id], one.id),
        reverse=sort is Sort.NEWEST,
    )
