"""`lore stats --check` names every kind of fault, and `--repair` mends it."""

import shutil
import time

import pytest
from tests.integration.harness import query
from tests.lore import Lore
from tests.search.harness import RULES, Mirror, contents, differences, opened, search

from loreline.core.entities import Kind
from loreline.core.times import DAY
from loreline.index import lexical, matrix
from loreline.index.lexical import Table
from loreline.services.search import checking
from loreline.services.search.request import Mode
from loreline.simulator import World, edits, running
from loreline.store import documents, vectors
from loreline.store.connection import transaction

APP = "team/app"
URL = "http://127.0.0.1:9"
QUESTIONS = ("walrus", "pelican", "a person is unable to log on", "network", "birds")
LONG = "It happens at night, and nobody is there to see it. " * 15


@pytest.fixture(scope="module")
def sound(tmp_path_factory, model):
    """The folder of a database that is complete, and what searches answer on it. Its GitLab is gone."""
    folder = tmp_path_factory.mktemp("sound")
    with World() as world:
        world.clock.set("2025-03-01T12:00:00Z")
        edits.create_project(world, APP)
        with running(world) as served:
            mirror = Mirror(folder, served, world, model)
            edits.create_issue(world, APP, "Login fails", description=f"The walrus cannot sign in.\n\n{LONG}\n\n{LONG}")
            edits.add_note(world, APP, "issues", 1, "Seen on the iguana cluster.", author="grace")
            edits.create_label(world, APP, "slow")
            edits.create_issue(world, APP, "Slow start", description="Booting waits for the network.", labels=["slow"])
            edits.create_merge_request(
                world, APP, "Cache tokens", description="Keeps a pelican.", diffs=[{"new_path": "auth.py"}]
            )
            edits.add_note(world, APP, "merge_requests", 1, "Why not a flamingo?", author="grace", thread=True)
            mirror.sync()
    with opened(mirror.database) as db, transaction(db):
        matrix.rebuild(db, mirror.database, vectors.active(db))
    return folder, answers(mirror.database, model), contents(mirror.database)


@pytest.fixture
def lore(sound, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(sound[0], folder)
    lore = Lore(folder)
    lore.configure(URL, [APP], provider="bundled")
    return lore


def answers(database, model):
    """What searches answer, threads apart: where one is as good as an issue, the younger document comes first."""
    found = {}
    for text in QUESTIONS:
        for mode in Mode:
            hits = search(database, model, text, mode=mode).results
            told = [(hit.reference, hit.type, hit.title, hit.snippet.text) for hit in hits]
            found[text, mode] = sorted(told, key=lambda one: one[1] == "discussion")
    return found


# ── faults ──────────────────────────────────────────────────────────────────────────────────────────────


def run(*statements):
    """Whatever the schema forbids included."""

    def harm(db, _database):
        db.pragma("foreign_keys", 0)
        for statement in statements:
            db.execute(statement)

    return harm


def forget_issue(db, _database):
    with transaction(db):
        found = documents.of_entity(db, Kind.ISSUE, 1)
        threads = [one.id for one in documents.of_threads(db, found.id).values()]
        lexical.remove(db, Table.ENTITIES, [found.id])
        lexical.remove(db, Table.THREADS, threads)
        documents.delete(db, [*threads, found.id])


def of_matrix(harm):
    def harmed(db, database):
        space = vectors.active(db)
        harm(matrix.path_of(database, space, space.matrix_generation))

    return harmed


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


LATER = f"(SELECT strftime('%s', 'now') * 1000 + {5 * DAY})"
FIRST = "(SELECT min(id) FROM documents WHERE source_type = 'issue')"
THREAD = "(SELECT min(id) FROM documents WHERE source_type = 'discussion')"
FETCH = (
    "INSERT INTO pending_dependent_fetches (project_id, entity_type, entity_iid, entity_local_id, job_type,"
    " enqueued_at, next_attempt_at, locked_at)"
    " SELECT project_id, 'issue', iid, id, 'discussions', 0, {0} FROM issues WHERE iid = 1"
)
VECTOR = "INSERT INTO vectors (space_id, passage_id, text_hash, scale, components) SELECT {0}, text_hash, scale,"
VECTOR += " components FROM vectors LIMIT 1"

CLAIMED = run(FETCH.format("NULL, 1"))
FAULTS = [
    ("stale_hash", run(f"UPDATE document_texts SET content_text = content_text || '.' WHERE document_id = {FIRST}")),
    ("stale_hash", run(f"UPDATE documents SET content_hash = zeroblob(16) WHERE id = {THREAD}")),
    ("missing_document", forget_issue),
    ("missing_passage", run(f"DELETE FROM passages WHERE document_id = {THREAD}", "DELETE FROM vectors WHERE"
                            " passage_id NOT IN (SELECT id FROM passages)")),
    ("missing_passage", run(f"UPDATE passages SET text_start = text_start + 1 WHERE document_id = {THREAD}")),
    ("missing_words", run(f"DELETE FROM entities_fts WHERE rowid = {FIRST}")),
    ("missing_words", run(f"DELETE FROM threads_fts WHERE rowid = {THREAD}")),
    ("orphaned_words", run("INSERT INTO entities_fts (rowid, title) VALUES (900, 'walrus')")),
    ("orphaned_words", run("INSERT INTO threads_fts (rowid, body) VALUES (901, 'walrus')")),
    ("orphaned_vector", run(VECTOR.format("space_id, 900"))),
    ("orphaned_vector", run(VECTOR.format("99, passage_id"))),
    ("stale_vector", run("UPDATE vectors SET text_hash = zeroblob(16) WHERE id IN (SELECT id FROM vectors LIMIT 2)")),
    ("forgotten_passage", run("DELETE FROM vectors WHERE id IN (SELECT id FROM vectors LIMIT 2)")),
    ("stuck_queue_row", run(f"INSERT INTO dirty_sources VALUES ('issue', 1, 3, 'odd', {LATER})")),
    ("stuck_queue_row", CLAIMED),
    ("stuck_queue_row", run(FETCH.format(f"{LATER}, NULL"))),
    ("stuck_queue_row", run("INSERT INTO pending_embeddings (space_id, passage_id, written_at, attempts,"
                            f" next_attempt_at) SELECT 1, max(id), 0, 2, {LATER} FROM passages")),
    ("stuck_queue_row", run("INSERT INTO pending_embeddings (space_id, passage_id, written_at) VALUES (1, 900, 0)")),
    ("torn_matrix", of_matrix(lambda path: path.unlink())),
    ("torn_matrix", of_matrix(lambda path: path.write_bytes(path.read_bytes()[:-64]))),
    ("torn_matrix", of_matrix(flip)),
]  # fmt: skip


def faults_of(answer):
    return {fault["name"]: fault["count"] for fault in answer if fault["count"]}


def faults_in(database):
    with opened(database) as db:
        faults = checking.found(checking.check(db, database, RULES, time.time_ns() // 10**6))
    return {fault.name: fault.count for fault in faults}


def test_every_kind_of_fault_is_tried():
    assert {name for name, _ in FAULTS} == set(checking._MEANINGS)


def test_a_sound_database_has_no_fault_and_a_repair_leaves_it_as_it_is(lore, sound):
    checked = lore("stats", "--check", "-J")
    assert (checked.code, checked.data["sound"]) == (0, True)
    assert [fault["name"] for fault in checked.data["faults"]] == list(checking._MEANINGS)
    assert faults_of(checked.data["faults"]) == {}
    assert lore("stats", "--check", "--repair", "-J").data == {"repaired": [], "left": [], "sound": True}
    assert differences(contents(lore.folder / "mirror.db"), sound[2]) == {}


@pytest.mark.parametrize(("name", "harm"), FAULTS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(FAULTS)])
def test_a_fault_is_found_by_its_name_and_mended(lore, sound, model, name, harm):
    database = lore.folder / "mirror.db"
    with opened(database) as db:
        harm(db, database)
    found = faults_in(database)
    assert set(found) == {name}
    repaired = lore("stats", "--check", "--repair", "-J")
    assert repaired.code == 0
    # Claims of a dead run are let go at the beginning of any, so this one finds them mended.
    assert faults_of(repaired.data["repaired"]) == ({} if harm is CLAIMED else found)
    assert repaired.data["left"] == []
    assert faults_in(database) == {}
    if query(database, "SELECT 1 FROM pending_embeddings"):
        assert lore("embed", "-J").code == 0
    with opened(database) as db:
        space = vectors.active(db)
        if vectors.removed(db, space):  # which weigh a little until then: see test_a_rebuild_changes_no_answer
            matrix.rebuild(db, database, space)
    assert answers(database, model) == sound[1]
    assert differences(contents(database), sound[2]) == {}


def test_people_are_told_what_was_found_and_what_to_do(lore):
    with opened(lore.folder / "mirror.db") as db:
        run(f"DELETE FROM threads_fts WHERE rowid = {THREAD}")(db, None)
    checked = lore("stats", "--check")
    assert checked.code == 19
    assert "✗ 1 documents missing from the lexical index" in checked.out
    assert "lore stats --check --repair" in checked.err
    repaired = lore("stats", "--check", "--repair")
    assert repaired.code == 0
    assert "mended" in repaired.out
    assert lore("stats", "--check", "--repair").out.strip() == "nothing to repair"


@pytest.mark.parametrize("end", ["min", "max"])
def test_a_document_that_lacks_one_of_its_passages_is_found(lore, end):
    database = lore.folder / "mirror.db"
    assert query(database, f"SELECT count(*) FROM passages WHERE document_id = {FIRST}") == [(2,)]
    query(
        database, f"DELETE FROM vectors WHERE passage_id = (SELECT {end}(id) FROM passages WHERE document_id = {FIRST})"
    )
    query(database, f"DELETE FROM passages WHERE id = (SELECT {end}(id) FROM passages WHERE document_id = {FIRST})")
    checked = lore("stats", "--check", "-J")
    assert (checked.code, checked.data["sound"]) == (19, False)


def test_a_thread_without_a_document_is_found(lore):
    with opened(lore.folder / "mirror.db") as db, transaction(db):
        ((thread,),) = db.execute(f"SELECT {THREAD}").fetchall()
        lexical.remove(db, Table.THREADS, [thread])
        documents.delete(db, [thread])
    assert lore("stats", "--check", "-J").code == 19
