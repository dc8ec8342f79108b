"""Single flight: who holds the lease, and when a holder is believed to be dead."""

import os
import subprocess
import sys

import pytest
from tests.store.rows import NOW

from loreline.store import lease
from loreline.store.lease import DEAD_AFTER_MS, HEARTBEAT_MS, Lease, Owner


def held(*, host=None, pid=None, heartbeat_at=NOW):
    return Lease("run", 1, host or lease.hostname(), pid or os.getpid(), NOW, heartbeat_at)


@pytest.fixture
def dead_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(30)
    return process.pid


def test_a_process_that_has_ended_is_dead_however_fresh_its_heartbeat(dead_pid):
    assert not held(pid=dead_pid).alive(NOW)


def test_a_living_process_of_this_machine_is_alive():
    assert held().alive(NOW)
    assert held(pid=1).alive(NOW), "even one that we may not signal"


def test_a_process_of_another_machine_is_believed_while_its_heart_beats(dead_pid):
    other = held(host="another.example.com", pid=dead_pid)
    assert other.alive(NOW)
    assert other.alive(NOW + DEAD_AFTER_MS)
    assert not other.alive(NOW + DEAD_AFTER_MS + 1)


def test_a_living_process_whose_heart_stopped_is_dead():
    assert not held().alive(NOW + DEAD_AFTER_MS + 1)


def test_several_beats_may_be_missed_before_one_is_dead():
    assert DEAD_AFTER_MS >= 3 * HEARTBEAT_MS


def test_the_lease_is_taken_kept_alive_and_given_back(db):
    assert lease.read(db) is None
    lease.take(db, Owner("me", "here", 7), 3, NOW)
    assert lease.read(db) == Lease("me", 3, "here", 7, NOW, NOW)
    assert lease.held(db, "me")
    assert lease.beat(db, "me", NOW + 5)
    found = lease.read(db)
    assert (found.acquired_at, found.heartbeat_at) == (NOW, NOW + 5)
    lease.release(db, "me")
    assert lease.read(db) is None
    assert not lease.held(db, "me")


def test_who_was_replaced_learns_it_and_takes_nothing_back(db):
    lease.take(db, Owner("first", "here", 7), 3, NOW)
    lease.take(db, Owner("second", "here", 8), 4, NOW + 1)
    assert not lease.held(db, "first")
    assert not lease.beat(db, "first", NOW + 9)
    lease.release(db, "first")
    assert lease.read(db) == Lease("second", 4, "here", 8, NOW + 1, NOW + 1)


def test_each_run_of_one_process_has_a_name_of_its_own():
    one, other = lease.this_process(), lease.this_process()
    assert one.name != other.name
    assert (one.host, one.pid) == (other.host, other.pid) == (lease.hostname(), os.getpid())
