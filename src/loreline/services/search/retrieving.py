"""Candidates: what the lexical index and the vectors find inside the filters, fused into one order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import apsw
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from loreline.core.fusion import Fused, Measure, fuse
from loreline.core.query import Query
from loreline.core.ranking import SHARPNESS, Weights
from loreline.index import lexical
from loreline.index.lexical import Asked, Table
from loreline.index.matrix import Ids, Scores
from loreline.index.vectors import NOTHING
from loreline.services.search.meaning import Near

_DEEP = 500
"""So many of the lexical index's best are taken; finding them costs the same as finding ten."""

_NEAR = 200
"""So many of the nearest by their vectors."""


_FEW = 20


class Inside(Struct, frozen=True):
    """The documents that may be found at all: by filters, and by what must or must not stand in them."""

    only: Ids | None
    """Ascending; None where nothing narrows them."""
    not_these: Ids
    """Ascending; left out of the vectors' finds. The lexical index knows by itself."""
    filtered: bool
    """By filters: whoever narrows a search so wants all that is left, in the best order."""

    @property
    def few(self) -> bool:
        """So narrow that how near they are to the question no longer decides whether they are shown."""
        return self.filtered and self.only is not None and len(self.only) <= _FEW

    def mask(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of these ids are inside."""
        kept = np.ones(len(ids), bool) if self.only is None else np.isin(ids, self.only)
        if len(self.not_these):
            kept &= ~np.isin(ids, self.not_these)
        return kept


def inside(db: apsw.Connection, table: Table, query: Query, scope: Ids | None) -> Inside:
    only = scope
    if query.required:
        having = np.array(sorted(lexical.matching(db, table, query.required, all_of=True)), np.int64)
        only = having if only is None else np.intersect1d(only, having, assume_unique=True)
    banned = lexical.matching(db, table, query.excluded, all_of=False)
    return Inside(only, np.array(sorted(banned), np.int64), scope is not None)


class Found(Struct, frozen=True):
    ranked: list[Fused]
    left_out: tuple[str, ...]


def entities(
    db: apsw.Connection,
    among: Inside,
    asked: Asked | None,
    meaning: Callable[[], Near | None],
    weights: Weights,
) -> Found:
    """Issues and merge requests by their whole conversation."""
    words = _by_words(db, Table.ENTITIES, asked, among)
    measures = {"words": Measure(words, weights.words)}
    near = meaning()  # only now: the question is embedded while its words are looked up
    if near is not None:
        matches = near.matches
        ids, best, openings = matches.entities.ids, matches.entities.best, matches.openings
        together = weights.opening * openings + weights.passage * best
        chosen = _candidates(ids, together, words, among)
        if words or among.few or _near_enough(best[chosen], near.least):
            measures["opening"] = _measure(ids, openings, chosen, weights.opening, among)
            measures["passage"] = _measure(ids, best, chosen, weights.passage, among)
    return Found(fuse(measures), asked.left_out if asked is not None else ())


def threads(
    db: apsw.Connection,
    among: Inside,
    asked: Asked | None,
    meaning: Callable[[], Near | None],
    weights: Weights,
) -> Found:
    """Threads by themselves."""
    words = _by_words(db, Table.THREADS, asked, among)
    measures = {"words": Measure(words, weights.words)}
    near = meaning()
    if near is not None:
        matches = near.matches
        of_threads = ~np.isin(matches.documents.ids, matches.entities.ids)
        ids, best = matches.documents.ids[of_threads], matches.documents.best[of_threads]
        chosen = _candidates(ids, best, words, among)
        if words or among.few or _near_enough(best[chosen], near.least):
            measures["passage"] = _measure(ids, best, chosen, weights.opening + weights.passage, among)
    return Found(fuse(measures), asked.left_out if asked is not None else ())


def _by_words(db: apsw.Connection, table: Table, asked: Asked | None, among: Inside) -> dict[int, float]:
    if asked is None:
        return {}
    scope: Sequence[int] | None = None if among.only is None else among.only.tolist()
    return lexical.search(db, table, asked, _DEEP, scope)


Places = NDArray[np.int64]


def _candidates(ids: Ids, scores: Scores, words: dict[int, float], among: Inside) -> Places:
    """Where the nearest stand, and whatever was found by its words."""
    allowed = np.flatnonzero(among.mask(ids) & (scores > NOTHING))
    if len(allowed) > _NEAR:
        nearest = allowed[np.argpartition(scores[allowed], -_NEAR)[-_NEAR:]]
        named = np.flatnonzero(np.isin(ids, np.fromiter(words, np.int64, len(words))))
        allowed = np.union1d(nearest, named)
    return allowed


def _near_enough(scores: Scores, least: float) -> bool:
    """Whether anything is about what was asked; else the nearest is merely the least far."""
    return bool(len(scores)) and float(scores.max()) >= least


def _measure(ids: Ids, scores: Scores, chosen: Places, weight: float, among: Inside) -> Measure:
    """The chosen ones' cosines, from the middle of all upwards: what half of everything reaches tells nothing."""
    if not len(chosen):
        return Measure({}, weight)
    found = dict(zip(ids[chosen].tolist(), scores[chosen].tolist(), strict=True))
    there = scores[scores > NOTHING]
    floor = float(np.median(there)) if len(there) >= _SEVERAL else 0.0
    return Measure(found, weight, floor, SHARPNESS, to_the_last=among.filtered)


_SEVERAL = 20
"""Of fewer, the middle one is no measure of what tells nothing."""
