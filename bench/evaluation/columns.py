"""The rankings that are compared: words alone, vectors alone, plain reciprocal ranks of both, and ours."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

import apsw
import numpy as np

from bench.evaluation.judging import DEPTH
from bench.evaluation.sets import Answer, Question, Set
from loreline.core.documents import SourceType
from loreline.core.entities import Kind
from loreline.core.fusion import ordered, reciprocal_ranks
from loreline.core.query import Filters
from loreline.services.search.asking import search
from loreline.services.search.request import Mode, Request
from loreline.services.search.session import Session, session_of
from loreline.settings import Settings
from loreline.store import subjects, vectors
from loreline.store.connection import open_database

Ranking = list[Answer]
_DEEP = 1_000
_NOW = 1_767_225_600_000
"""A fixed moment: nothing in these questions is relative to today."""


class Rankers:
    """All four columns over one set."""

    def __init__(self, judged: Set) -> None:
        self._settings = Settings(database=judged.database)
        self._session = session_of(self._settings, {})
        self._db = open_database(judged.database)
        self._answers = _answers(self._db)
        self._corpus = judged.corpus
        self._bm25 = PlainWords(self._db)
        self._vectors = PlainVectors(self._db, self._session)
        self.seconds: list[float] = []
        """How long each of our own answers took."""

    def rank(self, question: Question) -> dict[str, Ranking]:
        allowed = {
            document
            for document, answer in self._answers.items()
            if answer != question.leave_out and question.source_type in (None, answer[0])
        }
        words = self._bm25.ranking(question.text, allowed)
        near = self._vectors.ranking(question.text, allowed)
        both = [document for document, _ in reciprocal_ranks([words, near])]
        plain = {"BM25 alone": words, "vectors alone": near, "RRF of both": both}
        told = {name: [self._answers[one] for one in found[:DEPTH]] for name, found in plain.items()}
        return told | {"ours": self._ours(question)}

    def _ours(self, question: Question) -> Ranking:
        filters = Filters(source_type=question.source_type)
        request = Request(text=question.text, filters=filters, limit=DEPTH + 1, group=True, corpus=self._corpus)
        begun = time.perf_counter()
        answer = search(self._session, request, _NOW)
        self.seconds.append(time.perf_counter() - begun)
        if answer.mode is not Mode.HYBRID and answer.warnings:
            raise RuntimeError(answer.warnings[0])
        found = [(hit.type, hit.reference) for hit in answer.results]
        return [one for one in found if one != question.leave_out][:DEPTH]

    def close(self) -> None:
        self._session.close()
        self._db.close()


def _answers(db: apsw.Connection) -> dict[int, Answer]:
    """What each entity's document is."""
    rows = db.execute(
        "SELECT d.id, d.source_type, p.path_with_namespace, coalesce(i.iid, m.iid) FROM documents d"
        " JOIN projects p ON p.id = d.project_id"
        " LEFT JOIN issues i ON d.source_type = 'issue' AND i.id = d.source_id"
        " LEFT JOIN merge_requests m ON d.source_type = 'merge_request' AND m.id = d.source_id"
        " WHERE d.entity_document_id = d.id"
    )
    return {document: (SourceType(kind), f"{path}{Kind(kind).sigil}{iid}") for document, kind, path, iid in rows}


class PlainWords:
    """One FTS5 table of title and everything said, any word, the title weighted five times."""

    def __init__(self, db: apsw.Connection) -> None:
        self._words = apsw.Connection(":memory:")
        self._words.execute("CREATE VIRTUAL TABLE texts USING fts5(title, body, tokenize = 'porter unicode61')")
        entities = db.execute(
            "SELECT id, source_type, source_id FROM documents WHERE entity_document_id = id"
        ).fetchall()
        bots = subjects.Bots(db, (), left_out=False)
        with self._words:
            for document, kind, source in entities:
                subject = subjects.subject(db, Kind(kind), source)
                assert subject is not None
                said = [note.body for one in subjects.threads(db, Kind(kind), source, bots) for note in one.notes]
                self._words.execute(
                    "INSERT INTO texts (rowid, title, body) VALUES (?, ?, ?)",
                    (document, subject.title, "\n".join([subject.description, *said])),
                )

    def ranking(self, text: str, allowed: set[int]) -> list[int]:
        words = dict.fromkeys(re.findall(r"\w+", text))
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        rows = self._words.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 5.0, 1.0)", (match,)
        ).fetchall()
        return [row[0] for row in rows if row[0] in allowed][:_DEEP]


class PlainVectors:
    """The cosine of the title and first passage."""

    def __init__(self, db: apsw.Connection, session: Session) -> None:
        space = vectors.active(db)
        assert space is not None, "the set is not embedded"
        found = [
            (document, np.frombuffer(components, np.int8) * np.float32(scale))
            for _, entity, document, _, position, scale, components in vectors.rows_up_to(
                db, space, vectors.last_id(db, space)
            )
            if document == entity and position == 0
        ]
        self._documents = [document for document, _ in found]
        self._vectors = np.array([vector for _, vector in found], np.float32)
        self._embed: Callable[[str], np.ndarray] = lambda text: session.embed(space, text)[0]

    def ranking(self, text: str, allowed: set[int]) -> list[int]:
        if not text.strip():
            return []
        found = zip(self._documents, (self._vectors @ self._embed(text)).tolist(), strict=True)
        return [document for document, _ in ordered({one: score for one, score in found if one in allowed})][:_DEEP]


def names() -> Sequence[str]:
    return ("BM25 alone", "vectors alone", "RRF of both", "ours")
