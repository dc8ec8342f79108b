"""What embedders behind a server share: batches whose bad items don't spoil the good ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from msgspec import Struct

from loreline.embedding.embedder import Vector, checked
from loreline.embedding.http import Server, ServerFailed
from loreline.errors import EmbeddingFailed

_HARMLESS = "hello"
"""What any server that is well can embed."""

Ask = Callable[[Sequence[str]], list[object]]
"""The raw vectors of some texts, as the server gives them."""


class Prefixes(Struct, frozen=True):
    """What a model was trained to see in front of a text."""

    query: str
    document: str


def prefixes_in_name(name: str, prefixes: Prefixes) -> str:
    """They decide what a vector says, so they are a part of the embedder's name."""
    return f"{name}+{prefixes.query}|{prefixes.document}" if prefixes.query or prefixes.document else name


class RemoteEmbedder:
    def __init__(
        self,
        server: Server,
        name: str,
        ask: Ask,
        *,
        dimensions: int | None,
        batch: int,
        concurrency: int,
        prefixes: Prefixes,
    ) -> None:
        self.name = name
        self.least_cosine = 0.0
        self.batch = batch
        self.concurrency = concurrency
        self._server = server
        self._ask = ask
        self._dimensions = dimensions
        self._prefixes = prefixes
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        with self._lock:
            if self._dimensions is None:
                found = self._ask([f"{self._prefixes.document}{_HARMLESS}"])
                vector = found[0] if len(found) == 1 else None
                if not isinstance(vector, list) or not vector:
                    raise EmbeddingFailed(f"{self._server.address} gave no vector", hint="check embedding.model")
                self._dimensions = len(vector)
            return self._dimensions

    def documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailed]:
        return self._embed([_sendable(f"{self._prefixes.document}{text}") for text in texts])

    def query(self, text: str) -> Vector:
        (found,) = self._embed([_sendable(f"{self._prefixes.query}{text}")])
        if isinstance(found, EmbeddingFailed):
            raise found
        return found

    def _embed(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailed]:
        try:
            raw = self._ask(texts)
        except EmbeddingFailed as error:
            return self._one_by_one(texts, error)
        except ServerFailed as error:
            # llama.cpp answers 500 to a text that is too long: if a harmless one goes through, it is the text's fault.
            self._ask([f"{self._prefixes.document}{_HARMLESS}"])
            return self._one_by_one(texts, EmbeddingFailed(error.message, hint=error.hint))
        if len(raw) != len(texts):
            told = EmbeddingFailed(f"{self._server.address} gave {len(raw)} vectors for {len(texts)} texts")
            return self._one_by_one(texts, told)
        return [checked(values, self.dimensions) for values in raw]

    def _one_by_one(self, texts: Sequence[str], error: EmbeddingFailed) -> list[Vector | EmbeddingFailed]:
        """Which of a batch the server stumbles over: one text too long must not cost the others."""
        if len(texts) == 1:
            return [error]
        return [self._embed([text])[0] for text in texts]

    def close(self) -> None:
        self._server.close()


def _sendable(text: str) -> str:
    """Without lone surrogates, which JSON in UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
