"""How good a ranking is against known answers: nDCG@10, MRR@10 and recall@50, in hundredths."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TypeVar

from msgspec import Struct

DEPTH = 50
_TOP = 10
T = TypeVar("T")


class Marks(Struct, frozen=True):
    ndcg: float
    mrr: float
    recall: float


def marks(ranking: Sequence[T], answers: frozenset[T]) -> Marks:
    """Every answer counts the same; none is better than another."""
    hits = [place for place, one in enumerate(ranking[:DEPTH]) if one in answers]
    top = [place for place in hits if place < _TOP]
    gain = sum(1 / math.log2(place + 2) for place in top)
    most = sum(1 / math.log2(place + 2) for place in range(min(len(answers), _TOP)))
    return Marks(100 * gain / most, 100 / (top[0] + 1) if top else 0.0, 100 * len(hits) / len(answers))


def mean(several: Iterable[Marks]) -> Marks:
    found = list(several)
    return Marks(fmean(one.ndcg for one in found), fmean(one.mrr for one in found), fmean(one.recall for one in found))
