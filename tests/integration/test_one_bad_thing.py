"""One thing that is broken, strange or hostile costs that thing, and nothing beside it."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.integration import oracle
from tests.integration.harness import QUICK, query, settings, sync, truth

from loreline.errors import AuthenticationFailed, GitLabForbidden, NetworkFailed
from loreline.settings import Instance, Settings
from loreline.simulator import DEFAULT_TOKEN, Fault, World, edits, running
from loreline.store import documents
from loreline.store.connection import open_database

HOURS = 3_600


def issues(world, count, project="team/app"):
    for number in range(1, count + 1):
        edits.create_issue(world, project, f"Issue {number}")
        world.clock.advance(60)
    world.clock.advance(HOURS)


@pytest.fixture
def wanted(tmp_path, served):
    return settings(tmp_path / "mirror.db", served.url)


def codes(report):
    return [(failure.subject, failure.code) for failure in report.failures]


# ── lists ──


def test_an_entity_that_cannot_be_stored_leaves_its_page_whole(world, served, wanted):
    issues(world, 250)
    with world.lock:
        world.live("team/app", "issues", 3).fields["weight"] = 10**19
    report = sync(wanted, world)
    assert codes(report) == [("#3", "internal")]
    assert query(wanted.database, "SELECT count(*) FROM issues") == [(249,)]


def test_an_entity_that_is_not_as_documented_leaves_its_page_whole(world, served, wanted):
    issues(world, 150)
    with world.lock:
        world.live("team/app", "issues", 3).fields["closed_by"] = {"id": 5}
    report = sync(wanted, world)
    assert codes(report) == [("#3", "network_failed")]
    assert query(wanted.database, "SELECT count(*) FROM issues") == [(149,)]


def test_a_list_that_moves_while_it_is_read_loses_nothing_where_keyset_is_not_known(world, served, wanted):
    world.behaviour.keyset_issues = False
    issues(world, 250)
    edited = threading.Event()

    def edit_between_pages():
        while not any("/issues?" in f"{one.path}?{one.query}" for one in list(world.log.requests)):
            pass
        world.clock.advance(1)
        edits.edit_text(world, "team/app", "issues", 3, title="moved to the end")
        edited.set()

    world.behaviour.latency = 0.02
    editing = threading.Thread(target=edit_between_pages, daemon=True)
    editing.start()
    sync(wanted, world)
    editing.join(20)
    assert edited.is_set()
    world.behaviour.latency = 0
    assert query(wanted.database, "SELECT count(*) FROM issues") == [(250,)]
    assert query(wanted.database, "SELECT keyset_issues FROM instances") == [(0,)]
    world.clock.advance(HOURS)
    sync(wanted, world)
    oracle.check(wanted.database, truth(served.url, world, "team/app"))


def test_a_date_in_the_future_does_not_hide_what_comes_after(world, served, wanted):
    issues(world, 3)
    with world.lock:
        live = world.live("team/app", "issues", 2)
        live.fields["updated_at"] = "2031-01-01T00:00:00.000Z"
        live.touch(1_924_992_000_000_000)
    sync(wanted, world)
    for title in ("one", "two"):
        edits.create_issue(world, "team/app", title)
        world.clock.advance(HOURS)
        sync(wanted, world)
    assert query(wanted.database, "SELECT count(*) FROM issues") == [(5,)]


@pytest.mark.parametrize(
    ("status", "error"), [(401, AuthenticationFailed), (403, GitLabForbidden), (500, NetworkFailed)]
)
def test_what_is_wrong_with_a_list_is_told_by_its_kind(world, served, wanted, status, error):
    issues(world, 1)
    world.faults.add(Fault("error", status=status, path=r"projects/\d+/(issues|merge_requests)", count=None))
    with pytest.raises(error):
        sync(wanted, world)


# ── dependents ──


def test_an_event_nobody_has_heard_of_costs_that_list_of_events(world, served, wanted):
    issues(world, 120)
    edits.create_label(world, "team/app", "bug")
    edits.add_label(world, "team/app", "issues", 1, "bug")
    edits.add_note(world, "team/app", "issues", 1, "a comment")
    with world.lock:
        world.live("team/app", "issues", 1).label_events[0]["action"] = "replace"
    world.clock.advance(HOURS)
    report = sync(wanted, world)
    assert codes(report) == [("#1 resource events", "internal")]
    assert query(wanted.database, "SELECT count(*) FROM notes WHERE NOT is_system") == [(1,)]
    assert query(wanted.database, "SELECT job_type, attempts FROM pending_dependent_fetches") == [
        ("resource_events", 1)
    ]


def test_one_broken_address_does_not_end_the_run(world, served, wanted):
    issues(world, 2)
    for number in range(30):
        edits.create_merge_request(world, "team/app", f"Change {number}", diffs=[{"new_path": "a.py"}])
    world.clock.advance(HOURS)
    world.faults.add(Fault("error", status=500, path=r"merge_requests/\d+/(commits|diffs)", count=None))
    for turn in range(2):
        edits.add_note(world, "team/app", "issues", 1, f"news {turn}")
        world.clock.advance(3 * HOURS)
        assert sync(wanted, world).failure_count == 60
    assert query(wanted.database, "SELECT count(*) FROM notes WHERE NOT is_system") == [(2,)]


@pytest.mark.parametrize("option", ["reconcile", "full"])
def test_a_lost_permission_is_not_taken_for_deletion(tmp_path, option):
    with World() as world:
        world.clock.set("2025-03-01T12:00:00Z")
        edits.create_project(world, "team/app")
        for number in range(40):
            edits.create_issue(world, "team/app", f"Secret {number}", confidential=True)
        issues(world, 1)
        with running(world) as served:
            wanted = settings(tmp_path / "mirror.db", served.url)
            sync(wanted, world)
            world.remove_token(DEFAULT_TOKEN)
            world.add_token(DEFAULT_TOKEN, insider=False)
            world.clock.advance(HOURS)
            report = sync(wanted, world, **{option: True})
    assert {failure.code for failure in report.failures} == {"gitlab_forbidden"}
    assert query(wanted.database, "SELECT count(*) FROM issues") == [(41,)]


def test_what_only_takes_away_is_a_change_too(world, served, wanted):
    issues(world, 1)
    note = edits.add_note(world, "team/app", "issues", 1, "a secret")
    world.clock.advance(HOURS)
    sync(wanted, world)
    db = open_database(wanted.database)
    seen = max(change.sequence for change in documents.changes(db, 100))
    edits.delete_note(world, "team/app", "issues", 1, note["id"])
    world.clock.advance(HOURS)
    sync(wanted, world, full=True)
    assert [change.entity_id for change in documents.changes(db, 100) if change.sequence > seen] == [1]
    db.close()


def test_notes_name_the_answer_they_stand_in_though_threads_move_between_pages(world, served, wanted):
    issues(world, 1)
    notes = [edits.add_note(world, "team/app", "issues", 1, f"note {number}")["id"] for number in range(130)]
    world.clock.advance(HOURS)
    sync(wanted, world)
    for note in notes[:20]:
        edits.delete_note(world, "team/app", "issues", 1, note)
    world.clock.advance(HOURS)
    sync(wanted, world, full=True)
    db = open_database(wanted.database)
    from loreline.store.payloads import bodies

    [(project, gitlab_id)] = db.execute("SELECT project_id, gitlab_id FROM issues").fetchall()
    pages = {page.id: page.body for page in bodies(db, project, "issue_discussions", gitlab_id)}
    rows = db.execute("SELECT gitlab_id, raw_payload_id FROM notes").fetchall()
    assert len(rows) == 110
    assert all(f'"id":{note},'.encode() in pages[payload].replace(b" ", b"") for note, payload in rows)
    db.close()


# ── instances ──


def test_an_instance_without_token_does_not_stop_the_others(tmp_path, world, served):
    issues(world, 2)
    good = Instance(url=served.url, name="good", projects=("team/app",))
    for bad in (
        Instance(url="http://127.0.0.1:9", name="other", projects=("x/y",), token_env="NOT_SET"),
        Instance(url="https://127.0.0.1:9", name="other", projects=("x/y",), ca_bundle="/nonexistent.pem"),
    ):
        both = Settings(database=tmp_path / "mirror.db", instances=(good, bad), sync=QUICK)
        report = sync(both, world)
        assert report.projects == ["team/app"]
        assert [failure.project for failure in report.failures] == ["other"]
        assert sync(both, world, projects=("team/app",)).failures == []


def test_a_project_by_number_is_found_by_its_path(tmp_path, world, served):
    issues(world, 1)
    edits.create_project(world, "team/lib")
    wanted = settings(tmp_path / "mirror.db", served.url, projects=[str(world.place("team/app").id), "team/lib"])
    assert sync(wanted, world, projects=("team/app",)).projects == ["team/app"]
    edits.rename_project(world, "team/lib", "team/library")
    assert "team/library" in sync(wanted, world, projects=("team/library",)).projects


class Echo(BaseHTTPRequestHandler):
    def do_GET(self):
        body = f'{{"message":"upstream refused the header {self.headers["PRIVATE-TOKEN"]}"}}'.encode()
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def test_a_server_that_quotes_the_token_does_not_get_it_told(tmp_path):
    token = "glpat-SECRETSECRETSECRET"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wanted = settings(tmp_path / "mirror.db", f"http://127.0.0.1:{server.server_port}")
    with pytest.raises(NetworkFailed) as caught:
        sync(wanted, environ={"LORELINE_TOKEN": token})
    server.shutdown()
    server.server_close()
    assert "upstream refused" in caught.value.message
    assert token not in caught.value.message
    assert token.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
