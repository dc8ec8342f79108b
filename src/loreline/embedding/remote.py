"""What embedders behind a server share: batches whose bad items don't spoil the good ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from msgspec import Struct

from loreline.embedding.embedder import Vector, checked
from loreline.embedding.http import Server, ServerFailed
from loreline.errors import EmbeddingFailed

_HOPELESS = 4
"""So many failures of the server in a row are no text's fault."""

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
                (vector,) = self._ask([f"{self._prefixes.document}hello"])
                if not isinstance(vector, list) or not vector:
                    raise EmbeddingFailed(f"{self._server.address} gave no vector", hint="check embedding.model")
                self._dimensions = len(vector)
            return self._dimensions

    def documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailed]:
        return self._embed([f"{self._prefixes.document}{text}" for text in texts])

    def query(self, text: str) -> Vector:
        (found,) = self._embed([f"{self._prefixes.query}{text}"])
        if isinstance(found, EmbeddingFailed):
            raise found
        return found

    def _embed(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailed]:
        try:
            raw = self._ask(texts)
        except EmbeddingFailed as error:
            return self._one_by_one(texts, error)
        except ServerFailed as error:
            # llama.cpp answers 500 to a text that is too long: if others go through, it is the text's fault.
            if len(texts) == 1:
                raise
            return self._around_failures(texts, error)
        if len(raw) != len(texts):
            told = EmbeddingFailed(f"{self._server.address} gave {len(raw)} vectors for {len(texts)} texts")
            return self._one_by_one(texts, told)
        return [checked(values, self.dimensions) for values in raw]

    def _one_by_one(self, texts: Sequence[str], error: EmbeddingFailed) -> list[Vector | EmbeddingFailed]:
        """Which of a batch the server stumbles over: one text too long must not cost the others."""
        if len(texts) == 1:
            return [error]
        return [self._embed([text])[0] for text in texts]

    def _around_failures(self, texts: Sequence[str], error: ServerFailed) -> list[Vector | EmbeddingFailed]:
        found: list[Vector | EmbeddingFailed] = []
        for text in texts:
            try:
                found += self._embed([text])
            except ServerFailed as again:
                found.append(EmbeddingFailed(again.message, hint=again.hint))
                if len(found) >= _HOPELESS and all(isinstance(one, EmbeddingFailed) for one in found):
                    raise error from again
        if all(isinstance(one, EmbeddingFailed) for one in found):
            raise error
        return found

    def close(self) -> None:
        self._server.close()
