"""Events of all kinds, put in order."""

from hypothesis import given
from hypothesis import strategies as st

from loreline.core.entities import Kind
from loreline.core.happenings import Event, Happened, interleave
from loreline.core.walk import Node

ISSUE, REQUEST = Node(Kind.ISSUE, 1), Node(Kind.MERGE_REQUEST, 1)


def event(type_, at, node=ISSUE, what=None):
    return Event(node=node, at=at, type=type_, what=what)


def test_a_merge_that_is_told_twice_is_told_once_but_of_another_it_stays():
    merge, state = event(Happened.MERGED, 5, REQUEST), event(Happened.STATE, 6, REQUEST, "merged")
    other = event(Happened.STATE, 7, Node(Kind.MERGE_REQUEST, 2), "merged")
    closed = event(Happened.STATE, 8, REQUEST, "closed")
    assert interleave([state, closed, other, merge]) == [merge, other, closed]


def test_at_one_moment_a_thing_is_made_before_anything_happens_to_it():
    events = [event(kind, 5) for kind in (Happened.STATE, Happened.LABEL_ADDED, Happened.CREATED)]
    assert [one.type for one in interleave(events)] == [Happened.CREATED, Happened.LABEL_ADDED, Happened.STATE]


EVENTS = st.builds(
    event, st.sampled_from([kind for kind in Happened if kind is not Happened.MERGED]), st.integers(0, 9),
    st.sampled_from([ISSUE, REQUEST]), st.sampled_from([None, "closed"]),
)  # fmt: skip


@given(st.lists(EVENTS), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))
def test_all_between_two_moments_are_there_in_the_order_of_time(events, since, until):
    told = interleave(events, since, until)
    assert [one.at for one in told] == sorted(one.at for one in told)
    wanted = [one for one in events if (since is None or one.at >= since) and (until is None or one.at < until)]
    assert sorted(map(repr, told)) == sorted(map(repr, wanted))
    assert told == interleave(list(reversed(events)), since, until)
