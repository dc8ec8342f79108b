"""A walk over references: who is reached from where, and by which edge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from loreline.core.entities import Kind
from loreline.core.references import ReferenceType, SourceMethod


class Node(Struct, frozen=True):
    """An issue or merge request of the mirror."""

    kind: Kind
    id: int


class Place(Struct, frozen=True):
    """An end that is not mirrored: where it would be found."""

    kind: Kind
    project: str | None
    iid: int | None
    external: str | None


class Edge(Struct, frozen=True):
    """The source closes, mentions or relates to the target."""

    source: Node | Place
    target: Node | Place
    type: ReferenceType
    method: SourceMethod
    """The most reliable of what shows it."""


class Step(Struct, frozen=True):
    """How a node was reached."""

    node: Node
    depth: int
    origin: Node
    """The node before it."""
    edge: Edge


class Walk(Struct, frozen=True):
    steps: list[Step]
    """Of each node that was reached, the first way to it; the nearest first."""
    unresolved: list[Edge]
    """Edges that lead out of the mirror."""


def expand(seeds: Sequence[Node], edges_of: Callable[[Sequence[Node]], Iterable[Edge]], depth: int) -> Walk:
    """Everything within so many edges of the seeds, whichever way they point."""
    reached = set(seeds)
    steps: list[Step] = []
    unresolved: dict[Edge, None] = {}
    frontier: Sequence[Node] = list(dict.fromkeys(seeds))
    for distance in range(1, depth + 1):
        found: list[Node] = []
        here = set(frontier)
        for edge in edges_of(frontier) if frontier else ():
            source, target = edge.source, edge.target
            if isinstance(source, Place) or isinstance(target, Place):
                unresolved[edge] = None
                continue
            for origin, other in ((source, target), (target, source)):
                if origin in here and other not in reached:
                    reached.add(other)
                    found.append(other)
                    steps.append(Step(other, distance, origin, edge))
        frontier = found
    return Walk(steps, list(unresolved))
