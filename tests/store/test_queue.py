"""The queue of dependents: nothing is lost, nothing is done twice, nothing is tried too soon."""

import pytest
from tests.store.rows import NOW, add_project

from loreline.core.entities import Kind
from loreline.store import queue
from loreline.store.queue import Depth, JobType

TALK = (JobType.DISCUSSIONS, JobType.RESOURCE_EVENTS)
ISSUE, REQUEST = Kind.ISSUE, Kind.MERGE_REQUEST


@pytest.fixture
def ask(db, project):
    def asked(iid, jobs=TALK, *, kind=ISSUE, at=NOW, of=project):
        queue.enqueue(db, of.id, kind, 100 + iid, iid, jobs, at)

    return asked


@pytest.fixture
def claim(db, project, instance):
    def claimed(limit=100, *, at=NOW, kinds=tuple(Kind), wanted=tuple(JobType), of=(project,)):
        return queue.claim(db, instance, [one.id for one in of], kinds, wanted, limit, at)

    return claimed


def subjects(jobs):
    return [job.subject for job in jobs]


def test_jobs_are_claimed_in_the_order_they_came(ask, claim):
    for iid in (3, 1, 2):
        ask(iid)
    assert subjects(claim(4)) == ["#3 discussions", "#3 resource events", "#1 discussions", "#1 resource events"]
    assert subjects(claim(4)) == ["#2 discussions", "#2 resource events"]
    assert claim(4) == []


def test_a_job_knows_what_it_needs_to_fetch(ask, claim, project):
    ask(5, (JobType.CLOSES_ISSUES,), kind=REQUEST)
    (job,) = claim()
    assert (job.project_path, job.gitlab_project_id, job.project_id) == ("team/app", 1, project.id)
    assert (job.kind, job.iid, job.local_id, job.attempts, job.claimed_at) == (REQUEST, 5, 105, 0, NOW)
    assert job.subject == "!5 closes issues"


def test_those_that_failed_least_come_first(db, ask, claim):
    ask(1)
    for job in claim():
        queue.put_off(db, job, "no", NOW, 0)
    ask(2, at=NOW + 1)
    assert [job.iid for job in claim(at=NOW + 60_000)] == [2, 2, 1, 1]


def test_only_what_is_wanted_is_claimed(db, ask, claim, instance):
    other = add_project(db, instance, 2, "team/other")
    ask(1)
    ask(2, (JobType.DIFFS,), kind=REQUEST)
    ask(3, of=other)
    assert subjects(claim(kinds=(REQUEST,))) == ["!2 diffs"]
    assert subjects(claim(wanted=(JobType.DISCUSSIONS,))) == ["#1 discussions"]
    assert {job.project_path for job in claim(of=(other,))} == {"team/other"}
    assert subjects(claim()) == ["#1 resource events"]


def test_what_is_done_is_gone(db, ask, claim):
    ask(1)
    queue.done(db, claim())
    assert queue.pending(db) == 0


def test_asking_twice_is_one_job(db, ask):
    ask(1)
    ask(1, at=NOW + 1)
    assert queue.pending(db) == 2


def test_what_is_asked_for_while_it_is_under_way_is_done_once_more(db, ask, claim):
    ask(1, (JobType.DISCUSSIONS,))
    jobs = claim()
    ask(1, (JobType.DISCUSSIONS,), at=NOW + 1)
    queue.done(db, jobs)
    assert subjects(claim(at=NOW + 2)) == ["#1 discussions"]


def test_a_failed_job_waits_longer_each_time(db, ask, claim):
    ask(1, (JobType.DIFFS,), kind=REQUEST)
    now, waits = NOW, []
    for _ in range(14):
        (job,) = claim(at=now)
        queue.put_off(db, job, "no answer", now, 0)
        due = db.execute("SELECT next_attempt_at FROM pending_dependent_fetches").fetchone()[0]
        assert claim(at=due - 1) == []
        waits.append(due - now)
        now = due
    assert waits == sorted(waits)
    assert waits[:3] == [2_000, 4_000, 8_000]
    assert waits[-1] == 3_600_000
    assert db.execute("SELECT attempts, last_error FROM pending_dependent_fetches").fetchone() == (14, "no answer")


def test_a_change_makes_a_waiting_job_ready_at_once(db, ask, claim):
    ask(1, (JobType.DISCUSSIONS,))
    (job,) = claim()
    queue.put_off(db, job, "no", NOW, 0)
    ask(1, (JobType.DISCUSSIONS,), at=NOW + 1)
    assert subjects(claim(at=NOW + 1)) == ["#1 discussions"]


def test_claims_of_a_dead_process_are_taken_again(db, ask, claim):
    ask(1)
    claim()
    assert claim(at=NOW + 1) == []
    queue.release_claims(db)
    assert len(claim(at=NOW + 2)) == 2


def test_a_claim_ends_when_the_same_is_asked_for_again(db, ask, claim):
    ask(1, (JobType.DISCUSSIONS,))
    (first,) = claim()
    assert queue.holds(db, first)
    ask(1, (JobType.DISCUSSIONS,), at=NOW + 1)
    assert not queue.holds(db, first)
    (second,) = claim(at=NOW + 2)
    assert queue.holds(db, second)
    queue.put_off(db, first, "too late to say so", NOW + 3, 0)
    assert queue.holds(db, second)


def test_the_delays_of_a_project_can_be_forgotten(db, ask, claim, instance, project):
    other = add_project(db, instance, 2, "team/other")
    ask(1)
    ask(2, of=other)
    for job in claim(of=(project, other)):
        queue.put_off(db, job, "no", NOW, 0)
    queue.make_ready(db, [project.id])
    assert {job.iid for job in claim(of=(project, other))} == {1}


def test_the_depth_tells_ready_put_off_and_failing_apart(db, ask, claim, project, instance):
    other = add_project(db, instance, 2, "team/other")
    ask(1)
    ask(2, of=other)
    queue.put_off(db, claim(1)[0], "no", NOW, 0)
    assert queue.depth(db, NOW) == Depth(ready=3, put_off=1, failing=1)
    assert queue.depth(db, NOW, project.id) == Depth(ready=1, put_off=1, failing=1)
    assert queue.depth(db, NOW + 3_000) == Depth(ready=4, put_off=0, failing=1)


def test_only_a_merge_request_has_code_to_fetch():
    assert queue.job_types(ISSUE, talk=True, code=True) == TALK
    assert set(queue.job_types(REQUEST, talk=True, code=True)) == set(JobType)
    assert not set(queue.job_types(REQUEST, talk=False, code=True)) & set(TALK)
    assert queue.job_types(REQUEST, talk=False, code=False) == ()
