"""One search: the question read, both retrievers asked inside the filters, the best shown with why."""

from __future__ import annotations

from msgspec import structs

from loreline.core.query import BadQuery, Query, parse
from loreline.core.untrusted import without_surrogates
from loreline.errors import EmbedderUnavailable, InvalidValue, NotFound
from loreline.services.mirror import browse
from loreline.services.search import suggesting
from loreline.services.search.meaning import Meaning, unknown
from loreline.services.search.pages import page_of
from loreline.services.search.ranked import Asking, rank
from loreline.services.search.request import MOST, Answer, Mode, Request
from loreline.services.search.session import Reading, Session
from loreline.services.search.showing import shown
from loreline.store import hits


def search(session: Session, request: Request, now: int) -> Answer:
    """What is known about a question. Safe to be called from many threads at once."""
    request = _well_formed(request)
    query = _read(request, now)
    if not 1 <= request.limit <= MOST:
        raise InvalidValue(
            f"a limit of {request.limit} is out of range", hint=f"use 1 to {MOST}, and --cursor for more"
        )
    warnings: list[str] = []
    by_meaning = request.mode is not Mode.LEXICAL and not query.is_empty
    with session.reading(with_vectors=by_meaning) as reading:
        if not hits.any_at_all(reading.db):
            raise NotFound("nothing is indexed yet", hint="run lore sync, or lore generate-docs after one without it")
        meaning = _meaning(session, reading, request, query, warnings) if by_meaning else None
        asking = Asking(request, query, meaning or unknown)
        ranked = rank(reading.db, asking)
        missing = (reference for reference in query.references if not browse.meant(reading.db, reference))
        warnings += [f"{reference} is not mirrored" for reference in missing]
        if meaning is not None and meaning.warning is not None:
            warnings.append(meaning.warning)
        page, following = page_of(ranked.all, request)
        results = shown(reading.db, asking, page, ranked)
        suggestions = suggesting.suggest(
            reading.db,
            query,
            lambda other: len(rank(reading.db, structs.replace(asking, query=other)).all),
            found=len(ranked.all),
        )
    return Answer(
        query=request.text,
        mode=request.mode if asking.meaning() is not None else Mode.LEXICAL,
        results=results,
        next_cursor=following,
        suggestions=suggestions,
        warnings=warnings,
        left_out=list(ranked.left_out),
    )


def _well_formed(request: Request) -> Request:
    """Without what is no Unicode text: neither SQLite nor JSON takes it."""
    texts = {
        name: without_surrogates(value)
        for name in request.filters.__struct_fields__
        if type(value := getattr(request.filters, name)) is str
    }
    several = {name: tuple(map(without_surrogates, getattr(request.filters, name))) for name in ("projects", "labels")}
    filters = structs.replace(request.filters, **texts, **several)
    return structs.replace(request, text=without_surrogates(request.text), filters=filters)


def _read(request: Request, now: int) -> Query:
    if request.raw:
        if request.mode is Mode.SEMANTIC:
            raise InvalidValue(
                "FTS5's language is about words alone", hint="leave out --mode semantic, or --fts-mode raw"
            )
        if not request.text.strip():
            raise InvalidValue("there is nothing to look for", hint="give FTS5 an expression")
        return Query(text=request.text, filters=request.filters)
    try:
        query = parse(request.text, request.filters, now)
    except BadQuery as error:
        raise InvalidValue(error.message, hint=error.hint) from error
    if query.is_empty and not query.filters.given and not query.references:
        hint = "-words only take away: give one to look for" if query.excluded else "lore search some words"
        raise InvalidValue("there is nothing to look for", hint=hint)
    return query


def _meaning(session: Session, reading: Reading, request: Request, query: Query, warnings: list[str]) -> Meaning | None:
    """None, with a word on why, where there are no vectors and words have to do."""
    alone = request.mode is Mode.SEMANTIC
    if reading.vectors is not None:
        return Meaning(session, reading.vectors, query.prose, alone=alone)
    if alone:
        hint = "run lore embed" if session.embeds else 'set embedding.provider to something else than "none"'
        raise EmbedderUnavailable("nothing is embedded", hint=hint)
    if session.embeds:
        warnings.append("searched by words alone: nothing is embedded yet (lore embed does it)")
    return None
