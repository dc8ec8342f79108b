"""An entity that GitLab no longer shows leaves nothing behind, in whatever table it may have been."""

import asyncio
import shutil

import apsw
import pytest
from tests.simulator import building

from loreline.core.entities import Kind
from loreline.services.mirror.sync import Options, run_sync
from loreline.services.runs.progress import Silent
from loreline.settings import Instance, Settings, Sync
from loreline.simulator import DEFAULT_TOKEN, World, edits, running
from loreline.store import entities
from loreline.store.connection import open_database, transaction

NOW = 1_717_250_000_000
POLYMORPHIC = (
    ("pending_dependent_fetches", "entity_type", "entity_local_id"),
    ("reference_sources", "observer_type", "observer_id"),
    ("entity_references", "source_entity_type", "source_entity_id"),
    ("entity_references", "target_entity_type", "target_entity_id"),
)
OWN = {Kind.ISSUE: "issue_id", Kind.MERGE_REQUEST: "merge_request_id"}


def fill(world):
    """A project in which one issue and one merge request have everything that one can have."""
    edits.create_milestone(world, 1, "v1")
    iid = edits.create_issue(
        world, 1, "Doomed issue", description="See #1", labels=["bug"], milestone="v1", assignees=["ada"]
    )
    requested = edits.create_merge_request(
        world,
        1,
        "Doomed request",
        description=f"Closes #{iid}, see #1",
        labels=["bug"],
        milestone="v1",
        assignees=["ada"],
        reviewers=["ada"],
        commits=[{"title": "One"}, {"title": "Two"}],
        diffs=[{"new_path": "a.py", "old_path": "a.py", "diff": "@@ -1 +1 @@\n-a\n+b\n"}],
    )
    edits.add_note(
        world, 1, "merge_requests", requested, "On a line, see #2", position={"new_path": "a.py", "new_line": 1}
    )
    edits.add_note(world, 1, "issues", iid, "A word, see #2")
    for kind, number in (("issues", iid), ("merge_requests", requested)):
        edits.add_label(world, 1, kind, number, "bug")
        edits.remove_label(world, 1, kind, number, "bug")
        edits.add_label(world, 1, kind, number, "bug")
        edits.set_milestone(world, 1, kind, number, None)
        edits.set_milestone(world, 1, kind, number, "v1")
        edits.close(world, 1, kind, number)
        edits.reopen(world, 1, kind, number)
    edits.add_note(world, 1, "issues", 3, f"#{iid} and !{requested} go away")
    return {Kind.ISSUE: iid, Kind.MERGE_REQUEST: requested}


@pytest.fixture(scope="module")
def synced(tmp_path_factory):
    """A mirror of such a project: its file, and the numbers of the two."""
    folder = tmp_path_factory.mktemp("deletion")
    with World.open(building.small(folder / "corpus")) as world:
        world.clock.set("2024-06-01T12:00:00Z")
        numbers = fill(world)
        with running(world) as served:
            settings = Settings(
                database=folder / "mirror.db",
                instances=(Instance(url=served.url, projects=("team/app",)),),
                sync=Sync(retry_seconds=0.01),
            )
            work = run_sync(settings, {"LORELINE_TOKEN": DEFAULT_TOKEN}, Options(), lambda: NOW, Silent())
            report = asyncio.run(asyncio.wait_for(work, 60))
    assert report.failure_count == 0
    return settings.database, numbers


@pytest.fixture
def db(synced, tmp_path):
    shutil.copy(synced[0], tmp_path / "mirror.db")
    db = open_database(tmp_path / "mirror.db")
    yield db
    db.close()


def rows_of(db, key):
    """How many rows of each table belong to an entity."""
    found = {}
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
    for table in tables:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})").fetchall()]
        if OWN[key.kind] in columns:
            found[table] = count(db, f"{table} WHERE {OWN[key.kind]} = ?", key.id)
    for table, type_column, id_column in POLYMORPHIC:
        found[f"{table}.{id_column}"] = count(
            db, f"{table} WHERE {type_column} = ? AND {id_column} = ?", key.kind.value, key.id
        )
    types = entities.payload_types(key.kind)
    found["raw_payloads"] = count(
        db,
        f"raw_payloads WHERE gitlab_id = ? AND resource_type IN ({', '.join('?' * len(types))})",
        key.gitlab_id,
        *types,
    )
    return found


def count(db, rest, *values):
    return db.execute(f"SELECT count(*) FROM {rest}", values).fetchone()[0]


def hanging(db):
    """Rows whose owner is gone, told by tables that reach their entity through another."""
    return {
        "notes": count(db, "notes WHERE discussion_id NOT IN (SELECT id FROM discussions)"),
        "positions": count(db, "note_positions WHERE note_id NOT IN (SELECT id FROM notes)"),
        "bodies": count(db, "raw_bodies WHERE id NOT IN (SELECT body_id FROM raw_payloads)"),
        "edges": count(db, "entity_references WHERE id NOT IN (SELECT reference_id FROM reference_sources)"),
        "sources": count(db, "reference_sources WHERE reference_id NOT IN (SELECT id FROM entity_references)"),
        "keys": len(db.execute("PRAGMA foreign_key_check").fetchall()),
    }


def find(db, synced, kind):
    key = entities.find(db, 1, kind, synced[1][kind])
    assert key is not None
    return key


@pytest.mark.parametrize("kind", list(Kind))
def test_a_deleted_entity_leaves_no_row_in_any_table(db, synced, kind):
    key = find(db, synced, kind)
    before = rows_of(db, key)
    expected = {table for table in before if not table.startswith("pending")}
    empty = {table for table in expected if not before[table]}
    assert not empty, "the test must have something to lose in every table"
    with transaction(db):
        entities.delete(db, key, noticed_at=NOW)
    assert rows_of(db, key) == dict.fromkeys(before, 0)
    assert hanging(db) == dict.fromkeys(hanging(db), 0)
    assert entities.find(db, 1, kind, key.iid) is None


@pytest.mark.parametrize("kind", list(Kind))
def test_a_deletion_is_remembered_and_told_to_who_follows(db, synced, kind):
    key = find(db, synced, kind)
    last = db.execute("SELECT max(sequence) FROM changes").fetchone()[0]
    entities.delete(db, key, noticed_at=NOW)
    told = db.execute("SELECT entity_type, entity_id, operation FROM changes WHERE sequence > ?", (last,)).fetchall()
    assert (kind.value, key.id, "delete") in told
    assert db.execute("SELECT entity_type, gitlab_id, iid, noticed_at FROM tombstones").fetchall() == [
        (kind.value, key.gitlab_id, key.iid, NOW)
    ]


@pytest.mark.parametrize("kind", list(Kind))
def test_everybody_elses_rows_stay(db, synced, kind):
    key = find(db, synced, kind)
    others = [
        found
        for other in Kind
        for (local_id,) in db.execute(f"SELECT id FROM {other.plural}").fetchall()
        if (found := entities.by_id(db, other, local_id)) != key
    ]
    edges = (
        "entity_references.source_entity_id",
        "entity_references.target_entity_id",
        "reference_sources.observer_id",
    )
    before = {other: rows_of(db, other) for other in others}
    entities.delete(db, key, noticed_at=NOW)
    for other in others:
        after = rows_of(db, other)
        assert {table: number for table, number in after.items() if table not in edges} == {
            table: number for table, number in before[other].items() if table not in edges
        }


def test_waiting_jobs_of_a_deleted_entity_go_with_it(db, synced):
    from loreline.store import queue

    key = find(db, synced, Kind.ISSUE)
    queue.enqueue(db, 1, Kind.ISSUE, key.id, key.iid, [queue.JobType.DISCUSSIONS], NOW)
    queue.enqueue(db, 1, Kind.MERGE_REQUEST, key.id, key.iid, [queue.JobType.DISCUSSIONS], NOW)
    entities.delete(db, key, noticed_at=NOW)
    assert db.execute("SELECT entity_type FROM pending_dependent_fetches").fetchall() == [("merge_request",)]


def test_a_whole_project_can_be_deleted(db):
    db.execute("DELETE FROM projects")
    left = {
        table: count(db, table)
        for table in ("issues", "merge_requests", "discussions", "notes", "note_positions", "labels", "milestones")
    }
    assert left == dict.fromkeys(left, 0)
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_the_file_is_sound(db):
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert isinstance(db, apsw.Connection)
    assert hanging(db) == dict.fromkeys(hanging(db), 0)
