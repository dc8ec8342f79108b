import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loreline.core import plans
from loreline.core.entities import Issue, MergeRequest, Milestone
from loreline.core.plans import Decision, Known, Listed, decide
from loreline.core.times import DAY, HOUR, MINUTE

_SHARED = {
    "gitlab_id": 1001,
    "iid": 1,
    "title": "A title",
    "description": "",
    "state": "opened",
    "author": None,
    "created_at": 0,
    "updated_at": 0,
    "closed_at": None,
    "closed_by": None,
    "web_url": None,
    "labels": ("a", "b"),
    "milestone": None,
    "assignees": (),
    "user_notes_count": 0,
    "upvotes": 0,
    "downvotes": 0,
    "discussion_locked": False,
}
ISSUE = Issue(
    **_SHARED, confidential=False, issue_type=None, severity=None, weight=None, due_date=None, moved_to_id=None
)
REQUEST = MergeRequest(
    **_SHARED,
    draft=False,
    source_branch="topic",
    target_branch="main",
    source_project_id=1,
    merged_at=None,
    merged_by=None,
    squash=False,
    head_sha="aa",
    merge_commit_sha=None,
    squash_commit_sha=None,
    prepared_at=None,
    reviewers=(),
)


def listed(entity, payload_hash=b"new"):
    return Listed(entity.iid, plans.activity_key(entity), plans.code_key(entity), payload_hash)


def known(entity, payload_hash=b"old"):
    return Known(7, entity.iid, plans.activity_key(entity), plans.code_key(entity), payload_hash, 5)


def changed(entity, **fields):
    return msgspec.structs.replace(entity, **fields)


def test_a_new_issue_is_written_and_its_talk_fetched():
    assert decide(None, listed(ISSUE)) == Decision(write=True, talk=True, code=False)


def test_of_a_new_merge_request_everything_is_fetched():
    assert decide(None, listed(REQUEST)) == Decision(write=True, talk=True, code=True)


def test_the_same_bytes_cost_nothing():
    decision = decide(known(REQUEST, b"same"), listed(REQUEST, b"same"))
    assert decision.nothing


def test_the_same_bytes_under_another_number_are_written():
    assert decide(known(ISSUE, b"same"), listed(changed(ISSUE, iid=2), b"same")).write


def test_a_row_whose_payload_was_lost_is_written_again():
    before = msgspec.structs.replace(known(ISSUE), payload_hash=None)
    assert decide(before, listed(ISSUE)) == Decision(write=True, talk=False, code=False)


@pytest.mark.parametrize(
    ("fields", "talk", "code"),
    [
        ({"upvotes": 3}, False, False),
        ({"assignees": ()}, False, False),
        ({"updated_at": 1}, True, False),
        ({"user_notes_count": 1}, True, False),
        ({"labels": ("a",)}, True, False),
        ({"milestone": Milestone(3, "v1")}, True, False),
        ({"state": "merged"}, True, True),
        ({"head_sha": "bb"}, True, True),
        ({"target_branch": "stable"}, False, True),
        ({"merge_commit_sha": "cc"}, False, True),
        ({"squash_commit_sha": "cc"}, False, True),
        ({"prepared_at": 5}, False, True),
        ({"title": "Closes #5"}, False, True),
        ({"description": "Closes #5"}, False, True),
    ],
)
def test_a_change_of_a_merge_request_fetches_what_it_can_have_brought_along(fields, talk, code):
    decision = decide(known(REQUEST), listed(changed(REQUEST, **fields)))
    assert decision == Decision(write=True, talk=talk, code=code)


def test_the_order_of_labels_is_no_change_of_activity():
    assert plans.activity_key(changed(ISSUE, labels=("b", "a"))) == plans.activity_key(ISSUE)


def test_an_issue_has_no_code():
    assert plans.code_key(ISSUE) is None


def test_a_listing_starts_two_minutes_before_its_cursor_or_at_the_beginning():
    assert plans.listing_start(None) is None
    assert plans.listing_start(10 * MINUTE) == 8 * MINUTE


def test_after_the_whole_period_everything_is_due_and_never_more():
    assert plans.sweep_share(1000, 0, 7 * DAY, 7) == (1000, 7 * DAY)
    assert plans.sweep_share(1000, 0, 900 * DAY, 7) == (1000, 900 * DAY)


def test_a_clock_set_back_sweeps_nothing():
    assert plans.sweep_share(1000, 5 * DAY, DAY, 7)[0] == 0


def test_what_is_not_there_owes_nothing():
    assert plans.sweep_share(0, 0, 5 * DAY, 7) == (0, 5 * DAY)


@given(
    count=st.integers(1, 5000),
    every=st.integers(5 * MINUTE, 3 * DAY),
    days=st.integers(1, 30),
)
def test_however_often_one_syncs_all_are_looked_at_within_the_period(count, every, days):
    paid_until, looked_at, now, runs = 0, 0, 0, 0
    while now < 2 * days * DAY and runs < 20_000:
        now += every
        runs += 1
        share, paid = plans.sweep_share(count, paid_until, now, days)
        assert share <= count
        if share:
            paid_until, looked_at = paid, looked_at + share
    # Less than one is owed at any moment, and a whole period never owes more than all.
    assert looked_at >= count * min(now, days * DAY) // (days * DAY) - 1


def test_shares_of_an_hour_are_small():
    assert plans.sweep_share(168_000, 0, HOUR, 7) == (1000, HOUR)


@pytest.mark.parametrize(
    ("vanished", "looked_at", "expected"),
    [(1, 1, False), (19, 19, False), (20, 39, True), (20, 40, False), (5000, 5000, True), (100, 5000, False)],
)
def test_many_vanishing_at_once_is_taken_for_lost_access(vanished, looked_at, expected):
    assert plans.looks_like_lost_access(vanished, looked_at) is expected
