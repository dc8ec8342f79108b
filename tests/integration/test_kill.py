"""kill -9 at any moment: nothing is lost, nothing is fetched twice, nobody has to clean up."""

import random
import re

import pytest
from tests.integration import oracle
from tests.integration.harness import Process, alive, config, query, truth, until

from loreline.simulator import World, running

KILLS = 6
CHAINS = 5
"""So many databases, each killed so many times before it is left to complete: 30 kills in all."""

MIRROR_ONLY = "--no-docs"
"""Documents and vectors have kills of their own."""


@pytest.fixture(scope="module")
def undisturbed(history, tmp_path_factory):
    """(served world, contents of a mirror that nobody disturbed, requests that it took)."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with World.open(history) as world, running(world) as served:
        paths = [place.path for place in world.places.values()]
        file = config(folder, folder / "mirror.db", served.url, paths)
        code, answer = Process(file, MIRROR_ONLY).wait()
        assert (code, answer["ok"]) == (0, True)
        oracle.check(folder / "mirror.db", truth(served.url, world, *paths))
        yield served, oracle.contents(folder / "mirror.db"), world.log.total


_LISTS = {
    "discussions": "discussions",
    "resource_state_events": "resource_events",
    "resource_label_events": "resource_events",
    "resource_milestone_events": "resource_events",
    "closes_issues": "mr_closes_issues",
    "diffs": "mr_diffs",
    "commits": "mr_commits",
    None: "mr_details",
}
_DEPENDENT = re.compile(r"/projects/(\d+)/(issue|merge_request)s/(\d+)(?:/(\w+))?$")


def jobs_done(database):
    """(project, kind, iid, job) of every dependent that is committed."""
    entities = query(
        database,
        "SELECT p.gitlab_project_id, 'issue', e.iid FROM issues e JOIN projects p ON p.id = e.project_id UNION ALL"
        " SELECT p.gitlab_project_id, 'merge_request', e.iid FROM merge_requests e JOIN projects p"
        " ON p.id = e.project_id",
    )
    names = ("discussions", "resource_events", "mr_closes_issues", "mr_diffs", "mr_commits", "mr_details")
    wanted = {(*entity, name) for entity in entities for name in names[: 2 if entity[1] == "issue" else 6]}
    return wanted - set(
        query(
            database,
            "SELECT p.gitlab_project_id, entity_type, entity_iid, job_type FROM pending_dependent_fetches q"
            " JOIN projects p ON p.id = q.project_id",
        )
    )


def jobs_asked(requests):
    found = (_DEPENDENT.search(request.path) for request in requests)
    return {(int(one[1]), one[2], int(one[3]), _LISTS[one[4]]) for one in found if one}


def killed(file, world, stop_at):
    """A sync, killed when the simulator has answered so many requests in all; the pids of its writers."""
    with Process(file, MIRROR_ONLY) as process:
        assert until(lambda: world.log.total >= stop_at or process.popen.poll() is not None, 30)
        return process.writers


def all_ended(pids):
    return until(lambda: not any(alive(pid) for pid in pids))


@pytest.mark.parametrize("chain", range(CHAINS))
def test_a_killed_sync_goes_on_where_it_was(undisturbed, tmp_path, chain):
    served, wanted, requests = undisturbed
    world = served.world
    chance = random.Random(chain)
    database = tmp_path / "mirror.db"
    paths = [place.path for place in world.places.values()]
    file = config(tmp_path, database, served.url, paths)
    patient = chain % 2 == 0
    """Whether the next run waits for the orphaned writer: what is committed can be known only then."""
    done = set()
    for _ in range(KILLS):
        begin = world.log.total
        stop_at = begin + chance.randint(0, requests // KILLS)
        orphans = killed(file, world, stop_at)
        if patient:
            assert all_ended(orphans), "the orphaned writer does not end"
            asked = list(world.log.requests)[len(world.log.requests) - (world.log.total - begin) :]
            assert not jobs_asked(asked) & done, "committed dependents were fetched again"
            if database.exists() and query(database, "SELECT 1 FROM sqlite_master WHERE name = 'issues'"):
                done = jobs_done(database)
            assert query(database, "PRAGMA integrity_check") == [("ok",)]
            assert query(database, "PRAGMA foreign_key_check") == []
    begin = world.log.total
    code, answer = Process(file, MIRROR_ONLY).wait()
    assert (code, answer["ok"]) == (0, True), answer
    if patient:
        asked = list(world.log.requests)[len(world.log.requests) - (world.log.total - begin) :]
        assert not jobs_asked(asked) & done, "committed dependents were fetched again"
    assert all_ended(orphans)
    oracle.check(database, truth(served.url, world, *paths))
    found = oracle.contents(database)
    for table, rows in wanted.items():
        assert found[table] == rows, f"{table} differs from an undisturbed sync"
    statuses = [row[0] for row in query(database, "SELECT status FROM sync_runs ORDER BY id")]
    assert statuses[-1] == "succeeded"
    assert set(statuses[:-1]) <= {"interrupted", "succeeded"}


def test_a_dead_syncs_lease_is_taken_over_at_once_and_nothing_is_fetched_twice(undisturbed, tmp_path):
    served, _, _ = undisturbed
    world = served.world
    database = tmp_path / "mirror.db"
    file = config(tmp_path, database, served.url, [place.path for place in world.places.values()])
    stop_at = world.log.total + 200
    with Process(file) as process:
        assert until(lambda: world.log.total >= stop_at and len(jobs_done(database)) > 50)
        pid, orphans = process.popen.pid, process.writers
    assert orphans
    assert all_ended(orphans)
    assert query(database, "SELECT pid FROM sync_lease") == [(pid,)]
    done = jobs_done(database)
    begin = world.log.total
    code, answer = Process(file).wait()
    assert (code, answer["ok"]) == (0, True)
    asked = jobs_asked(list(world.log.requests)[len(world.log.requests) - (world.log.total - begin) :])
    assert asked
    assert not asked & done
    assert query(database, "SELECT status FROM sync_runs ORDER BY id") == [("interrupted",), ("succeeded",)]
