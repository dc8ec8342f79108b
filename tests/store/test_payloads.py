"""Raw payloads: kept once, replaced when they change, forgotten when nothing needs them."""

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.rows import NOW, add_project

from loreline.store import payloads

ONE = b'[{"id":1}]'
TWO = b'[{"id":2}]'


def put(db, project, body, gitlab_id=7, page=0, name="issue_discussions", at=NOW):
    return payloads.put(db, project.id, name, gitlab_id, body, fetched_at=at, page=page)


def stored(db):
    return db.execute("SELECT count(*) FROM raw_bodies").fetchone()[0]


def unused(db):
    sql = "SELECT count(*) FROM raw_bodies WHERE id NOT IN (SELECT body_id FROM raw_payloads)"
    return db.execute(sql).fetchone()[0]


def read(db, project, gitlab_id=7, name="issue_discussions"):
    return [payload.body for payload in payloads.bodies(db, project.id, name, gitlab_id)]


def test_a_body_comes_back_as_it_was(db, project):
    kept = put(db, project, ONE)
    assert (kept.first, kept.differs) == (True, True)
    (payload,) = payloads.bodies(db, project.id, "issue_discussions", 7)
    assert (payload.body, payload.page, payload.fetched_at, payload.gitlab_id) == (ONE, 0, NOW, 7)


def test_equal_bodies_are_stored_once_and_belong_to_each(db, project, instance):
    other = add_project(db, instance, 2, "team/other")
    for owner, gitlab_id in ((project, 7), (project, 8), (other, 7)):
        put(db, owner, b"[]", gitlab_id)
    assert stored(db) == 1
    assert read(db, project, 8) == read(db, other, 7) == [b"[]"]


def test_the_same_body_again_changes_nothing(db, project):
    first = put(db, project, ONE)
    again = put(db, project, ONE, at=NOW + 1)
    assert (again.id, again.first, again.differs) == (first.id, False, False)
    assert stored(db) == 1


def test_another_body_takes_the_place_of_the_old_one_and_leaves_no_waste(db, project):
    first = put(db, project, ONE)
    second = put(db, project, TWO, at=NOW + 1)
    assert (second.id, second.first, second.differs) == (first.id, False, True)
    assert read(db, project) == [TWO]
    assert (stored(db), unused(db)) == (1, 0)


def test_a_body_that_another_thing_still_has_stays(db, project):
    put(db, project, ONE, 7)
    put(db, project, ONE, 8)
    put(db, project, TWO, 7)
    assert read(db, project, 8) == [ONE]
    assert (stored(db), unused(db)) == (2, 0)


def test_pages_come_back_in_order_and_those_a_list_no_longer_has_go(db, project):
    for page in (2, 0, 1):
        put(db, project, b'["%d"]' % page, page=page)
    assert read(db, project) == [b'["0"]', b'["1"]', b'["2"]']
    assert payloads.drop_pages_from(db, project.id, "issue_discussions", 7, 1)
    assert read(db, project) == [b'["0"]']
    assert not payloads.drop_pages_from(db, project.id, "issue_discussions", 7, 1)
    assert (stored(db), unused(db)) == (1, 0)


def test_what_one_thing_drops_no_other_loses(db, project, instance):
    other = add_project(db, instance, 2, "team/other")
    put(db, project, ONE)
    put(db, project, ONE, name="issue")
    put(db, other, ONE)
    payloads.drop_entity(db, project.id, ["issue_discussions"], 7)
    assert read(db, project) == []
    assert read(db, project, name="issue") == read(db, other) == [ONE]


def test_all_of_a_type_can_be_walked_in_steps(db, project):
    for gitlab_id in range(1, 8):
        put(db, project, b'["%d"]' % gitlab_id, gitlab_id, name="issue")
    seen, last = [], 0
    while batch := payloads.after(db, project.id, "issue", last, 3):
        seen += [payload.body for payload in batch]
        last = batch[-1].gitlab_id
    assert seen == [b'["%d"]' % number for number in range(1, 8)]


BODIES = st.binary(max_size=400) | st.builds(
    lambda piece, times: (piece * times)[:200_000], st.binary(min_size=1, max_size=80), st.integers(1, 5000)
)


@settings(deadline=None)
@given(BODIES)
def test_every_body_is_packed_and_unpacked_to_itself(body):
    assert payloads.unpack(*payloads.pack(body)) == body


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 32_767, 32_768, 32_769, 5_000_000])
def test_the_sizes_where_the_packing_changes_lose_nothing(size):
    body = (b'{"id":1,"body":"words and words"},' * (size // 30 + 1))[:size]
    codec, packed = payloads.pack(body)
    assert payloads.unpack(codec, packed) == body
    if size >= 64:
        assert len(packed) < size


def test_threads_pack_side_by_side():
    """zstd's contexts are not to be shared; each thread must get its own."""
    bodies = [bytes([number]) * 2000 + b'{"created_at":"2024"}' * number for number in range(40)]
    wrong = []

    def work():
        for _ in range(20):
            wrong.extend(body for body in bodies if payloads.unpack(*payloads.pack(body)) != body)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "drop"]), st.integers(1, 3), st.integers(0, 2), st.sampled_from([ONE, TWO, b"[]"])
        ),
        max_size=20,
    )
)
def test_whatever_is_put_and_dropped_the_latest_is_there_and_nothing_unused(db, project, steps):
    payloads.drop_entity(db, project.id, ["issue_discussions"], 1)
    payloads.drop_entity(db, project.id, ["issue_discussions"], 2)
    payloads.drop_entity(db, project.id, ["issue_discussions"], 3)
    model = {}
    for action, gitlab_id, page, body in steps:
        if action == "put":
            put(db, project, body, gitlab_id, page)
            model[gitlab_id, page] = body
        else:
            payloads.drop_pages_from(db, project.id, "issue_discussions", gitlab_id, page)
            model = {key: value for key, value in model.items() if key[0] != gitlab_id or key[1] < page}
    for gitlab_id in (1, 2, 3):
        assert read(db, project, gitlab_id) == [model[key] for key in sorted(model) if key[0] == gitlab_id]
    assert stored(db) == len(set(model.values()))
    assert unused(db) == 0
