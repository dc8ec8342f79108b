"""What a process keeps from one search to the next: connections, the mapped vectors and the embedder."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw
from msgspec import Struct

from loreline.embedding import choice
from loreline.embedding.embedder import Embedder, Vector
from loreline.index.vectors import VectorIndex, open_index
from loreline.settings import Settings
from loreline.store import vectors
from loreline.store.connection import open_database, translated
from loreline.store.vectors import Space

T = TypeVar("T")

_WORKERS = 8
"""So many questions are embedded at once."""


class Reading(Struct, frozen=True):
    """One moment of the database, the same for all that is read in it."""

    db: apsw.Connection
    vectors: VectorIndex | None
    """None while nothing has been embedded."""


class Session:
    """May be used by many threads at once. Nothing is opened or loaded before it is needed."""

    def __init__(self, database: Path, connect: Callable[[str], Embedder], *, embeds: bool = True) -> None:
        """`connect` gives the embedder that made the vectors of a space, by its name."""
        self.embeds = embeds
        """Whether vectors are wanted at all."""
        self._database = database
        self._connect = connect
        self._lock = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._index: VectorIndex | None = None
        self._embedders: dict[str, Embedder] = {}
        self._connecting = threading.Lock()
        self._workers: ThreadPoolExecutor | None = None

    @contextlib.contextmanager
    def reading(self, *, with_vectors: bool) -> Iterator[Reading]:
        with self._lock:
            db = self._idle.pop() if self._idle else None
        if db is None:
            db = open_database(self._database)
        try:
            with translated(self._database):
                db.execute("BEGIN")
                try:
                    yield Reading(db, self._vectors(db) if with_vectors else None)
                finally:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
        except BaseException:
            db.close()
            raise
        with self._lock:
            self._idle.append(db)

    def _vectors(self, db: apsw.Connection) -> VectorIndex | None:
        space = vectors.active(db)
        if space is None:
            return None
        with self._lock:
            before = self._index
        index = open_index(db, self._database, space, before)
        if index is not before:
            with self._lock:
                self._index = index
        return index if len(index) else None

    def embed(self, space: Space, text: str) -> tuple[Vector, float]:
        """A question as a vector of that space, and the cosine below which nothing is alike in it."""
        embedder = self._embedder(space)
        return embedder.query(text), embedder.least_cosine

    def beside(self, work: Callable[[], T]) -> Future[T]:
        """Work that is done while something else is."""
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="search")
            return self._workers.submit(work)

    def _embedder(self, space: Space) -> Embedder:
        with self._connecting:
            if space.name not in self._embedders:
                self._embedders[space.name] = self._connect(space.name)
            return self._embedders[space.name]

    def close(self) -> None:
        with self._lock:
            for db in self._idle:
                db.close()
            self._idle.clear()
            self._index = None
        if self._workers is not None:
            self._workers.shutdown()
        for embedder in self._embedders.values():
            embedder.close()


def session_of(settings: Settings, environ: Mapping[str, str]) -> Session:
    """A session on the configured database; whoever asks closes it."""
    return Session(
        settings.database,
        lambda name: _connect(name, settings, environ),
        embeds=settings.embedding.provider != "none",
    )


def _connect(space_name: str, settings: Settings, environ: Mapping[str, str]) -> Embedder:
    return choice.of_space(space_name, settings.embedding, environ)
