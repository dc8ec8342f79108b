"""The walk over references, against a plain search of all ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loreline.core.entities import Kind
from loreline.core.references import ReferenceType, SourceMethod
from loreline.core.walk import Edge, Node, Place, expand

A, B, C, D, E = (Node(Kind.ISSUE, number) for number in range(1, 6))
AWAY = Place(Kind.ISSUE, "other/place", 7, None)


def edge(source, target, kind=ReferenceType.CLOSES):
    return Edge(source, target, kind, SourceMethod.NOTE)


def of(edges):
    return lambda nodes: [one for one in edges if one.source in nodes or one.target in nodes]


def reached(walk):
    return {step.node: step.depth for step in walk.steps}


CHAIN = [edge(A, B), edge(C, B), edge(C, D), edge(E, D)]


@pytest.mark.parametrize(("depth", "found"), [(0, {}), (1, {B: 1}), (2, {B: 1, C: 2}), (3, {B: 1, C: 2, D: 3})])
def test_edges_are_followed_whichever_way_they_point_as_far_as_asked(depth, found):
    assert reached(expand([A], of(CHAIN), depth)) == found


def test_each_step_tells_from_where_and_by_which_edge():
    steps = {step.node: step for step in expand([A], of(CHAIN), 2).steps}
    assert (steps[B].origin, steps[B].edge) == (A, CHAIN[0])
    assert (steps[C].origin, steps[C].edge) == (B, CHAIN[1])


def test_circles_end_and_nobody_is_reached_twice_nor_a_seed_at_all():
    walk = expand([A, B], of([edge(A, B), edge(B, C), edge(C, A), edge(C, C)]), 3)
    assert reached(walk) == {C: 1}
    assert len(walk.steps) == 1


def test_of_several_edges_to_one_the_first_tells_the_way():
    mentioned = edge(A, B, ReferenceType.MENTIONED)
    assert expand([A], of([CHAIN[0], mentioned]), 1).steps[0].edge == CHAIN[0]


def test_what_leads_out_is_told_once_and_not_followed():
    out = edge(A, AWAY)
    walk = expand([A, B], of([out, edge(A, B)]), 2)
    assert walk.unresolved == [out]
    assert walk.steps == []


NODES = st.integers(0, 11).map(lambda number: Node(Kind.ISSUE, number))


@given(st.lists(st.tuples(NODES, NODES), max_size=30), st.lists(NODES, min_size=1, max_size=3), st.integers(0, 3))
def test_everything_is_reached_by_its_shortest_way(pairs, seeds, depth):
    edges = [edge(*pair) for pair in pairs]
    distance = dict.fromkeys(seeds, 0)
    for step in range(1, depth + 1):
        near = {node for node, far in distance.items() if far == step - 1}
        for source, target in pairs:
            if source in near:
                distance.setdefault(target, step)
            if target in near:
                distance.setdefault(source, step)
    walk = expand(seeds, of(edges), depth)
    assert reached(walk) == {node: far for node, far in distance.items() if far}
    for step in walk.steps:
        assert {step.node, step.origin} == {step.edge.source, step.edge.target}
        assert distance[step.origin] == step.depth - 1
