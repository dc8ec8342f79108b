"""How crowded it is where a vector stands, and what that does to answers."""

import numpy as np
import pytest
from tests.search.harness import embed_all, follow_all, local_project, opened
from tests.store.rows import add, issue

from loreline.embedding.embedder import BUNDLED_NAME
from loreline.index import crowding, matrix
from loreline.index.vectors import open_index
from loreline.store import vectors
from loreline.store.connection import transaction

DIMENSIONS = 384
ALONE = 300


class General:
    """Texts that have one thing in common, and a text that says nothing else."""

    name, dimensions, least_cosine = BUNDLED_NAME, DIMENSIONS, 0.0

    def documents(self, texts):
        return [self.query(text) for text in texts]

    def query(self, text):
        in_common = scattered(1)[0]
        own = scattered(1, seed=int(text.rpartition("number ")[2]))[0] if "number" in text else 0
        return unit((in_common + own)[None])[0]


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def scattered(count, seed=0):
    return unit(np.random.default_rng(seed).standard_normal((count, DIMENSIONS)))


def crowding_of(rows, sample=None):
    own = np.arange(len(rows)) if sample is None else None
    return crowding.crowding(len(rows), lambda part: rows[part], rows if sample is None else sample, own)


# ── how crowded it is ───────────────────────────────────────────────────────────────────────────────────


def test_it_is_the_mean_cosine_of_the_nearest_without_oneself():
    rows = scattered(500)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -1)
    wanted = np.sort(cosines, axis=1)[:, -4:].mean(axis=1)  # the nearest one in 128
    assert np.allclose(crowding_of(rows), wanted, atol=1e-5)


def test_looking_at_the_best_of_each_group_alone_loses_hardly_anything():
    rows = scattered(4_096)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -1)
    exact = np.sort(cosines, axis=1)[:, -32:].mean(axis=1)
    assert np.abs(crowding_of(rows) - exact).max() < 0.01


def test_a_sample_tells_nearly_what_all_tell():
    rows = unit(scattered(8_000) + np.linspace(0, 2, 8_000)[:, None] * scattered(1, seed=1))
    whole = crowding_of(rows)
    sample = rows[crowding.sampled(len(rows), crowding.SAMPLE_BESIDE)]
    assert np.corrcoef(crowding_of(rows, sample), whole)[0, 1] > 0.95


@pytest.mark.parametrize("count", [0, 1, 99])
def test_among_few_there_are_no_crowds(count):
    rows = scattered(count) if count else np.empty((0, DIMENSIONS), np.float32)
    assert not crowding_of(rows).any()


def test_a_sample_has_each_place_once_and_the_first_and_the_last():
    for count in (1, 2, 100, 4_096, 5_000, 100_000):
        places = crowding.sampled(count, crowding.SAMPLE)
        assert len(places) == min(count, crowding.SAMPLE)
        assert (places[0], places[-1]) == (0, count - 1)
        assert (np.diff(places) > 0).all()


# ── what it does to answers ─────────────────────────────────────────────────────────────────────────────


def write(db, iid, text):
    with transaction(db):
        add(db, local_project(db), issue(iid, title="x", description=text))


def crowds(db, database):
    """Passage → how crowded it is around it, as the index of this moment knows it."""
    index = open_index(db, database, vectors.active(db), None)
    blocks = (index.base.block, index._beside.block)
    return {
        int(passage): float(crowd)
        for block in blocks
        for passage, crowd in zip(block.passage_ids, block.crowding, strict=True)
    }


@pytest.fixture
def database(tmp_path):
    found = tmp_path / "mirror.db"
    with opened(found, create=True) as db:
        for number in range(1, ALONE + 1):
            write(db, number, f"number {number}")
        follow_all(db)
        embed_all(db, General())
        rebuild(db, found)
    return found


def rebuild(db, database):
    with transaction(db):
        matrix.rebuild(db, database, vectors.active(db))


def test_what_is_near_to_everything_steps_back(database):
    with opened(database) as db:
        write(db, 1_000, "only what all have in common")
        follow_all(db)
        embed_all(db, General())
        issues = dict(db.execute("SELECT d.id, i.iid FROM documents d JOIN issues i ON i.id = d.source_id").fetchall())
        question = General().query("only what all have in common") + 0.5 * General().query("number 77")
        question = unit(question[None])[0]
        found = open_index(db, database, vectors.active(db), None).search(question)
    near = {issues[one]: score for one, score in zip(found.entities.ids.tolist(), found.entities.best, strict=True)}
    taken = {iid: float(question @ General().query(text)) - near[iid] for iid, text in texts().items()}
    assert taken[1_000] > 0.05
    assert all(-0.03 < taken[iid] < 0.03 for iid in range(1, ALONE + 1))


def texts():
    return {1_000: "only what all have in common"} | {number: f"number {number}" for number in range(1, ALONE + 1)}


def test_a_rebuild_keeps_what_is_known_and_adds_what_came(database):
    with opened(database) as db:
        before = crowds(db, database)
        for number in range(ALONE + 1, ALONE + 40):
            write(db, number, f"number {number}")
        follow_all(db)
        embed_all(db, General())
        beside = crowds(db, database)
        rebuild(db, database)
        after = crowds(db, database)
    assert {passage: after[passage] for passage in before} == before
    new = beside.keys() - before.keys()
    assert len(new) == 39
    assert all(beside[passage] > 0 for passage in new)
    assert max(abs(after[passage] - beside[passage]) for passage in new) < 0.05


def test_what_has_grown_by_half_is_counted_anew(database):
    with opened(database) as db:
        before = crowds(db, database)
        for number in range(ALONE + 1, 2 * ALONE):
            write(db, number, f"number {number}")
        follow_all(db)
        embed_all(db, General())
        rebuild(db, database)
        after = crowds(db, database)
    assert {passage: after[passage] for passage in before} != before
    assert len(after) == 2 * ALONE - 1


def test_a_lost_file_is_counted_again_from_the_rows(database):
    with opened(database) as db:
        before = crowds(db, database)
        space = vectors.active(db)
        matrix.path_of(database, space, space.matrix_generation).unlink()
        again = crowds(db, database)
    assert again.keys() == before.keys()
    assert max(abs(again[passage] - before[passage]) for passage in before) < 1e-6
