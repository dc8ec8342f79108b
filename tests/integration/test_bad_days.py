"""When something fails, everything else goes on, and what failed is told and tried again."""

import os
import random
import resource
import signal
import subprocess
import time

import apsw
import pytest
from tests.integration import oracle
from tests.integration.harness import (
    DEFAULT_TOKEN,
    QUICK,
    Process,
    alive,
    config,
    query,
    settings,
    sync,
    truth,
    until,
)

from loreline.errors import (
    AuthenticationFailed,
    ConfigInvalid,
    DatabaseFailed,
    DatabaseLocked,
    GitLabNotFound,
    LoreError,
    MigrationFailed,
    NetworkFailed,
    RateLimited,
    SyncRunning,
)
from loreline.settings import Sync
from loreline.simulator import Fault, edits

HOURS = 3_600


def populate(world, project="team/app", entities=6):
    for number in range(1, entities + 1):
        edits.create_issue(world, project, f"Issue {number}", description=f"after #{number - 1 or 2}")
        iid = edits.create_merge_request(world, project, f"Change {number}", diffs=[{"new_path": "a.py"}])
        edits.add_note(world, project, "merge_requests", iid, "Why?", thread=True)
        world.clock.advance(600)


def test_one_failing_project_does_not_stop_the_others(tmp_path, served, world):
    for path in ("team/broken", "team/shut", "team/lib"):
        edits.create_project(world, path)
        populate(world, path, 3)
    populate(world)
    edits.hide_project(world, "team/shut")
    number = world.place("team/broken").id
    world.faults.add(Fault("error", status=500, path=f"projects/{number}/(issues|merge_requests)", count=None))
    wanted = settings(
        tmp_path / "mirror.db", served.url, projects=["team/shut", "team/broken", "team/absent", "team/app", "team/lib"]
    )
    report = sync(wanted, world)
    assert sorted(report.projects) == ["team/app", "team/lib"]
    assert report.run.status == "partial"
    assert {failure.project for failure in report.failures} == {"team/shut", "team/broken", "team/absent"}
    codes = {failure.project: failure.code for failure in report.failures}
    assert codes == {
        "team/shut": "gitlab_not_found",
        "team/absent": "gitlab_not_found",
        "team/broken": "network_failed",
    }
    oracle.check(tmp_path / "mirror.db", truth(served.url, world, "team/app", "team/lib"))
    rows = query(tmp_path / "mirror.db", "SELECT status FROM sync_runs")
    assert rows == [("partial",)]
    assert query(tmp_path / "mirror.db", "SELECT count(*) FROM sync_failures") == [(report.failure_count,)]
    world.faults.clear()
    edits.hide_project(world, "team/shut", hidden=False)
    world.clock.advance(2 * HOURS)
    sync(wanted, world)
    everything = ("team/app", "team/lib", "team/broken", "team/shut")
    oracle.check(tmp_path / "mirror.db", truth(served.url, world, *everything))


def test_failing_dependents_are_put_off_and_fetched_when_their_time_has_come(tmp_path, served, world):
    populate(world)
    wanted = settings(tmp_path / "mirror.db", served.url)
    world.faults.add(Fault("error", status=500, path="issues/3/discussions", count=None))
    report = sync(wanted, world)
    assert [failure.subject for failure in report.failures] == ["#3 discussions"]
    assert report.put_off == 1
    report = sync(wanted, world)  # at once: it isn't its turn
    assert report.failures == []
    assert report.put_off == 1
    world.clock.advance(10)
    assert sync(wanted, world).failure_count == 1
    [(attempts, delay)] = query(
        wanted.database,
        "SELECT attempts, next_attempt_at - ? FROM pending_dependent_fetches",
        world.clock.now() // 1000,
    )
    assert attempts == 2
    assert 3_600 <= delay <= 4_400 + 5_000
    world.faults.clear()
    world.clock.advance(HOURS)
    assert sync(wanted, world).failures == []
    oracle.check(wanted.database, truth(served.url, world, "team/app"))


@pytest.mark.parametrize("name", ["discussions", "events", "diffs", "commits", "closes_issues", r"merge_requests/\d+$"])
def test_any_dependent_may_fail_and_is_made_up_for(tmp_path, served, world, name):
    populate(world, entities=4)
    wanted = settings(tmp_path / "mirror.db", served.url)
    world.faults.add(Fault("truncated_json", path=name, count=7))
    sync(wanted, world)
    world.faults.clear()
    world.clock.advance(2 * HOURS)
    sync(wanted, world)
    oracle.check(wanted.database, truth(served.url, world, "team/app"))


FLEETING = [
    Fault("rate_limited", retry_after=0, count=2),
    Fault("rate_limited", count=2),
    Fault("error", status=500, count=2),
    Fault("error", status=502, count=2),
    Fault("error", status=503, count=2),
    Fault("reset", count=2),
    Fault("reset_midway", count=2),
    Fault("cut", count=2),
    Fault("html", count=2),
    Fault("truncated_json", count=2),
    Fault("wrong_type", count=2),
    Fault("drip", seconds=0.1, count=2),
    Fault("hang", seconds=30, count=1),
]


@pytest.mark.parametrize("fault", FLEETING, ids=lambda fault: f"{fault.action}-{fault.status}")
def test_a_fleeting_failure_leaves_no_trace(tmp_path, served, world, fault):
    populate(world, entities=3)
    fields = {name: getattr(fault, name) for name in fault.__struct_fields__}
    world.faults.add(Fault(**fields | {"skip": 5}))
    quick = Sync(retry_seconds=0.001, retries=3, timeout_seconds=0.5)
    report = sync(settings(tmp_path / "mirror.db", served.url, sync=quick), world)
    assert report.failures == []
    oracle.check(tmp_path / "mirror.db", truth(served.url, world, "team/app"))


def test_one_of_two_instances_may_refuse_us(tmp_path, served, world):
    populate(world, entities=3)
    good, bad = settings(tmp_path / "mirror.db", served.url, served.url.replace("127.0.0.1", "localhost")).instances
    bad = type(bad)(url=bad.url, name="bad", projects=bad.projects, token_env="WRONG")
    wanted = type(settings(tmp_path / "mirror.db"))(database=tmp_path / "mirror.db", instances=(bad, good), sync=QUICK)
    report = sync(wanted, world, environ={"LORELINE_TOKEN": DEFAULT_TOKEN, "WRONG": "glpat-wrong"})
    assert report.projects == ["team/app"]
    assert [failure.code for failure in report.failures] == ["authentication_failed"]
    oracle.check(tmp_path / "mirror.db", truth(served.url, world, "team/app"))


@pytest.mark.parametrize(
    ("prepare", "kind"),
    [
        (lambda world: world.remove_token(DEFAULT_TOKEN), AuthenticationFailed),
        (lambda world: world.add_token(DEFAULT_TOKEN, revoked=True), AuthenticationFailed),
        (lambda world: world.add_token(DEFAULT_TOKEN, expires=1), AuthenticationFailed),
        (lambda world: world.add_token(DEFAULT_TOKEN, scopes=("read_user",)), AuthenticationFailed),
        (lambda world: edits.hide_project(world, "team/app"), GitLabNotFound),
        (lambda world: world.faults.add(Fault("error", status=503, count=None)), NetworkFailed),
        (lambda world: world.faults.add(Fault("reset", count=None)), NetworkFailed),
        (lambda world: world.faults.add(Fault("html", count=None)), NetworkFailed),
        (lambda world: world.faults.add(Fault("rate_limited", count=None)), RateLimited),
        (lambda world: world.faults.add(Fault("rate_limited", retry_after=9_999, count=None)), RateLimited),
    ],
    ids=["unknown", "revoked", "expired", "scope", "project", "503", "reset", "html", "429", "429-long"],
)
def test_when_nothing_can_be_done_one_error_says_why_and_nothing_is_lost(tmp_path, served, world, prepare, kind):
    populate(world, entities=2)
    wanted = settings(tmp_path / "mirror.db", served.url)
    sync(wanted, world)
    before = oracle.fingerprint(wanted.database)
    prepare(world)
    with pytest.raises(LoreError) as caught:
        sync(wanted, world)
    assert type(caught.value) is kind
    assert caught.value.hint
    assert DEFAULT_TOKEN not in f"{caught.value.message} {caught.value.hint} {caught.value.details}"
    assert oracle.fingerprint(wanted.database) == before
    assert query(wanted.database, "SELECT status FROM sync_runs ORDER BY id") == [("succeeded",), ("failed",)]
    assert query(wanted.database, "SELECT * FROM sync_lease") == []


def test_a_token_that_expires_in_mid_sync_ends_it_and_the_next_one_goes_on(tmp_path, served, world):
    populate(world)
    wanted = settings(tmp_path / "mirror.db", served.url)
    world.faults.add(Fault("error", status=401, path="diffs", skip=2, count=None))
    with pytest.raises(AuthenticationFailed):
        sync(wanted, world)
    world.faults.clear()
    sync(wanted, world)
    oracle.check(wanted.database, truth(served.url, world, "team/app"))


def test_a_server_that_goes_down_is_not_asked_a_thousand_times(tmp_path, served, world):
    populate(world, entities=30)
    wanted = settings(tmp_path / "mirror.db", served.url)
    world.faults.add(Fault("error", status=503, skip=30, count=None))
    before = world.log.total
    with pytest.raises(NetworkFailed):
        sync(wanted, world)
    assert world.log.total - before < 150
    world.faults.clear()
    world.clock.advance(2 * HOURS)
    assert sync(wanted, world).failures == []
    oracle.check(wanted.database, truth(served.url, world, "team/app"))


def test_no_instance_or_no_project_is_told(tmp_path, served):
    with pytest.raises(LoreError):
        sync(settings(tmp_path / "mirror.db"))
    with pytest.raises(ConfigInvalid):
        sync(settings(tmp_path / "mirror.db", served.url, projects=[]))


# ── single flight ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def slow(served, world):
    """A world whose every answer takes a while, so that a sync is under way when others come."""
    populate(world, entities=30)
    world.clock.run()
    world.behaviour.latency = 0.05
    return served


def test_a_second_sync_is_refused_while_one_is_alive(tmp_path, slow, world):
    database = tmp_path / "mirror.db"
    file = config(tmp_path, database, slow.url)
    with Process(file) as first:
        assert until(lambda: world.log.total > 20)
        with pytest.raises(SyncRunning) as caught:
            sync(settings(database, slow.url))
        assert caught.value.details["pid"] == first.popen.pid
        code, answer = Process(file).wait()
        assert (code, answer["error"]["code"]) == (12, "sync_running")
        world.behaviour.latency = 0
        code, answer = first.wait()
        assert (code, answer["ok"]) == (0, True)
    oracle.check(database, truth(slow.url, world, "team/app"))


def test_force_takes_over_and_the_first_stops_by_itself(tmp_path, slow, world):
    database = tmp_path / "mirror.db"
    file = config(tmp_path, database, slow.url)
    with Process(file) as first:
        assert until(lambda: world.log.total > 60)
        forced = Process(file, "--force")
        with forced:
            code, answer = first.wait()
            assert (code, answer["error"]["code"]) == (12, "sync_running")
            world.behaviour.latency = 0
            code, answer = forced.wait()
            assert (code, answer["ok"]) == (0, True)
    assert query(database, "SELECT status FROM sync_runs ORDER BY id") == [("interrupted",), ("succeeded",)]
    oracle.check(database, truth(slow.url, world, "team/app"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_term_end_it_within_a_second_and_the_next_sync_goes_on(tmp_path, slow, world, how):
    database = tmp_path / "mirror.db"
    file = config(tmp_path, database, slow.url)
    with Process(file) as process:
        assert until(lambda: world.log.total > 60)
        writers = process.writers
        begun = time.monotonic()
        process.interrupt(how)
        process.popen.communicate(timeout=30)
        took = time.monotonic() - begun
    assert process.popen.returncode == 130
    assert took < 1
    assert not [pid for pid in writers if alive(pid)]
    assert query(database, "SELECT status FROM sync_runs") == [("interrupted",)]
    assert query(database, "SELECT * FROM sync_lease") == []
    world.behaviour.latency = 0
    assert Process(file).wait()[0] == 0
    oracle.check(database, truth(slow.url, world, "team/app"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("pause", [0.001, 0.004])
def test_whoever_stops_it_twice_is_not_left_waiting(tmp_path, slow, world, how, pause):
    with Process(config(tmp_path, tmp_path / "mirror.db", slow.url)) as process:
        assert until(lambda: world.log.total > 60)
        process.interrupt(how)
        time.sleep(pause)
        process.interrupt(how)
        process.popen.communicate(timeout=30)
    assert process.popen.returncode in {130, -how}


# ── the file ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_database_locked_by_another_program_is_told(tmp_path, served, world):
    populate(world, entities=2)
    wanted = settings(tmp_path / "mirror.db", served.url)
    sync(wanted, world)
    before = oracle.fingerprint(wanted.database)
    other = apsw.Connection(str(wanted.database))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseLocked) as caught:
        sync(wanted, world)
    other.execute("ROLLBACK")
    other.close()
    assert caught.value.hint
    sync(wanted, world)
    assert oracle.fingerprint(wanted.database) == before


def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path, served):
    database = tmp_path / "mirror.db"
    database.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(DatabaseFailed, match="damaged or no SQLite database"):
        sync(settings(database, served.url))
    assert database.read_bytes() == b"Dear diary, " * 1000


def test_a_database_with_broken_pages_is_told(tmp_path, served, world):
    populate(world, entities=20)
    wanted = settings(tmp_path / "mirror.db", served.url)
    sync(wanted, world)
    content = bytearray(wanted.database.read_bytes())
    for page in range(4, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    wanted.database.write_bytes(content)
    with pytest.raises(DatabaseFailed, match="damaged"):
        sync(wanted, world)


def test_another_programs_database_is_refused(tmp_path, served):
    db = apsw.Connection(str(tmp_path / "mirror.db"))
    db.execute("CREATE TABLE theirs (x)")
    db.close()
    with pytest.raises(DatabaseFailed, match="another program"):
        sync(settings(tmp_path / "mirror.db", served.url))


def test_a_newer_schema_is_refused(tmp_path, served, world):
    wanted = settings(tmp_path / "mirror.db", served.url)
    sync(wanted, world)
    query(wanted.database, "PRAGMA user_version = 99")
    with pytest.raises(MigrationFailed, match="newer"):
        sync(wanted, world)


def test_a_folder_that_cannot_be_made_is_told(tmp_path, served):
    (tmp_path / "file").write_text("")
    with pytest.raises(DatabaseFailed):
        sync(settings(tmp_path / "file" / "mirror.db", served.url))


@pytest.fixture
def small_disk(tmp_path):
    """A function that mounts a disk of so many bytes."""
    import os

    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options):
        if os.name != "posix" or os.geteuid() != 0:
            pytest.skip("mounting a small disk takes root")
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.decode().strip()}")
        return folder

    yield mount
    subprocess.run(["umount", str(folder)], capture_output=True, check=False)


def long_texts(world, entities=40):
    chance = random.Random(1)
    for number in range(entities):
        # Words that no compression makes small.
        edits.create_issue(world, "team/app", f"Issue {number}", description=chance.randbytes(60_000).hex())
        world.clock.advance(200)


def test_a_full_disk_is_told_and_what_was_committed_stays(small_disk, served, world):
    populate(world, entities=3)
    folder = small_disk("size=4m")
    wanted = settings(folder / "mirror.db", served.url)
    sync(wanted, world)
    long_texts(world)
    with pytest.raises(DatabaseFailed, match="full"):
        sync(wanted, world)
    assert query(wanted.database, "PRAGMA integrity_check") == [("ok",)]
    assert query(wanted.database, "SELECT count(*) FROM merge_requests") == [(3,)]
    subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True, capture_output=True)
    sync(wanted, world)
    oracle.check(wanted.database, truth(served.url, world, "team/app"))


def test_a_file_that_may_not_grow_is_told_too(tmp_path, served, world):
    """The same without a disk of our own: a limit on the size of files."""
    long_texts(world)
    database = tmp_path / "mirror.db"
    file = config(tmp_path, database, served.url)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    code, answer = Process(file, preexec_fn=limit).wait()
    assert (code, answer["error"]["code"]) == (10, "database_failed")
    assert query(database, "PRAGMA integrity_check") == [("ok",)]
    assert Process(file).wait()[0] == 0
    oracle.check(database, truth(served.url, world, "team/app"))


def test_a_read_only_disk_is_told(small_disk, served, world):
    folder = small_disk("size=16m")
    wanted = settings(folder / "mirror.db", served.url)
    sync(wanted, world)
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True, capture_output=True)
    with pytest.raises(DatabaseFailed) as caught:
        sync(wanted, world)
    assert "cannot be" in caught.value.message
    assert caught.value.hint


def test_a_writer_that_dies_is_told_and_costs_nothing(tmp_path, slow, world):
    database = tmp_path / "mirror.db"
    file = config(tmp_path, database, slow.url)
    with Process(file) as process:
        assert until(lambda: world.log.total > 60)
        [writer] = process.writers
        os.kill(writer, signal.SIGKILL)
        code, answer = process.wait()
    assert (code, answer["error"]["code"]) == (10, "database_failed")
    world.behaviour.latency = 0
    assert Process(file).wait()[0] == 0
    oracle.check(database, truth(slow.url, world, "team/app"))
