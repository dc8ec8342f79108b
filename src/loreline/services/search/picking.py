"""From entities and threads that were found to the passages that show why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw
from msgspec import Struct

from loreline.core import snippets
from loreline.index.vectors import Matches
from loreline.index.wording import Clue, Marker
from loreline.services.search.request import Snippet
from loreline.store import hits
from loreline.store.hits import Body, Slice

_DOCUMENTS = 4
"""So many of an entity's texts, its threads included, are read passage by passage."""

_LOOKED_THROUGH = 16
"""Of an entity with more texts than that, the nearest ones are looked through for words, where that is known."""

_READ = 200_000
"""Characters of one text that are looked through for words."""

_WORTH = 0.6
"""A thread is shown if it says so much of what the best one says."""


_WANTED = 10.0
"""More than any words and any nearness: the note that the question names."""


class Picked(Struct, frozen=True):
    """A text's best passage."""

    document_id: int
    slice: Slice | None
    """None for a text without any."""
    text: str
    worth: float


def pick(
    db: apsw.Connection,
    entity_ids: Sequence[int],
    matches: Matches | None,
    clues: Sequence[Clue],
    only: Mapping[int, set[int]] | None = None,
    notes: Mapping[int, int] | None = None,
) -> dict[int, list[Picked]]:
    """Of each entity the texts that say most of what was asked, best first, each with its best passage.

    `only` names the documents of an entity that count, `notes` the note that is wanted.
    """
    whole = sum(clue.weight for clue in clues) or 1.0
    bodies = hits.bodies_of_entities(db, entity_ids)
    nearness: dict[int, float] = {}
    chosen: dict[int, list[Body]] = {}
    for entity, candidates in bodies.items():
        near = matches.passages_of(entity) if matches is not None else []
        nearness.update((passage, score) for passage, _, score in near)
        best: dict[int, float] = {}
        for _, document, score in near:
            best[document] = max(score, best.get(document, 0.0))
        counted = [body for body in candidates if only is None or body.document_id in only[entity]]
        if len(counted) > _DOCUMENTS and only is None and not (notes and entity in notes):
            if best and len(counted) > _LOOKED_THROUGH:
                counted.sort(key=lambda body: -best.get(body.document_id, 0.0))
                counted = counted[:_LOOKED_THROUGH]
            worth = {
                body.document_id: _cover(body.text[:_READ], clues) / whole + best.get(body.document_id, 0.0)
                for body in counted
            }
            counted.sort(key=lambda body: -worth[body.document_id])
            counted = counted[:_DOCUMENTS]
        chosen[entity] = counted
    slices = hits.slices(db, [body.document_id for one in chosen.values() for body in one])
    found: dict[int, list[Picked]] = {}
    for entity, counted in chosen.items():
        wanted = notes.get(entity) if notes else None
        picked = [
            _best_passage(body, slices.get(body.document_id, []), nearness, clues, whole, wanted) for body in counted
        ]
        found[entity] = sorted(picked, key=lambda one: -one.worth)
    return found


def _best_passage(
    body: Body,
    slices: Sequence[Slice],
    nearness: Mapping[int, float],
    clues: Sequence[Clue],
    whole: float,
    wanted: int | None,
) -> Picked:
    best = Picked(body.document_id, None, "", 0.0)
    for one in slices:
        text = body.text[one.start - body.start : one.end - body.start]
        worth = _cover(text, clues) / whole + nearness.get(one.id, 0.0)
        if wanted is not None and one.note_id == wanted:
            worth += _WANTED
        if best.slice is None or worth > best.worth:
            best = Picked(body.document_id, one, text, worth)
    return best


def _cover(text: str, clues: Sequence[Clue]) -> float:
    lowered = text.lower()
    worth = 0.0
    for clue in clues:  # a loop: this is done a thousand times for each search
        if clue.beginning in lowered:
            worth += clue.weight
    return worth


def worth_showing(picked: Sequence[Picked], entity_id: int, most: int = 2) -> list[Picked]:
    """The threads among an entity's best texts."""
    if not picked:
        return []
    least = picked[0].worth * _WORTH
    return [one for one in picked if one.document_id != entity_id and one.slice is not None and one.worth >= least][
        :most
    ]


def snippet(one: Picked, marker: Marker, url: str | None) -> Snippet:
    """What is shown of a passage; its link lands on its note."""
    cut = snippets.cut(one.text, marker.spans)
    note = one.slice.note_id if one.slice is not None else None
    return Snippet(cut.text, list(cut.marks), note, f"{url}#note_{note}" if url and note is not None else url)
