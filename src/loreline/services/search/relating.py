"""What is nearest to an issue or merge request, by its words and by its meaning."""

from __future__ import annotations

import apsw
import numpy as np
from msgspec import Struct

from loreline.core.documents import SourceType
from loreline.core.entities import Kind
from loreline.core.fusion import Part
from loreline.core.query import Filters, Query, Word, parse
from loreline.core.ranking import Corpus, weights
from loreline.errors import NotFound
from loreline.index import lexical, wording
from loreline.index.lexical import Table
from loreline.index.scope import entities_inside
from loreline.index.vectors import Matches, VectorIndex
from loreline.services.mirror import browse
from loreline.services.search import retrieving
from loreline.services.search.meaning import Near
from loreline.services.search.session import Session
from loreline.store import documents, hits, references

_READ = 2_000
"""Characters of a text whose words are looked for: what it is about stands at its beginning."""


class Related(Struct, frozen=True, kw_only=True):
    type: SourceType
    reference: str
    project: str
    iid: int
    title: str
    state: str
    author: str | None
    updated_at: int
    labels: list[str]
    confidential: bool
    url: str | None
    score: float
    linked: str | None
    """How it is linked with the one in question: `closes`, `mentioned by`, …; None where it is not."""
    explain: dict[str, Part]


class Neighbourhood(Struct, frozen=True):
    reference: str
    title: str
    related: list[Related]


def related(
    session: Session, kind: Kind, text: str, project: str | None, filters: Filters, limit: int
) -> Neighbourhood:
    """The nearest entities, those that are linked with it marked."""
    with session.reading(with_vectors=True) as reading:
        db = reading.db
        key = browse.find(db, kind, text, project)
        document = documents.of_source(db, SourceType(kind.value), key.id)
        if document is None:
            raise NotFound("it is not indexed yet", hint="run lore generate-docs")
        this = hits.entities(db, [document])[document]
        query = _about(db, document, this.title)
        matches = _nearest(reading.vectors, document) if reading.vectors is not None else None
        near = Near(matches, 0.0) if matches is not None else None
        scope = entities_inside(db, filters, browse.project_ids(db, filters.projects))
        among = retrieving.inside(db, Table.ENTITIES, query, scope)
        asked = lexical.expression(db, Table.ENTITIES, query)
        ranked = retrieving.entities(db, among, asked, lambda: near, weights(Corpus.TALK, query)).ranked
        shown = [one for one in ranked if one.id != document][:limit]
        entities = hits.entities(db, [one.id for one in shown])
        linked = references.neighbours(db, kind, key.id)
    made = []
    for one in shown:
        if one.id not in entities:
            continue
        entity = entities[one.id]
        link = linked.get((Kind(entity.source_type.value), entity.local_id))
        made.append(
            Related(
                type=entity.source_type, reference=entity.reference, project=entity.project, iid=entity.iid,
                title=entity.title, state=entity.state, author=entity.author, updated_at=entity.updated_at,
                labels=entity.labels, confidential=entity.confidential, url=entity.web_url,
                score=round(one.score, 4), linked=link, explain=one.parts,
            )
        )  # fmt: skip
    return Neighbourhood(this.reference, this.title, made)


def _about(db: apsw.Connection, document: int, title: str) -> Query:
    """Its own words as a question."""
    bodies = hits.bodies_of_entities(db, [document]).get(document, [])
    own = next((body.text for body in bodies if body.document_id == document), "")
    words = parse(f"{title} {own[:_READ]}".replace(":", " ").replace('"', " "), Filters(), 0).words
    sought = dict.fromkeys(Word(word.text.strip("-*+")) for word in words)
    return Query(text=title, words=tuple(word for word in sought if wording.stands_twice(db, Table.ENTITIES, word)))


def _nearest(index: VectorIndex, document: int) -> Matches | None:
    """How near everything is to the middle of its own passages."""
    rows = index.vectors_of(document)
    if not len(rows):
        return None
    middle = rows.mean(axis=0)
    length = float(np.linalg.norm(middle))
    return index.search((middle / length).astype(np.float32)) if length > 0 else None
