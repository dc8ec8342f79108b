"""Documents, passages and the lexical index, kept up with the mirror by following its change feed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import apsw
from msgspec import Struct, structs

from loreline.core.documents import Document, entity_document, text_hash, thread_document
from loreline.core.entities import Kind
from loreline.core.passages import passages
from loreline.errors import LoreError
from loreline.index import lexical
from loreline.index.lexical import EntityText, Table
from loreline.settings import Documents
from loreline.store import documents, subjects
from loreline.store.connection import transaction
from loreline.store.documents import Stored

BATCH = 100
"""Entities in one transaction."""

_FIRST_DELAY_MS = 60_000
_LONGEST_DELAY_MS = 3_600_000


class Rules(Struct, frozen=True):
    """How documents are made, from the settings."""

    longest: int
    bot_notes: bool
    bots: tuple[str, ...]


def rules_of(settings: Documents) -> Rules:
    return Rules(settings.longest_thread, settings.bot_notes, settings.bots)


class Generated(Struct, frozen=True):
    """What came of it; documents by kind are those written anew or changed."""

    entities: int = 0
    """Looked at."""
    issues: int = 0
    merge_requests: int = 0
    discussions: int = 0
    unchanged: int = 0
    removed: int = 0
    truncated: int = 0
    failed: int = 0

    def __add__(self, other: Generated) -> Generated:
        return Generated(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Batch(Struct, frozen=True):
    generated: Generated = Generated()
    document_ids: tuple[int, ...] = ()
    """Of those written: the threads of an entity often come after it, and then it is written twice."""

    def __add__(self, other: Batch) -> Batch:
        return Batch(self.generated + other.generated, self.document_ids + other.document_ids)


def bots(db: apsw.Connection, rules: Rules) -> subjects.Bots:
    return subjects.Bots(db, rules.bots, left_out=not rules.bot_notes)


def start_over(db: apsw.Connection) -> None:
    """Everything is to be made anew. Search goes on with what there is meanwhile."""
    documents.followed(db, 0)
    documents.forget_hashes(db)


def follow(db: apsw.Connection, rules: Rules, now: int, limit: int = BATCH) -> tuple[Batch, int]:
    """Take in the next changes, and what failed before and is due; what came of it, and how many changes are left."""
    left_out = bots(db, rules)
    done = Batch()
    changes = documents.changes(db, limit)
    for change in changes:
        done += _settle(db, rules, left_out, change.kind, change.entity_id, now)
    if changes:
        documents.followed(db, changes[-1].sequence)
    for kind, entity_id, _ in documents.due(db, now, limit) if len(changes) < limit else ():
        done += _settle(db, rules, left_out, kind, entity_id, now)
    left = documents.behind(db) if len(changes) == limit else 0
    if done.generated.entities and left == 0:
        lexical.refresh_common_words(db)
    return done, left


def _settle(db: apsw.Connection, rules: Rules, bots: subjects.Bots, kind: Kind, entity_id: int, now: int) -> Batch:
    """One entity's documents; a failure is noted and tried again later, and the others go on."""
    try:
        with transaction(db):
            done = _regenerate(db, rules, bots, kind, entity_id)
            documents.settled(db, kind, entity_id)
    except (LoreError, apsw.Error, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one text must not stop the others
        attempts = documents.attempts(db, kind, entity_id) + 1
        delay = min(_FIRST_DELAY_MS * 2 ** min(attempts - 1, 10), _LONGEST_DELAY_MS)
        documents.put_off(db, kind, entity_id, f"{type(error).__name__}: {error}", attempts, now + delay)
        return Batch(Generated(entities=1, failed=1))
    return done + Batch(Generated(entities=1))


def _regenerate(db: apsw.Connection, rules: Rules, bots: subjects.Bots, kind: Kind, entity_id: int) -> Batch:
    stored = documents.of_entity(db, kind, entity_id)
    subject = subjects.subject(db, kind, entity_id)
    if subject is None:
        return _remove(db, stored) if stored is not None else Batch()
    threads = list(subjects.threads(db, kind, entity_id, bots))
    made = [thread_document(subject, thread, rules.longest) for thread in threads]
    talk = "\n\n".join(note.body for thread in threads for note in thread.notes)
    entity = entity_document(subject, [path for document in made for path in document.paths])
    text = EntityText(subject.title, subject.description, talk)
    entity_id, done = _write(
        db, entity, stored, None, text.hash, lambda id_, known: lexical.put_entity(db, id_, text, known=known)
    )
    return done + _write_threads(db, made, entity_id)


def _write_threads(db: apsw.Connection, made: Sequence[Document], entity_document_id: int) -> Batch:
    before = documents.of_threads(db, entity_document_id)
    done = Batch()
    for document in made:
        body = document.body

        def index(document_id: int, known: bool, body: str = body) -> None:
            lexical.put_thread(db, document_id, body, known=known)

        stored = before.pop(document.source_id, None)
        done += _write(db, document, stored, entity_document_id, text_hash(body), index)[1]
    gone = [stored.id for stored in before.values()]
    lexical.remove(db, Table.THREADS, gone)
    documents.delete(db, gone)
    return done + Batch(Generated(removed=len(gone)))


def _write(
    db: apsw.Connection,
    document: Document,
    stored: Stored | None,
    entity_document_id: int | None,
    index_hash: bytes,
    index: Callable[[int, bool], None],
) -> tuple[int, Batch]:
    """A document where it differs from the stored one; its id, and what came of it."""
    if stored is None:
        _make_place(db, document)
        document_id = documents.insert(db, document, entity_document_id, index_hash)
    elif _same(stored, document, index_hash):
        if stored.updated_at != document.updated_at:
            documents.touch(db, stored.id, document.updated_at)
        return stored.id, Batch(Generated(unchanged=1))
    else:
        document_id = stored.id
        documents.update(db, stored, document, index_hash)
    if stored is None or stored.index_hash != index_hash:
        index(document_id, stored is not None)
    if stored is None or stored.content_hash != document.content_hash:
        documents.replace_passages(db, document_id, passages(document), document.updated_at)
    field = document.source_type.value + "s"
    done = structs.replace(Generated(truncated=document.truncation is not None), **{field: 1})
    return document_id, Batch(done, (document_id,))


def _make_place(db: apsw.Connection, document: Document) -> None:
    """The number of a thread that is gone may be another's by now, whose entity comes first in the feed."""
    foreign = documents.of_source(db, document.source_type, document.source_id)
    if foreign is not None:
        lexical.remove(db, Table.THREADS, [foreign])
        documents.delete(db, [foreign])


def _same(stored: Stored, document: Document, index_hash: bytes) -> bool:
    return (
        stored.content_hash == document.content_hash
        and stored.labels_hash == document.labels_hash
        and stored.paths_hash == document.paths_hash
        and stored.index_hash == index_hash
    )


def _remove(db: apsw.Connection, stored: Stored) -> Batch:
    threads = [thread.id for thread in documents.of_threads(db, stored.id).values()]
    lexical.remove(db, Table.ENTITIES, [stored.id])
    lexical.remove(db, Table.THREADS, threads)
    documents.delete(db, [*threads, stored.id])
    return Batch(Generated(removed=1 + len(threads)))
