"""What was found, as it is shown: each with the passage that says why."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from loreline.core.documents import SourceType
from loreline.core.fusion import Fused
from loreline.index.lexical import Table
from loreline.index.wording import Marker, clues
from loreline.services.search import picking
from loreline.services.search.ranked import Asking, Ranked
from loreline.services.search.request import Hit, Mode, Snippet, Thread
from loreline.store import hits
from loreline.store.hits import EntityHit


def shown(db: apsw.Connection, asking: Asking, page: Sequence[Fused], ranked: Ranked) -> list[Hit]:
    threads = hits.threads(db, [one.id for one in page if one.id in ranked.threads])
    of_entities = [one.id for one in page if one.id not in threads]
    owners = {one.entity_id for one in threads.values()}
    entities = hits.entities(db, [*of_entities, *owners])
    words = [] if asking.request.mode is Mode.SEMANTIC else clues(db, Table.ENTITIES, asking.query)
    marker = Marker(db, asking.query)
    near = asking.meaning()
    matches = near.matches if near is not None else None
    picked = picking.pick(db, of_entities, matches, words, notes=_notes(ranked))
    only: dict[int, set[int]] = {}
    for thread in threads.values():
        only.setdefault(thread.entity_id, set()).add(thread.document_id)
    by_thread = {
        one.document_id: one
        for several in picking.pick(db, list(owners), matches, words, only=only).values()
        for one in several
    }
    made = []
    for one in page:
        if one.id in threads:
            thread = threads[one.id]
            entity = entities.get(thread.entity_id)
            best = by_thread.get(one.id)
            if entity is not None and best is not None:
                shown = picking.snippet(best, marker, entity.web_url)
                made.append(_thread_hit(one, entity, thread, shown))
        elif one.id in entities:
            made.append(_entity_hit(db, one, entities[one.id], picked.get(one.id, []), marker, asking, ranked))
    return made


def _notes(ranked: Ranked) -> dict[int, int]:
    return {document: note for document, note in ranked.exact.items() if note is not None}


def _entity_hit(
    db: apsw.Connection,
    one: Fused,
    entity: EntityHit,
    picked: Sequence[picking.Picked],
    marker: Marker,
    asking: Asking,
    ranked: Ranked,
) -> Hit:
    shown = Snippet("", [], None, entity.web_url)
    if picked:
        shown = picking.snippet(picked[0], marker, entity.web_url)
    threads: list[Thread] = []
    if asking.request.group and not asking.query.is_empty:
        best = picking.worth_showing(picked, one.id)
        about = hits.threads(db, [each.document_id for each in best]) if best else {}
        threads = [
            Thread(
                document_id=each.document_id,
                author=about[each.document_id].author,
                created_at=about[each.document_id].created_at,
                resolved=about[each.document_id].resolved,
                snippet=picking.snippet(each, marker, entity.web_url),
            )
            for each in best
            if each.document_id in about
        ]
    return Hit(
        type=entity.source_type,
        document_id=one.id,
        reference=entity.reference,
        project=entity.project,
        iid=entity.iid,
        title=entity.title,
        state=entity.state,
        author=entity.author,
        created_at=entity.created_at,
        updated_at=entity.updated_at,
        labels=entity.labels,
        confidential=entity.confidential,
        url=entity.web_url,
        score=round(one.score, 4),
        exact=one.id in ranked.exact,
        snippet=shown,
        threads=threads,
        explain=one.parts,
    )


def _thread_hit(one: Fused, entity: EntityHit, thread: hits.ThreadHit, shown: Snippet) -> Hit:
    return Hit(
        type=SourceType.DISCUSSION,
        document_id=one.id,
        reference=entity.reference,
        project=entity.project,
        iid=entity.iid,
        title=entity.title,
        state=entity.state,
        author=thread.author,
        created_at=thread.created_at,
        updated_at=thread.updated_at,
        labels=entity.labels,
        confidential=entity.confidential,
        url=shown.url,
        score=round(one.score, 4),
        exact=False,
        snippet=shown,
        threads=[],
        explain=one.parts,
    )
