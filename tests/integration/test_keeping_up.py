"""What later syncs bring, what they cost, and what only a deeper look can find."""

import pytest
from tests.integration import oracle
from tests.integration.harness import query, settings, sync, truth

from loreline.core.times import HOUR, SECOND
from loreline.settings import Sync
from loreline.simulator import Fault, World, edits, running

HOURS = HOUR // SECOND
FAST = {"retry_seconds": 0.001, "retries": 2}


@pytest.fixture
def mirror(tmp_path, served, world):
    """A populated project that has been synced and has come to rest."""
    return Mirror(tmp_path / "mirror.db", served, world)


class Mirror:
    def __init__(self, database, served, world, entities=10):
        self.database, self.served, self.world = database, served, world
        self.settings = settings(database, served.url)
        for number in range(entities):
            edits.create_issue(world, "team/app", f"Issue {number}", author="ada")
            iid = edits.create_merge_request(world, "team/app", f"Change {number}", diffs=[{"new_path": "a.py"}])
            edits.add_note(world, "team/app", "merge_requests", iid, "Why?", author="grace", thread=True)
            world.clock.advance(600)
        self.sync()
        world.clock.advance(60)

    def sync(self, **options):
        """The report, with what it asked for in `asked`."""
        before = self.world.log.total
        report = sync(self.settings, self.world, **options)
        count = self.world.log.total - before
        self.asked = list(self.world.log.requests)[-count:] if count else []
        return report

    def differences(self, **how):
        return oracle.differences(self.database, truth(self.served.url, self.world, "team/app"), **how)

    def equals(self, **how):
        found = self.differences(**how)
        assert found == [], "\n".join(found[:10])


def bodies(mirror, iid):
    return [
        row[0]
        for row in query(
            mirror.database,
            "SELECT n.body FROM notes n JOIN discussions d ON d.id = n.discussion_id JOIN issues i ON i.id = d.issue_id"
            " WHERE i.iid = ? ORDER BY d.position, n.position",
            iid,
        )
    ]


def test_a_second_sync_with_nothing_new_asks_little_and_writes_nothing(mirror):
    before = oracle.fingerprint(mirror.database)
    report = mirror.sync()
    assert report.run.requests <= 4
    assert report.run.rows == {}
    assert oracle.fingerprint(mirror.database) == before
    mirror.equals()


def test_twenty_changes_cost_requests_in_proportion(mirror):
    for number in range(1, 11):
        edits.add_note(mirror.world, "team/app", "issues", number, "news")
        edits.edit_text(mirror.world, "team/app", "merge_requests", number, description="news")
    mirror.world.clock.advance(600)
    report = mirror.sync()
    # An issue has threads and three kinds of events; a merge request also closes, diffs, commits and details.
    assert report.run.requests <= 4 + 10 * 4 + 10 * 8
    mirror.equals()


def test_an_edit_of_a_field_that_brings_no_threads_fetches_none(mirror):
    edits.assign(mirror.world, "team/app", "issues", 1, ["grace"])
    mirror.world.clock.advance(600)
    mirror.sync()
    touched = {request.path for request in mirror.asked if "/issues/1/" in request.path}
    assert len(touched) == 4
    assert not [request for request in mirror.asked if "/issues/2" in request.path]


def test_a_note_that_moved_no_updated_at_is_found_by_the_next_sync(mirror):
    edits.add_note(mirror.world, "team/app", "issues", 1, "first")
    mirror.sync()
    mirror.world.clock.advance(30)
    edits.add_note(mirror.world, "team/app", "issues", 1, "hidden by the throttle")
    mirror.world.clock.advance(120)
    mirror.sync()
    assert bodies(mirror, 1) == ["first", "hidden by the throttle"]
    mirror.world.clock.advance(120)
    assert mirror.sync().run.requests <= 4  # and that settles it


@pytest.mark.parametrize("where", ["note", "description", "title"])
def test_mentioned_in_notes_are_found_though_they_touch_nothing(mirror, where):
    if where == "note":
        edits.add_note(mirror.world, "team/app", "merge_requests", 3, "as in #2")
    elif where == "description":
        edits.edit_text(mirror.world, "team/app", "merge_requests", 3, description="as in #2")
    else:
        edits.edit_text(mirror.world, "team/app", "merge_requests", 3, title="Repair #2")
    mirror.world.clock.advance(600)
    mirror.sync()
    assert bodies(mirror, 2) == ["mentioned in merge request !3"]
    mirror.equals()


def test_a_mention_written_into_an_old_note_is_found_too(mirror):
    note = edits.add_note(mirror.world, "team/app", "issues", 1, "nothing yet")
    mirror.world.clock.advance(600)
    edits.add_note(mirror.world, "team/app", "issues", 2, "younger")
    mirror.world.clock.advance(600)
    mirror.sync()
    mirror.world.clock.advance(600)
    mirror.sync()
    edits.edit_note(mirror.world, "team/app", "issues", 1, note["id"], "see #2")
    mirror.world.clock.advance(600)
    mirror.sync()
    assert bodies(mirror, 2) == ["younger", "mentioned in issue #1"]


def test_a_push_replaces_the_diffs_and_commits(mirror):
    edits.push(mirror.world, "team/app", 1, diffs=[{"new_path": "b.py", "new_file": True}, {"new_path": "c.py"}])
    mirror.world.clock.advance(600)
    mirror.sync()
    found = query(
        mirror.database,
        "SELECT new_path, change_type FROM mr_file_changes f JOIN merge_requests m ON m.id = f.merge_request_id"
        " WHERE m.iid = 1 ORDER BY position",
    )
    assert found == [("b.py", "added"), ("c.py", "modified")]
    mirror.equals()


def test_threads_that_did_not_change_are_not_written_again(mirror):
    ids = query(mirror.database, "SELECT id, gitlab_id FROM notes ORDER BY id")
    edits.add_note(mirror.world, "team/app", "merge_requests", 1, "one more")
    mirror.world.clock.advance(600)
    report = mirror.sync()
    assert report.run.rows["discussions"] == 1
    assert report.run.rows["notes"] == 1
    assert query(mirror.database, "SELECT id, gitlab_id FROM notes ORDER BY id")[: len(ids)] == ids
    assert report.run.rows.get("file_changes", 0) == 0


def test_confidential_issues_are_forgotten_by_the_sweep_when_the_token_may_not_see_them(tmp_path, served, world):
    world.add_token("glpat-outsider", insider=False)
    mirror = Mirror(tmp_path / "mirror.db", served, world, entities=4)
    mirror.settings = settings(tmp_path / "outside.db", served.url, token_env="OUTSIDER")
    mirror.database = tmp_path / "outside.db"
    outside = {"OUTSIDER": "glpat-outsider"}

    def check():
        oracle.check(mirror.database, truth(served.url, world, "team/app", token="glpat-outsider"))

    mirror.sync(environ=outside)
    edits.add_note(world, "team/app", "issues", 1, "for members", internal=True)
    edits.set_confidential(world, "team/app", 2)
    world.clock.advance(600)
    mirror.sync(environ=outside, reconcile=True)
    for _ in range(3):  # an emptied list of threads is asked for again before it is believed
        world.clock.advance(2 * HOURS)
        mirror.sync(environ=outside)
    check()
    edits.set_confidential(world, "team/app", 2, confidential=False)
    world.clock.advance(600)
    mirror.sync(environ=outside)
    check()


# ── what plain syncs can't see ──────────────────────────────────────────────────────────────────────────


def delete(world):
    edits.delete(world, "team/app", "issues", 2)
    edits.delete(world, "team/app", "merge_requests", 2)


def label(world):
    edits.add_label(world, "team/app", "issues", 4, "quiet", touching=False)


def push(world):
    edits.push(world, "team/app", 5, diffs=[{"new_path": "z.py"}], touching=False)


def delete_note(world):
    note = world.live("team/app", "merge_requests", 6).discussions[0]["notes"][0]
    edits.delete_note(world, "team/app", "merge_requests", 6, note["id"])


def hide(world):
    edits.hide(world, "team/app", "issues", 3)


UNSEEN = [delete, label, push, delete_note, hide]


@pytest.mark.parametrize("change", UNSEEN)
def test_what_moves_no_updated_at_is_healed_by_reconcile(mirror, change):
    change(mirror.world)
    mirror.world.clock.advance(600)
    mirror.sync()
    assert mirror.differences() != []
    mirror.sync(reconcile=True)
    mirror.equals()


@pytest.mark.parametrize("hours", [9, 24])
def test_what_moves_no_updated_at_is_healed_by_the_sweep_within_its_days(mirror, hours):
    """Shares that round to nothing add up."""
    mirror.settings = settings(mirror.database, mirror.served.url, sync=Sync(sweep_days=3, **FAST))
    for change in UNSEEN:
        change(mirror.world)
    mirror.world.clock.advance(600)
    mirror.sync()
    assert mirror.differences() != []
    for _ in range(4 * 24 // hours):
        mirror.world.clock.advance(hours * HOURS)
        mirror.sync()
    mirror.equals()


def hide_note(world):
    note = world.live("team/app", "merge_requests", 2).discussions[0]["notes"][0]
    edits.hide_note(world, "team/app", "merge_requests", 2, note["id"])


def resolve(world):
    thread = world.live("team/app", "merge_requests", 2).discussions[0]
    edits.resolve_thread(world, "team/app", 2, thread["id"])


def set_diffs(world):
    edits.set_diffs(world, "team/app", 2, [{"new_path": "late.py"}])


def set_closes(world):
    edits.set_closes(world, "team/app", 2, [1, {"id": "JIRA-1", "title": "Elsewhere"}])


@pytest.mark.parametrize("change", [*UNSEEN, hide_note, resolve, set_diffs, set_closes])
def test_whatever_changed_unseen_is_healed_by_a_full_sync(mirror, change):
    change(mirror.world)
    mirror.world.clock.advance(2 * HOURS)
    mirror.sync(full=True)
    for _ in range(3):  # an emptied list of threads is asked for again before it is believed
        mirror.world.clock.advance(2 * HOURS)
        mirror.sync()
    mirror.equals()


def test_labels_renamed_and_deleted_are_healed_by_one_full_sync(mirror):
    for name in ("old", "gone", "kept"):
        edits.create_label(mirror.world, "team/app", name)
        edits.add_label(mirror.world, "team/app", "issues", 1, name)
    mirror.world.clock.advance(600)
    mirror.sync()
    mirror.world.clock.advance(2 * HOURS)
    edits.edit_label(mirror.world, "team/app", "old", name="new", color="#123456")
    edits.delete_label(mirror.world, "team/app", "gone")
    mirror.sync(full=True)
    mirror.equals()


def test_many_empty_lists_of_threads_are_asked_for_again_and_stop_nothing(tmp_path, served, world):
    """GitLab counts notes that this token may not see."""
    world.add_token("glpat-outsider", insider=False)
    wanted = settings(tmp_path / "mirror.db", served.url, token_env="OUTSIDER")
    for number in range(60):
        iid = edits.create_issue(world, "team/app", f"Issue {number}")
        edits.add_note(world, "team/app", "issues", iid, "for members", internal=True)
    world.clock.advance(600)
    for turn in range(3):
        report = sync(wanted, world, environ={"OUTSIDER": "glpat-outsider"})
        assert report.failure_count == report.put_off == (60 if turn < 2 else 0)
        assert query(
            wanted.database, "SELECT count(*) FROM pending_dependent_fetches WHERE job_type <> 'discussions'"
        ) == [(0,)]
        world.clock.advance(2 * HOURS)
    oracle.check(wanted.database, truth(served.url, world, "team/app", token="glpat-outsider"))


def test_a_tombstone_tells_of_what_was_deleted(mirror):
    delete(mirror.world)
    report = mirror.sync(reconcile=True)
    assert report.run.rows["deleted"] == 2
    assert query(mirror.database, "SELECT entity_type, iid FROM tombstones ORDER BY 1") == [
        ("issue", 2),
        ("merge_request", 2),
    ]
    assert query(mirror.database, "SELECT count(*) FROM changes WHERE operation = 'delete'") == [(2,)]


def test_when_most_vanish_at_once_they_are_kept_and_it_is_told(tmp_path, served, world):
    mirror = Mirror(tmp_path / "mirror.db", served, world, entities=30)
    for iid in range(1, 26):
        edits.hide(world, "team/app", "issues", iid)
    world.clock.advance(600)
    report = mirror.sync(reconcile=True)
    assert [failure.subject for failure in report.failures] == ["sweep of issues"]
    assert query(mirror.database, "SELECT count(*) FROM issues") == [(30,)]
    for iid in range(1, 26):
        edits.hide(world, "team/app", "issues", iid, hidden=False)
    assert mirror.sync(reconcile=True).failures == []
    mirror.equals()


def test_losing_sight_of_the_project_in_mid_sync_deletes_nothing(mirror):
    for iid in range(1, 11):
        edits.add_note(mirror.world, "team/app", "issues", iid, "news")
    mirror.world.clock.advance(600)
    # The lists are still shown, then everything below the project is gone.
    with mirror.world.lock:
        mirror.world.faults.add(Fault("error", status=404, path=r"/(issues|merge_requests)/\d+", count=None))
        mirror.world.faults.add(Fault("error", status=404, path=r"/projects/\d+$", count=None))
    report = mirror.sync()
    assert report.failure_count
    assert query(mirror.database, "SELECT count(*) FROM issues") == [(10,)]
    mirror.world.faults.clear()
    mirror.world.clock.advance(2 * HOURS)
    mirror.sync()
    mirror.equals()


@pytest.mark.parametrize("kind", ["issues", "merge_requests"])
def test_a_feature_switched_off_takes_nothing_away(mirror, kind):
    for iid in range(1, 11):
        edits.add_note(mirror.world, "team/app", kind, iid, "news")
    mirror.world.clock.advance(1)
    with mirror.world.lock:  # the threads can't be had, so their jobs wait
        mirror.world.faults.add(Fault("error", status=400, path="discussions", count=None))
    mirror.sync()
    mirror.world.faults.clear()
    edits.set_feature(mirror.world, "team/app", kind, enabled=False)
    mirror.world.clock.advance(2 * HOURS)
    mirror.sync()
    mirror.sync(reconcile=True)
    assert query(mirror.database, f"SELECT count(*) FROM {kind}") == [(10,)]
    edits.set_feature(mirror.world, "team/app", kind, enabled=True)
    mirror.world.clock.advance(2 * HOURS)
    mirror.sync()
    mirror.equals()


# ── projects that change ────────────────────────────────────────────────────────────────────────────────


def test_a_renamed_project_is_followed_under_its_old_name_and_old_references_still_lead_there(mirror):
    edits.add_note(mirror.world, "team/app", "issues", 1, "see team/app#2 and elsewhere/app#3")
    mirror.world.clock.advance(600)
    edits.create_milestone(mirror.world, "team/app", "v1")
    mirror.sync()
    edits.rename_project(mirror.world, "team/app", "elsewhere/app")
    edits.add_note(mirror.world, "elsewhere/app", "issues", 4, "see team/app#5 and elsewhere/app#6")
    mirror.world.clock.advance(600)
    report = mirror.sync(reconcile=True)
    assert report.projects == ["elsewhere/app"]
    assert query(mirror.database, "SELECT count(*) FROM projects") == [(1,)]
    mirror.world.clock.advance(600)
    mirror.sync()
    oracle.check(mirror.database, truth(mirror.served.url, mirror.world, "elsewhere/app"))


def test_a_moved_issue_is_in_both_projects_and_they_know_of_each_other(tmp_path, served, world):
    edits.create_project(world, "team/lib")
    edits.create_issue(world, "team/app", "Here")
    edits.add_note(world, "team/app", "issues", 1, "before")
    world.clock.advance(600)
    wanted = settings(tmp_path / "mirror.db", served.url, projects=["team/app", "team/lib"])
    sync(wanted, world)
    edits.move_issue(world, "team/app", 1, "team/lib")
    world.clock.advance(600)
    sync(wanted, world)
    oracle.check(tmp_path / "mirror.db", truth(served.url, world, "team/app", "team/lib"))
    assert query(
        tmp_path / "mirror.db",
        "SELECT s.iid, t.iid, count(*) FROM entity_references r JOIN reference_sources x ON x.reference_id = r.id"
        " JOIN issues s ON s.id = source_entity_id JOIN issues t ON t.id = target_entity_id"
        " WHERE reference_type = 'related' GROUP BY r.id",
    ) == [(1, 1, 2)]


def test_switched_off_events_and_file_changes_are_filled_in_when_switched_on_again(tmp_path, served, world):
    database = tmp_path / "mirror.db"
    edits.create_label(world, "team/app", "bug")
    edits.create_issue(world, "team/app", "One", labels=["bug"])
    iid = edits.create_merge_request(world, "team/app", "Two", labels=["bug"], diffs=[{"new_path": "a.py"}])
    edits.merge(world, "team/app", iid)
    world.clock.advance(600)
    report = sync(settings(database, served.url, sync=Sync(file_changes=False, **FAST)), world, events=False)
    assert report.failures == []
    for table in ("resource_label_events", "resource_state_events", "mr_file_changes"):
        assert query(database, f"SELECT count(*) FROM {table}") == [(0,)]
    sync(settings(database, served.url, sync=Sync(events=False, **FAST)), world)
    assert query(database, "SELECT count(*) FROM mr_file_changes") == [(1,)]
    assert query(database, "SELECT count(*) FROM resource_label_events") == [(0,)]
    sync(settings(database, served.url), world)
    oracle.check(database, truth(served.url, world, "team/app"))


# ── which projects ──────────────────────────────────────────────────────────────────────────────────────


def test_groups_bring_their_subgroups_but_not_what_is_excluded_or_archived(tmp_path, served, world):
    for path in ("acme/web", "acme/deep/down/api", "acme/deep/old", "acme/deep/legacy-a", "other/thing"):
        edits.create_project(world, path)
        edits.create_issue(world, path, "Only")
    edits.archive_project(world, "acme/deep/old")
    wanted = settings(tmp_path / "mirror.db", served.url, projects=[], groups=("acme",), exclude=("acme/*/legacy-*",))
    report = sync(wanted, world)
    assert sorted(report.projects) == ["acme/deep/down/api", "acme/web"]
    wanted = settings(
        tmp_path / "mirror.db", served.url, projects=["other/thing"], groups=("acme/deep",), include_archived=True
    )
    report = sync(wanted, world)
    assert sorted(report.projects) == ["acme/deep/down/api", "acme/deep/legacy-a", "acme/deep/old", "other/thing"]
    report = sync(wanted, world, projects=("legacy-a",))
    assert report.projects == ["acme/deep/legacy-a"]
    paths = ["acme/web", "acme/deep/down/api", "acme/deep/old", "acme/deep/legacy-a", "other/thing"]
    oracle.check(tmp_path / "mirror.db", truth(served.url, world, *paths))


def test_two_instances_with_the_same_ids_do_not_mix(tmp_path, served, world):
    with World() as second:
        second.clock.set("2025-03-01T12:00:00Z")
        edits.create_project(second, "team/app")
        with running(second) as other:
            for number, one in enumerate((world, second)):
                for turn in range(5):
                    edits.create_issue(one, "team/app", f"{number} {turn}", description="see #1")
                    edits.create_merge_request(one, "team/app", f"{number} {turn}", description=f"Closes #{turn + 1}")
                edits.merge(one, "team/app", 2 + number)
                one.clock.advance(600)
            report = sync(settings(tmp_path / "mirror.db", served.url, other.url), world)
            assert report.projects == ["team/app", "team/app"]
            for one, handle in ((world, served), (second, other)):
                oracle.check(tmp_path / "mirror.db", truth(handle.url, one, "team/app"))
            assert query(tmp_path / "mirror.db", "SELECT count(*) FROM issues") == [(10,)]


def test_what_only_a_new_path_names_is_linked_when_the_path_becomes_known(mirror):
    """The project could not be had just when its new name first stood in a text."""
    edits.create_project(mirror.world, "team/lib")
    edits.create_issue(mirror.world, "team/lib", "Other")
    both = settings(mirror.database, mirror.served.url, projects=["team/app", "team/lib"])
    sync(both, mirror.world)
    edits.rename_project(mirror.world, "team/app", "team/new")
    edits.add_note(mirror.world, "team/lib", "issues", 1, "see team/new#3")
    mirror.world.clock.advance(600)
    with mirror.world.lock:
        mirror.world.faults.add(Fault("error", status=403, path="projects/team%2Fapp$"))
    assert sync(both, mirror.world).failure_count == 1
    mirror.world.clock.advance(600)
    sync(both, mirror.world, reconcile=True)
    oracle.check(mirror.database, truth(mirror.served.url, mirror.world, "team/new", "team/lib"))


def test_what_is_named_by_an_old_and_a_new_path_is_one_reference_even_while_it_is_missing(mirror):
    edits.add_note(mirror.world, "team/app", "issues", 1, "see team/app#77")
    mirror.world.clock.advance(600)
    mirror.sync()
    edits.rename_project(mirror.world, "team/app", "team/new")
    edits.add_note(mirror.world, "team/new", "issues", 1, "again: team/new#77, once team/app#77")
    mirror.world.clock.advance(600)
    mirror.sync()
    found = query(
        mirror.database,
        "SELECT target_project_path, target_entity_iid, count(*) FROM entity_references r JOIN reference_sources s"
        " ON s.reference_id = r.id WHERE target_entity_id IS NULL GROUP BY r.id",
    )
    assert found == [("team/new", 77, 2)]
