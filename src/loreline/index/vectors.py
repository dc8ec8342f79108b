"""Vector retrieval: the matrix and what came since, scanned whole, told by entity, by document and by passage."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from loreline.index import crowding, matrix
from loreline.index.matrix import Block, Ids, Scores
from loreline.store import vectors
from loreline.store.vectors import Space

NOTHING = np.float32(-1.0)
"""The cosine of what has no vector."""

Places = NDArray[np.int64]


class Version(Struct, frozen=True):
    """Which vectors there are; the same version has the same."""

    space_id: int
    generation: int
    last_id: int
    removed: int
    """Of the matrix."""
    beside: int
    """What has come since it was made, and is still there."""


class Nearness(Struct, frozen=True):
    """How near things are to a query, by their best passage: its cosine, or less where it is near to everything."""

    ids: Ids
    """Each once."""
    best: Scores


class Matches(Struct, frozen=True):
    """How near everything is to a query."""

    entities: Nearness
    """Issues and merge requests, by their best passage in whatever thread it stands."""
    openings: Scores
    """Of the same entities: the passage they begin with."""
    documents: Nearness
    """Threads and the entities' own texts."""
    parts: tuple[tuple[_Part, Scores], ...]

    def passages_of(self, entity_id: int) -> list[tuple[int, int, float]]:
        """Of an entity and its threads: each passage, its document, and how near it is."""
        found: list[tuple[int, int, float]] = []
        for part, scores in self.parts:
            rows = part.rows_of(entity_id)
            block = part.block
            found += zip(
                block.passage_ids[rows].tolist(), block.document_ids[rows].tolist(), scores[rows].tolist(), strict=True
            )
        return [one for one in found if one[2] > NOTHING]


class _Part:
    """Rows ordered by entity, its own text first, then thread by thread: so each has its rows side by side."""

    def __init__(self, block: Block, usual: float) -> None:
        self.block = block
        self.usual = usual
        self._penalties = crowding.penalties(block.crowding, usual)
        self.entity_starts = _starts(block.entity_ids)
        self.document_starts = _starts(block.document_ids)
        self.entity_ids = block.entity_ids[self.entity_starts]
        self.document_ids = block.document_ids[self.document_starts]
        starts = self.entity_starts
        self.opens = (block.document_ids[starts] == self.entity_ids) & (block.positions[starts] == 0)
        """Of each entity, whether its first row here is the passage it begins with."""

    def scores(self, query: NDArray[np.float32]) -> Scores:
        """How near each row is."""
        return np.subtract(self.block.scores(query), self._penalties)

    def rows_of(self, entity_id: int) -> slice:
        at = int(np.searchsorted(self.entity_ids, entity_id))
        if at == len(self.entity_ids) or self.entity_ids[at] != entity_id:
            return slice(0, 0)
        last = at + 1 == len(self.entity_ids)
        return slice(int(self.entity_starts[at]), len(self.block) if last else int(self.entity_starts[at + 1]))


def _starts(ids: Ids) -> Places:
    if not len(ids):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))


class _Joined:
    """Where the things of a second list stand in the first, or behind it."""

    def __init__(self, first: Ids, second: Ids) -> None:
        shared = np.flatnonzero(np.isin(first, second))
        order = shared[np.argsort(first[shared])]
        at = np.searchsorted(first[order], second)
        known = at < len(order)
        known[known] = first[order][at[known]] == second[known]
        self._shared = np.flatnonzero(known)
        self._places = order[at[known]]
        self._new = np.flatnonzero(~known)
        self.ids = np.concatenate([first, second[self._new]]) if len(self._new) else first

    def greater(self, first: Scores, second: Scores) -> Scores:
        """The better of both for each."""
        return self._merged(first, second, np.maximum(first[self._places], second[self._shared]))

    def later(self, first: Scores, second: Scores) -> Scores:
        """What the second says, where it says anything."""
        told = second[self._shared]
        return self._merged(first, second, np.where(told > NOTHING, told, first[self._places]))

    def _merged(self, first: Scores, second: Scores, shared: Scores) -> Scores:
        first[self._places] = shared
        return np.concatenate([first, second[self._new]]) if len(self._new) else first


class VectorIndex:
    """One version of a space's vectors, ready to be searched. Nothing of it changes: threads may share it."""

    def __init__(self, space: Space, version: Version, base: _Part, beside: _Part, removed: Ids) -> None:
        self.space = space
        self.version = version
        self.base = base
        self._beside = beside
        ids = base.block.vector_ids
        self._dead = np.flatnonzero(np.isin(ids, removed)) if len(removed) else np.empty(0, np.int64)
        self._entities = _Joined(base.entity_ids, beside.entity_ids)
        self._documents = _Joined(base.document_ids, beside.document_ids)

    def __len__(self) -> int:
        return len(self.base.block) + len(self._beside.block) - len(self._dead)

    def search(self, query: NDArray[np.float32]) -> Matches:
        """How near everything is: every vector is looked at."""
        base, beside = self.base.scores(query), self._beside.scores(query)
        base[self._dead] = NOTHING
        one, two = (_summed(self.base, base), _summed(self._beside, beside))
        return Matches(
            Nearness(self._entities.ids, self._entities.greater(one.entities, two.entities)),
            self._entities.later(one.openings, two.openings),
            Nearness(self._documents.ids, self._documents.greater(one.documents, two.documents)),
            ((self.base, base), (self._beside, beside)),
        )

    def vectors_of(self, entity_id: int) -> NDArray[np.float32]:
        """The vectors of an entity's own text and of its threads, one a row."""
        found = []
        for part in (self.base, self._beside):
            rows = part.rows_of(entity_id)
            block = part.block
            alive = np.ones(rows.stop - rows.start, bool)
            if part is self.base:
                inside = self._dead[(self._dead >= rows.start) & (self._dead < rows.stop)]
                alive[inside - rows.start] = False
            found.append(block.rows(rows)[alive])
        return np.asarray(np.concatenate(found), np.float32)


class _Sums(Struct, frozen=True):
    entities: Scores
    openings: Scores
    documents: Scores


def _summed(part: _Part, scores: Scores) -> _Sums:
    if not len(scores):
        nothing = np.empty(0, np.float32)
        return _Sums(nothing, nothing, nothing)
    return _Sums(
        np.maximum.reduceat(scores, part.entity_starts),
        np.where(part.opens, scores[part.entity_starts], NOTHING),
        np.maximum.reduceat(scores, part.document_starts),
    )


def version_of(db: apsw.Connection, space: Space) -> Version:
    last, gone = db.execute(
        "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'vectors'),"
        " (SELECT count(*) FROM removed_vectors WHERE space_id = ?)",
        (space.id,),
    ).fetchone()
    beside = vectors.count_after(db, space, space.matrix_vector_id)
    return Version(space.id, space.matrix_generation, last or 0, gone, beside)


def open_index(db: apsw.Connection, database: Path, space: Space, before: VectorIndex | None) -> VectorIndex:
    """The vectors of the open transaction; `before` is taken again as far as it is still of this version."""
    version = version_of(db, space)
    if before is not None and before.version == version:
        return before
    if before is not None and before.version.generation == version.generation and before.space.id == space.id:
        base = before.base
    else:
        block = matrix.load(db, database, space)
        base = _Part(block, _usual(block))
    since = matrix.block_beside(vectors.rows_after(db, space, space.matrix_vector_id), space.dimensions, base.block)
    beside = _Part(since, base.usual if len(base.block) else _usual(since))
    return VectorIndex(space, version, base, beside, np.array(vectors.removed(db, space), np.int64))


def _usual(block: Block) -> float:
    return float(block.crowding.mean()) if len(block) else 0.0
