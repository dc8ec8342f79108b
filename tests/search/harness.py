"""A small project on a simulated GitLab, its mirror, and searches as any face makes them."""

import asyncio
import contextlib

import apsw
from msgspec import structs
from tests.integration.harness import ENVIRON, query, settings, ticking
from tests.lore import Lore

from loreline.core.entities import Note, NotePosition, Project, Thread, User
from loreline.services.mirror.sync import Options, run_sync
from loreline.services.runs.progress import Silent
from loreline.services.search import asking, embedding, generating, refreshing
from loreline.services.search.request import Mode, Request
from loreline.services.search.session import Session
from loreline.settings import Documents, Embedding
from loreline.simulator import DEFAULT_TOKEN
from loreline.store import changes, projects, threads
from loreline.store.connection import open_database, transaction
from loreline.store.threads import ThreadRow

NOW = 1_740_830_400_000
"""2025-03-01T12:00:00Z, where the clock of every world here begins."""

RULES = generating.rules_of(Documents())


class Mirror:
    """What of a simulated project is mirrored and can be searched, in a folder of its own."""

    def __init__(self, folder, served, world, model, **documents):
        self.database, self.world, self.model = folder / "mirror.db", world, model
        self.settings = structs.replace(
            settings(self.database, served.url), documents=Documents(**documents), embedding=Embedding(threads=1)
        )
        self.lore = Lore(folder, {"GITLAB_TOKEN": DEFAULT_TOKEN})
        self.lore.configure(served.url, ["team/app"], provider="bundled")

    def sync(self, *, documents=True, vectors=True, **options):
        """One sync in this process, ten minutes after whatever was done last."""
        self.world.clock.advance(600)
        beside = refreshing.beside_sync(self.settings, ENVIRON, documents=documents, vectors=vectors)

        async def bounded():
            async with asyncio.timeout(60):
                return await run_sync(self.settings, ENVIRON, Options(**options), ticking(self.world), Silent(), beside)

        report = asyncio.run(bounded())
        assert report.failures == []
        assert report.warnings == []
        return report

    def search(self, text, mode=Mode.HYBRID, **how):
        return search(self.database, self.model, text, mode=mode, **how)

    def found(self, text, mode=Mode.LEXICAL, **how):
        """What a search finds: `issue 1`, or `discussion 1` for a thread of #1 or !1."""
        return {f"{hit.type} {hit.iid}" for hit in self.search(text, mode, **how).results}

    def query(self, sql, *values):
        return query(self.database, sql, *values)

    def contents(self):
        return contents(self.database)

    def ids(self):
        return {name: self.query(f"SELECT * FROM {name} ORDER BY 1, 2") for name in WRITTEN}


WRITTEN = ("documents", "document_texts", "document_labels", "document_paths", "passages", "vectors")


def search(database, model, text, *, now=NOW, **how):
    """One search as a process of its own would make it."""
    with searching(database, model) as session:
        return asking.search(session, Request(text=text, **how), now)


@contextlib.contextmanager
def searching(database, model):
    session = Session(database, lambda _name: model)
    try:
        yield session
    finally:
        session.close()


def all_found(session, text, *, limit=100, **how):
    """Every result, page by page."""
    found, cursor = [], None
    while True:
        answer = asking.search(session, Request(text=text, limit=limit, cursor=cursor, **how), NOW)
        found += answer.results
        cursor = answer.next_cursor
        if cursor is None:
            return found


@contextlib.contextmanager
def opened(database, *, create=False):
    db = open_database(database, create=create)
    try:
        yield db
    finally:
        db.close()


def follow_all(db):
    """Documents of all that is mirrored."""
    left = 1
    while left:
        with transaction(db):
            _, left = generating.follow(db, RULES, NOW, 500)


def embed_all(db, model):
    """Vectors of all that waits; the space they are in."""
    with transaction(db):
        space = embedding.open_space(db, model.name, model.dimensions, NOW)
    while True:
        with transaction(db):
            portion = embedding.take(db, space, NOW, 1_000)
            embedding.keep(db, space, portion.passages, model.documents(portion.texts), NOW)
        if not portion.passages and not portion.reused:
            return space


# ── a mirror written without a GitLab ───────────────────────────────────────────────────────────────────


def local_project(db, gitlab_id=1, path="team/app"):
    instance = projects.instance_id(db, "https://gitlab.example.com")
    return projects.upsert(db, instance, Project(gitlab_id=gitlab_id, path=path, name=path.rpartition("/")[2]))


def write_threads(db, key, *conversations):
    """The threads of an issue or merge request: each a list of (author, when, text), with a file's path behind it."""
    rows = []
    for place, comments in enumerate(conversations):
        notes = []
        for number, (author, at, body, *path) in enumerate(comments):
            where = NotePosition("text", None, None, None, path[0], path[0], None, 1, None, None) if path else None
            person = User(sum(author.encode()), author, author)
            notes.append(
                Note(
                    gitlab_id=key.gitlab_id * 1_000 + place * 100 + number, type="DiscussionNote", body=body,
                    author=person, created_at=at, updated_at=at, is_system=False, internal=False, resolvable=False,
                    resolved=False, resolved_by=None, resolved_at=None, commit_id=None, position=where,
                )
            )  # fmt: skip
        thread = Thread(f"{key.kind.value[0]}{key.gitlab_id}-{place}", individual_note=False, notes=tuple(notes))
        rows.append(ThreadRow(thread, place, repr(comments).encode(), 0))
    with transaction(db):
        threads.write(db, key, rows, threads.stored(db, key), [])
        changes.upserted(db, key.kind, key.id)


# ── contents ────────────────────────────────────────────────────────────────────────────────────────────

_NAME = (
    "(SELECT d.source_type || ' ' || coalesce(i.gitlab_id, m.gitlab_id, t.gitlab_discussion_id)"
    " FROM documents d LEFT JOIN issues i ON d.source_type = 'issue' AND i.id = d.source_id"
    " LEFT JOIN merge_requests m ON d.source_type = 'merge_request' AND m.id = d.source_id"
    " LEFT JOIN discussions t ON d.source_type = 'discussion' AND t.id = d.source_id WHERE d.id = {0})"
)

_CONTENTS = {
    "documents": f"SELECT {_NAME.format('o.id')}, {_NAME.format('o.entity_document_id')}, author_username, label_names,"
    " created_at, updated_at, url, title, content_hash, labels_hash, paths_hash, index_hash, is_truncated,"
    " truncated_reason, content_text, body_start FROM documents o JOIN document_texts x ON x.document_id = o.id",
    "labels": f"SELECT {_NAME.format('document_id')}, label_name FROM document_labels",
    "paths": f"SELECT {_NAME.format('document_id')}, path FROM document_paths",
    "passages": f"SELECT {_NAME.format('document_id')}, position, note_id, text_start, text_end, text_hash"
    " FROM passages",
    "vectors": f"SELECT {_NAME.format('p.document_id')}, p.position, s.name, s.is_active, v.text_hash"
    " FROM vectors v JOIN passages p ON p.id = v.passage_id JOIN spaces s ON s.id = v.space_id",
    "waiting": "SELECT count(*) FROM pending_embeddings",
    "failed": "SELECT * FROM dirty_sources",
    "behind": "SELECT count(*) FROM changes WHERE sequence > (SELECT max(sequence) FROM feed_followers)",
    "entity words": f"SELECT {_NAME.format('doc')}, term, col, offset FROM temp.entity_words",
    "thread words": f"SELECT {_NAME.format('doc')}, term, col, offset FROM temp.thread_words",
}


def contents(database):
    """All that search goes by, by GitLab's ids: name → sorted rows, without local ids."""
    with contextlib.closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        db.execute("CREATE VIRTUAL TABLE temp.entity_words USING fts5vocab('main', 'entities_fts', 'instance')")
        db.execute("CREATE VIRTUAL TABLE temp.thread_words USING fts5vocab('main', 'threads_fts', 'instance')")
        return {name: sorted(db.execute(sql).fetchall(), key=repr) for name, sql in _CONTENTS.items()}


def differences(one, other):
    """The names under which two contents differ, each with a few of the rows that only one of them has."""
    return {
        name: ([row for row in one[name] if row not in other[name]][:3], [r for r in other[name] if r not in one[name]])
        for name in one
        if one[name] != other[name]
    }
