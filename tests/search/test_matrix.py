"""The vectors' file: as good as the database it was made of, and never trusted beyond that."""

import concurrent.futures
import random
import select
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.integration.harness import ROOT
from tests.search.harness import (
    NOW,
    RULES,
    embed_all,
    follow_all,
    local_project,
    opened,
    search,
    searching,
    write_threads,
)
from tests.store.rows import add, issue

from loreline.core.entities import Kind
from loreline.embedding import onnx
from loreline.index import crowding, matrix
from loreline.index.vectors import open_index
from loreline.services.search import asking, checking, embedding
from loreline.services.search.request import Mode, Request
from loreline.store import entities, vectors
from loreline.store.connection import transaction

ISSUES = 120
SUBJECTS = ("login", "cache", "network", "invoice", "printer", "compiler", "garden", "whale", "guitar", "bridge")
VERBS = ("fails", "is slow", "leaks memory", "needs a test", "breaks at night", "was renamed", "cannot be found")
QUESTIONS = ("why does the login fail", "music", "memory leak in the compiler", "plants and animals", "xyzzy")
EXACT = 1e-3


def text_of(number):
    chance = random.Random(number)
    one, two = chance.sample(SUBJECTS, 2)
    return f"The {one} {chance.choice(VERBS)} since the {two} {chance.choice(VERBS)}, number {number}."


def long_text_of(number):
    return " ".join(text_of(number * 31 + part) for part in range(12))


def write_issue(db, iid, description):
    key = add(db, local_project(db), issue(iid, title=text_of(iid), description=description))
    if iid % 2:
        write_threads(db, key, [("ada", NOW, text_of(iid + 1_000))], [("eve", NOW, text_of(iid + at)) for at in (1, 2)])
    return key


def add_issues(db, model, iids):
    for iid in iids:
        long = [long_text_of(iid), long_text_of(iid + 1)] if iid % 20 == 0 else [text_of(iid + 2_000)]
        write_issue(db, iid, "\n\n".join(long))
    follow_all(db)
    embed_all(db, model)


def delete_issues(db, iids):
    with transaction(db):
        for iid in iids:
            entities.delete(db, entities.find(db, local_project(db).id, Kind.ISSUE, iid), noticed_at=NOW)
        follow_all(db)


def rebuild(db, database):
    with transaction(db):
        matrix.rebuild(db, database, vectors.active(db))
    embedding.sweep_files(db, database)


@pytest.fixture(autouse=True)
def nobody_is_crowded(monkeypatch):
    """What is told is the plain cosine here, which brute force tells too: see test_crowding.py for the rest."""
    monkeypatch.setattr(crowding, "WEIGHT", np.float32(0))


@pytest.fixture(scope="module")
def built(tmp_path_factory, model):
    """A database with a matrix of all its vectors."""
    database = tmp_path_factory.mktemp("built") / "mirror.db"
    with opened(database, create=True) as db:
        add_issues(db, model, range(1, ISSUES + 1))
        rebuild(db, database)
    return database


@pytest.fixture
def database(built, tmp_path):
    found = tmp_path / "mirror.db"
    shutil.copy(built, found)
    shutil.copytree(built.with_name("mirror.db-vectors"), tmp_path / "mirror.db-vectors")
    return found


def file_of(database):
    with opened(database) as db:
        space = vectors.active(db)
    return matrix.path_of(database, space, space.matrix_generation)


def files(database):
    return sorted(path.name for path in database.with_name("mirror.db-vectors").iterdir())


# ── brute force ─────────────────────────────────────────────────────────────────────────────────────────


def rounded(question):
    """A question in the 255 steps in which the index compares."""
    step = np.abs(question).max() / 127
    return np.rint(question / step) * step


def told_by_rows(db, question):
    """(entity → best cosine, entity → its opening's, document → best) straight from the rows of the database."""
    rows = db.execute(
        "SELECT d.entity_document_id, d.id, p.position, v.scale, v.components FROM vectors v"
        " JOIN passages p ON p.id = v.passage_id JOIN documents d ON d.id = p.document_id"
        " JOIN spaces s ON s.id = v.space_id AND s.is_active"
    ).fetchall()
    whole = np.array([np.frombuffer(row[4], np.int8) * row[3] for row in rows], np.float64)
    best, openings, documents = {}, {}, {}
    for (entity, document, position, *_), score in zip(rows, whole @ rounded(question), strict=True):
        best[entity] = max(best.get(entity, -1.0), score)
        documents[document] = max(documents.get(document, -1.0), score)
        if document == entity and position == 0:
            openings[entity] = score
    return best, openings, documents


def told_by_index(index, question):
    found = index.search(question)
    told = (
        zip(found.entities.ids, found.entities.best, strict=True),
        zip(found.entities.ids, found.openings, strict=True),
        zip(found.documents.ids, found.documents.best, strict=True),
    )
    return tuple({int(one): float(score) for one, score in pairs if score > -1.0} for pairs in told)


def assert_same(told, wanted):
    for found, expected in zip(told, wanted, strict=True):
        assert found.keys() == expected.keys()
        assert max(abs(found[one] - expected[one]) for one in found) < EXACT
        top = sorted(found, key=lambda one: -found[one])[:20]
        scores = sorted(expected.values(), reverse=True)[:20]
        assert np.allclose([expected[one] for one in top], scores, atol=EXACT)


def assert_right(db, database, model, before=None):
    """The index of the open transaction tells what the rows of that moment say; the index."""
    index = open_index(db, database, vectors.active(db), before)
    for text in QUESTIONS:
        question = model.query(text)
        assert_same(told_by_index(index, question), told_by_rows(db, question))
    return index


def answers(database, model):
    """What searches answer, with scores."""
    with searching(database, model) as session:
        return [
            [
                (hit.reference, hit.type, hit.snippet.text, hit.score)
                for hit in asking.search(session, Request(text=text, mode=mode, limit=50), NOW).results
            ]
            for text in QUESTIONS
            for mode in (Mode.SEMANTIC, Mode.HYBRID)
        ]


def assert_alike(found, wanted):
    assert [[hit[:3] for hit in one] for one in found] == [[hit[:3] for hit in one] for one in wanted]
    assert np.allclose([hit[3] for one in found for hit in one], [hit[3] for one in wanted for hit in one], atol=EXACT)


# ── what the index tells ────────────────────────────────────────────────────────────────────────────────


def test_the_matrix_tells_what_brute_force_over_the_rows_tells(database, model):
    with opened(database) as db:
        index = assert_right(db, database, model)
        assert len(index) == len(index.base.block) == vectors.count(db, vectors.active(db)) > 300


def test_rounding_to_whole_numbers_costs_little(model):
    made = model.documents([text_of(number) for number in range(50)])
    rows = [(number, 0, 0, 0, 0, *matrix.quantised(vector)) for number, vector in enumerate(made)]
    block = matrix.block_of(rows, model.dimensions)
    for text in QUESTIONS:
        question = model.query(text)
        assert np.allclose(block.scores(question), np.array(made) @ question, atol=5e-3)


def test_vectors_that_came_and_went_since_count_before_and_after_a_rebuild(database, model):
    with opened(database) as db:
        delete_issues(db, [2, 3, 40, 41, 120])
        write_issue(db, 7, "It is about whales and nothing else.")  # replaces its text
        add_issues(db, model, [*range(ISSUES + 1, ISSUES + 12), 140])
        space = vectors.active(db)
        assert vectors.removed(db, space)
        assert vectors.count_after(db, space, space.matrix_vector_id)
        index = assert_right(db, database, model)
        assert len(index) == vectors.count(db, space)
        rebuild(db, database)
        after = assert_right(db, database, model, index)
        assert len(after) == len(after.base.block) == len(index)
        assert not vectors.removed(db, vectors.active(db))


@pytest.mark.parametrize(
    "gone",
    [
        [],
        pytest.param(
            [2, 3, 40, 41, 119],
        ),
    ],
)
def test_a_rebuild_changes_no_answer(database, model, gone):
    with opened(database) as db:
        add_issues(db, model, range(ISSUES + 1, ISSUES + 12))
        delete_issues(db, gone)
        before = answers(database, model)
        rebuild(db, database)
    assert_alike(answers(database, model), before)


def test_vectors_of_an_entity_are_those_of_its_rows_before_and_after_a_rebuild(database, model):
    with opened(database) as db:
        write_issue(db, 21, "Another opening.")
        follow_all(db)
        embed_all(db, model)
        ((entity,),) = db.execute(
            "SELECT d.id FROM documents d JOIN issues i ON i.id = d.source_id WHERE source_type = 'issue' AND iid = 21"
        ).fetchall()
        rows = db.execute(
            "SELECT v.scale, v.components FROM vectors v JOIN passages p ON p.id = v.passage_id"
            " JOIN documents d ON d.id = p.document_id WHERE d.entity_document_id = ?",
            (entity,),
        ).fetchall()
        wanted = sorted((np.frombuffer(data, np.int8) * scale).tolist() for scale, data in rows)
        for _ in range(2):
            index = open_index(db, database, vectors.active(db), None)
            assert np.allclose(sorted(index.vectors_of(entity).tolist()), wanted, atol=1e-6)
            rebuild(db, database)


def test_the_opening_is_what_stands_first_now_though_its_vector_is_older(database, model):
    with opened(database) as db:
        write_issue(db, 20, long_text_of(21))  # its second paragraph alone
        follow_all(db)
        embed_all(db, model)
        assert_right(db, database, model)


@pytest.mark.parametrize("mode", [Mode.SEMANTIC, Mode.HYBRID])
def test_a_session_forgets_a_vector_that_came_after_the_matrix_and_went_again(database, model, mode):
    with opened(database) as db, searching(database, model) as session:
        write_issue(db, 301, "A zeppelin over the harbour.")
        follow_all(db)
        embed_all(db, model)
        asked = Request(text="zeppelin over a harbour", mode=mode, limit=1)
        assert asking.search(session, asked, NOW).results[0].iid == 301
        delete_issues(db, [301])
        wanted = search(database, model, asked.text, mode=mode, limit=1).results
        assert len(wanted) == 1
        assert [hit.iid for hit in asking.search(session, asked, NOW).results] == [hit.iid for hit in wanted]


def test_the_only_issue_there_is_can_be_found_by_its_meaning(tmp_path, model):
    database = tmp_path / "mirror.db"
    with opened(database, create=True) as db:
        add(db, local_project(db), issue(1, title="The printer is on fire"))
        follow_all(db)
        embed_all(db, model)
    assert [hit.iid for hit in search(database, model, "a burning device", mode=Mode.SEMANTIC).results] == [1]


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 0x5A
    path.write_bytes(data)


def in_its_place(path):
    path.unlink()
    path.mkdir()


DAMAGES = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "shorter than a header": lambda path: path.write_bytes(path.read_bytes()[:20]),
    "a header alone": lambda path: path.write_bytes(path.read_bytes()[:64]),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "one byte short": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "one byte long": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "of another program": lambda path: path.write_bytes(b"SQLite format 3\0" * 8_000),
    "a folder": in_its_place,
    "the whole folder gone": lambda path: shutil.rmtree(path.parent),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_torn_file_is_never_used_and_the_answers_stay_the_same(database, model, damage):
    before = answers(database, model)
    damage(file_of(database))
    with opened(database) as db:
        assert_right(db, database, model)
        assert [fault.name for fault in checking.found(checking.check(db, database, RULES, NOW))] == ["torn_matrix"]
    assert_alike(answers(database, model), before)


def test_a_header_with_any_byte_changed_is_refused(database):
    path = file_of(database)
    whole = path.read_bytes()
    with opened(database) as db:
        space = vectors.active(db)
    for at in range(40):
        flip(path, at)
        with pytest.raises(matrix.Torn):
            matrix.read(database, space, space.matrix_generation)
        path.write_bytes(whole)
    assert len(matrix.read(database, space, space.matrix_generation)) > 300


def test_the_file_of_another_generation_or_space_is_never_used(database, model):
    old = file_of(database)
    with opened(database) as db:
        delete_issues(db, range(1, 30))
        rebuild(db, database)
        new = file_of(database)
        assert new != old
        shutil.copy(old, new)
        assert_right(db, database, model)
        other = new.with_name("2-1.matrix")
        shutil.copy(old, other)
        space = vectors.active(db)
        with pytest.raises(matrix.Torn):
            matrix.read(database, type(space)(2, "other", 384, False, 1, 0), 1)


SAMPLED = 40


def test_a_check_sees_a_changed_byte_anywhere_in_the_file(database):
    path = file_of(database)
    whole = path.read_bytes()
    chance = random.Random(7)
    places = [*range(44), 64, len(whole) - 1, *(chance.randrange(64, len(whole)) for _ in range(SAMPLED))]
    with opened(database) as db:
        assert checking.torn(db, database) == []
        for at in places:
            flip(path, at)
            assert len(checking.torn(db, database)) == 1, f"byte {at} of {len(whole)}"
            path.write_bytes(whole)
        assert checking.torn(db, database) == []


def test_a_check_sees_a_changed_byte_behind_the_header(database):
    flip(file_of(database), 50)
    with opened(database) as db:
        assert len(checking.torn(db, database)) == 1


def test_a_check_sees_a_file_of_other_vectors_than_the_database_has(database):
    with opened(database) as db:
        space = vectors.active(db)
        rows = list(vectors.rows_up_to(db, space, space.matrix_vector_id))
        matrix.write(database, space, space.matrix_generation, matrix.block_of(rows[:-1], space.dimensions))
        assert [one.id for one in checking.torn(db, database)] == [space.id]


def test_old_generations_are_removed_but_the_one_before_stays(database):
    seen = [files(database)]
    with opened(database) as db:
        for _ in range(3):
            rebuild(db, database)
            seen.append(files(database))
    assert seen == [
        ["1-1.matrix"],
        ["1-1.matrix", "1-2.matrix"],
        ["1-2.matrix", "1-3.matrix"],
        ["1-3.matrix", "1-4.matrix"],
    ]


def test_the_half_of_a_file_that_a_killed_process_left_is_removed(database):
    left = database.with_name("mirror.db-vectors") / "1-2.999999999.part"
    left.write_bytes(b"LOREMAT1")
    with opened(database) as db:
        rebuild(db, database)
    assert not left.exists()


def test_a_rebuild_that_was_rolled_back_leaves_the_answers_and_can_be_made_again(database, model):
    with opened(database) as db:
        add_issues(db, model, [ISSUES + 1])
        db.execute("BEGIN IMMEDIATE")
        matrix.rebuild(db, database, vectors.active(db))
        db.execute("ROLLBACK")
        assert vectors.active(db).matrix_generation == 1
        assert_right(db, database, model)
        delete_issues(db, [5])
        rebuild(db, database)
        assert vectors.active(db).matrix_generation == 2
        assert_right(db, database, model)
        assert checking.torn(db, database) == []


def test_a_database_copied_without_its_vectors_folder_still_answers(database, model, tmp_path):
    copied = tmp_path / "elsewhere" / "copy.db"
    copied.parent.mkdir()
    shutil.copy(database, copied)
    assert_alike(answers(copied, model), answers(database, model))
    with opened(copied) as db:
        assert_right(db, copied, model)
        rebuild(db, copied)
        assert checking.torn(db, copied) == []
        assert_right(db, copied, model)


# ── other processes ─────────────────────────────────────────────────────────────────────────────────────


def process(call, database):
    """A function of this module in a process of its own."""
    code = f"import sys, pathlib; from tests.search import test_matrix as t; t.{call}(pathlib.Path(sys.argv[1]))"
    return subprocess.Popen([sys.executable, "-c", code, str(database)], cwd=ROOT, stdin=subprocess.PIPE)


def write_and_rebuild(database):
    """Run in the other process: much comes and goes, and the matrix is made anew three times."""
    with opened(database) as db:
        for turn in range(3):
            delete_issues(db, range(1 + turn * 10, 8 + turn * 10))
            add_issues(db, onnx.bundled(1), range(200 + turn * 5, 205 + turn * 5))
            rebuild(db, database)


@pytest.mark.parametrize("opened_before", [True, False], ids=["its vectors are open", "it opens them afterwards"])
def test_a_reader_sees_the_vectors_of_its_moment_while_another_process_rebuilds(database, model, opened_before):
    with searching(database, model) as session, session.reading(with_vectors=opened_before) as reading:
        wanted = [told_by_rows(reading.db, model.query(text)) for text in QUESTIONS]
        with process("write_and_rebuild", database) as writer:
            assert writer.wait(60) == 0
        assert files(database) == ["1-3.matrix", "1-4.matrix"]
        index = reading.vectors or open_index(reading.db, database, vectors.active(reading.db), None)
        assert (index.version.generation, vectors.active(reading.db).matrix_generation) == (1, 1)
        for text, expected in zip(QUESTIONS, wanted, strict=True):
            assert_same(told_by_index(index, model.query(text)), expected)
    with opened(database) as db:
        assert vectors.active(db).matrix_generation == 4
        assert_right(db, database, model)


def keep_writing(database):
    """Run in the other process until its standard input ends."""
    model = onnx.bundled(1)
    turn = 0
    with opened(database) as db:
        while turn < 60 and not select.select([sys.stdin], [], [], 0)[0]:
            turn += 1
            add_issues(db, model, [400 + turn])
            delete_issues(db, [turn])
            if turn % 3 == 0:
                rebuild(db, database)
            time.sleep(0.01)


def test_a_session_shared_by_eight_threads_is_right_while_another_process_writes(database, model):
    questions = [model.query(text) for text in QUESTIONS]

    def look(session, number):
        generations, chance = set(), random.Random(number)
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            at = chance.randrange(len(QUESTIONS))
            with session.reading(with_vectors=True) as reading:
                assert_same(told_by_index(reading.vectors, questions[at]), told_by_rows(reading.db, questions[at]))
                generations.add(reading.vectors.version)
            answer = asking.search(session, Request(text=QUESTIONS[at], mode=Mode.SEMANTIC), NOW)
            assert len(answer.results) == 20
            assert all(hit.snippet.text or hit.title for hit in answer.results)
        return generations

    with process("keep_writing", database) as writer:
        with searching(database, model) as session, concurrent.futures.ThreadPoolExecutor(8) as pool:
            deadline = time.monotonic() + 30
            while files(database) == ["1-1.matrix"] and time.monotonic() < deadline:
                time.sleep(0.01)
            seen = set().union(*pool.map(lambda number: look(session, number), range(8)))
        writer.stdin.close()
        assert writer.wait(60) == 0
    assert len({version.generation for version in seen}) > 1, "nothing was written meanwhile"
    with opened(database) as db:
        assert_right(db, database, model)
        assert checking.found(checking.check(db, database, RULES, NOW)) == []
