"""What search goes by, counted, checked for faults, and mended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
from msgspec import Struct

from loreline.index import lexical, matrix
from loreline.index.lexical import Table
from loreline.services.runs.flight import flight
from loreline.services.runs.progress import Progress
from loreline.services.runs.writer import Writer
from loreline.services.search import generating
from loreline.services.search.generating import Rules, rules_of
from loreline.settings import Settings
from loreline.store import documents, integrity, queue, vectors
from loreline.store.connection import open_database

Clock = Callable[[], int]


class DocumentCounts(Struct, frozen=True):
    issues: int
    merge_requests: int
    discussions: int
    total: int
    truncated: int
    passages: int
    common_words: int
    """Words that stand in more than a fiftieth of the entities."""


class SpaceStats(Struct, frozen=True):
    """The vectors of one model."""

    name: str
    dimensions: int
    active: bool
    embedded: int
    pending: int
    failed: int
    coverage: float
    """Of the passages, from 0 to 1."""
    errors: list[str]


class QueueDepths(Struct, frozen=True):
    changes: int
    """Changed entities that are no documents yet."""
    documents_failed: int
    fetches: int
    fetches_failed: int


class Stats(Struct, frozen=True):
    documents: DocumentCounts
    words: dict[str, int]
    """Rows of the lexical index."""
    spaces: list[SpaceStats]
    queues: QueueDepths


def stats(db: apsw.Connection, now: int) -> Stats:
    counts = documents.counts(db)
    fetches = queue.depth(db, now)
    return Stats(
        DocumentCounts(
            counts.issues,
            counts.merge_requests,
            counts.discussions,
            counts.total,
            counts.truncated,
            counts.passages,
            lexical.common_word_count(db, Table.ENTITIES),
        ),
        {"entities": lexical.row_count(db, Table.ENTITIES), "threads": lexical.row_count(db, Table.THREADS)},
        [_space(db, space, counts.passages) for space in vectors.every(db)],
        QueueDepths(documents.behind(db), documents.failed_count(db), fetches.ready + fetches.put_off, fetches.failing),
    )


def _space(db: apsw.Connection, space: vectors.Space, passages: int) -> SpaceStats:
    depth = vectors.depth(db, space)
    embedded = vectors.count(db, space)
    errors = list(dict.fromkeys(error for _, error in vectors.failures(db, space, 200)))
    return SpaceStats(
        space.name,
        space.dimensions,
        space.is_active,
        embedded,
        depth.waiting,
        depth.failing,
        round(embedded / passages, 4) if passages else 1.0,
        errors[:5],
    )


# ── faults ──────────────────────────────────────────────────────────────────────────────────────────────


class Fault(Struct, frozen=True):
    name: str
    count: int
    meaning: str


_MEANINGS = {
    "stale_hash": "documents whose text is not what its hash says",
    "missing_document": "entities without a document",
    "missing_passage": "documents without all their passages",
    "missing_words": "documents missing from the lexical index",
    "orphaned_words": "rows of the lexical index without a document",
    "orphaned_vector": "vectors without a passage",
    "stale_vector": "vectors of a text that has changed",
    "forgotten_passage": "passages with neither a vector nor a place in the queue",
    "stuck_queue_row": "rows of a queue that nobody would take",
    "torn_matrix": "matrix files that are not what the database says",
}


def check(db: apsw.Connection, database: Path, rules: Rules, now: int) -> list[Fault]:
    """Every kind of fault with how many there are; none should be."""
    counts = {
        "stale_hash": len(integrity.stale_documents(db)),
        "missing_document": len(integrity.without_document(db, generating.bots(db, rules))),
        "missing_passage": len(integrity.badly_sliced(db)),
        "missing_words": sum(len(lexical.missing(db, table)) for table in Table),
        "orphaned_words": sum(len(lexical.orphaned(db, table)) for table in Table),
        "orphaned_vector": len(integrity.orphaned_vectors(db)),
        "stale_vector": len(integrity.stale_vectors(db)),
        "forgotten_passage": len(integrity.forgotten_passages(db)),
        "stuck_queue_row": integrity.stuck_rows(db, now),
        "torn_matrix": len(torn(db, database)),
    }
    return [Fault(name, counts[name], meaning) for name, meaning in _MEANINGS.items()]


def torn(db: apsw.Connection, database: Path) -> list[vectors.Space]:
    """Spaces whose matrix can't be read whole, or holds other vectors than it should."""
    found = []
    for space in vectors.every(db):
        if space.matrix_generation == 0:
            continue
        try:
            block = matrix.read(database, space, space.matrix_generation, verify=True)
        except matrix.Torn:
            found.append(space)
            continue
        expected = vectors.count(db, space) - vectors.count_after(db, space, space.matrix_vector_id)
        if len(block) != expected + len(vectors.removed(db, space)):
            found.append(space)
    return found


class Repaired(Struct, frozen=True):
    faults: list[Fault]
    """What was found, and is mended."""
    left: list[Fault]
    """What is still there after it."""


async def repair(settings: Settings, *, force: bool, clock: Clock, progress: Progress) -> Repaired:
    """Mend what `check` finds. Passages that lost their vector are embedded by the next `lore embed` or sync."""
    open_database(settings.database).close()
    async with (
        Writer(settings.database) as writer,
        flight(writer, "stats --repair", force=force, clock=clock, progress=progress),
    ):
        progress.stage("checking")
        rules = rules_of(settings.documents)
        before = await writer.ask(check, settings.database, rules, clock())
        progress.stage("repairing")
        for step in (_mend_rows, _mend_documents, _mend_matrix):
            await writer.run(step, settings.database, rules, clock())
        progress.stage("checking again")
        after = await writer.ask(check, settings.database, rules, clock())
    return Repaired(found(before), found(after))


def found(faults: Sequence[Fault]) -> list[Fault]:
    return [fault for fault in faults if fault.count]


def _mend_rows(db: apsw.Connection, _database: Path, _rules: Rules, now: int) -> None:
    integrity.delete_vectors(db, [*integrity.orphaned_vectors(db), *integrity.stale_vectors(db)])
    for table in Table:
        lexical.remove(db, table, lexical.orphaned(db, table))
    integrity.free_stuck_rows(db, now)


def _mend_documents(db: apsw.Connection, _database: Path, rules: Rules, now: int) -> None:
    unwell = {*integrity.stale_documents(db), *integrity.badly_sliced(db)}
    unwell.update(document for table in Table for document in lexical.missing(db, table))
    integrity.make_anew(db, sorted(unwell), now)
    integrity.make_sources_anew(db, integrity.without_document(db, generating.bots(db, rules)), now)
    left = 1
    while left or documents.due(db, now, 1):
        _, left = generating.follow(db, rules, now)
    integrity.enqueue_passages(db, integrity.forgotten_passages(db))


def _mend_matrix(db: apsw.Connection, database: Path, _rules: Rules, _now: int) -> None:
    for space in torn(db, database):
        matrix.rebuild(db, database, space)
