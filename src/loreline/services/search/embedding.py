"""Vectors of passages: the transactions in which what waits is taken, and what was made is kept."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import apsw
from msgspec import Struct

from loreline.core.passages import SLICER, embedded_text
from loreline.core.times import HOUR, MINUTE
from loreline.embedding.embedder import Vector
from loreline.errors import EmbeddingFailed
from loreline.index import matrix
from loreline.store import vectors
from loreline.store.vectors import Made, Space, Waiting


class Portion(Struct, frozen=True):
    """What is to be embedded next."""

    passages: list[Waiting]
    reused: int
    """So many more had a text that was embedded before, and are done."""
    left: int
    """How many are ready to be embedded, these included."""

    @property
    def texts(self) -> list[str]:
        return [embedded_text(passage.title, passage.text) for passage in self.passages]


def open_space(db: apsw.Connection, embedder_name: str, dimensions: int, now: int) -> Space:
    """The space of an embedder's vectors; a new one has everything still to be embedded."""
    return vectors.open_space(db, space_name(embedder_name, dimensions), dimensions, now)


def nothing_to_do(db: apsw.Connection, embedder_name: str, now: int) -> bool:
    """Whether that embedder's space is the one that is searched, and nothing in it is to be embedded now."""
    space = vectors.active(db)
    return (
        space is not None
        and space.name == space_name(embedder_name, space.dimensions)
        and vectors.ready_count(db, space, now) == 0
    )


def space_name(embedder_name: str, dimensions: int) -> str:
    return f"{embedder_name}:{dimensions}:{SLICER}"


def take(db: apsw.Connection, space: Space, now: int, limit: int) -> Portion:
    """The next passages, newest text first. What stands elsewhere word for word gets that vector at once."""
    found = vectors.waiting(db, space, now, limit)
    known = vectors.same_text(db, space, [passage.text_hash for passage in found])
    again = [
        Made(passage.passage_id, passage.text_hash, *known[passage.text_hash])
        for passage in found
        if passage.text_hash in known
    ]
    vectors.put(db, space, again)
    # A text that stands in several of them is embedded once: the others wait for the next portion, and find it known.
    fresh = list({passage.text_hash: passage for passage in reversed(found) if passage.text_hash not in known}.values())
    return Portion(fresh, len(again), vectors.ready_count(db, space, now) if found else 0)


def keep(
    db: apsw.Connection, space: Space, passages: Sequence[Waiting], made: Sequence[Vector | EmbeddingFailed], now: int
) -> int:
    """Store what came of some passages; how many failed. These wait for their time."""
    good: list[Made] = []
    failed = 0
    for passage, vector in zip(passages, made, strict=True):
        if isinstance(vector, EmbeddingFailed):
            delay = min(MINUTE * 2 ** min(passage.attempts, 10), HOUR)
            when = now + int(delay * random.uniform(0.9, 1.1))
            vectors.put_off(db, space, passage.passage_id, vector.message, when)
            failed += 1
        else:
            good.append(Made(passage.passage_id, passage.text_hash, *matrix.quantised(vector)))
    vectors.put(db, space, good)
    return failed


def tidy(db: apsw.Connection, database: Path, space: Space, *, last: bool) -> None:
    """Bring the matrix up to date if that is due; at the end of all work, begin to search a space that is complete."""
    current = vectors.by_name(db, space.name)
    if current is None:
        return
    if last and not current.is_active:
        depth = vectors.depth(db, current)
        # What failed is to be had later. But where most of it did, the space before has more to say.
        if depth.waiting > depth.failing or depth.failing > vectors.count(db, current):
            return
        vectors.activate(db, current)
    if matrix.is_due(db, current):
        matrix.rebuild(db, database, current)


def sweep_files(db: apsw.Connection, database: Path) -> None:
    """Matrix files that no space speaks of any more; after the commit that let go of them."""
    matrix.remove_others(database, vectors.every(db))
