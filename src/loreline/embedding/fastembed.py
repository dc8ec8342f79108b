"""Embeddings from the fastembed library, an optional extra. It is never let to fetch a model by itself."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from loreline.embedding.embedder import Vector, checked
from loreline.errors import ConfigInvalid, EmbedderUnavailable, EmbeddingFailed
from loreline.settings import Embedding

MODEL = "BAAI/bge-small-en-v1.5"


class FastEmbedder:
    def __init__(self, settings: Embedding) -> None:
        try:
            from fastembed import TextEmbedding  # noqa: PLC0415 - an optional extra
        except ImportError as error:
            raise ConfigInvalid(
                'the provider "fastembed" needs the extra of that name', hint="pip install 'loreline[fastembed]'"
            ) from error
        model = settings.model or MODEL
        try:
            self._model: Any = TextEmbedding(model, threads=settings.threads or None, local_files_only=True)
        except Exception as error:  # the library raises whatever its own parts raise
            raise EmbedderUnavailable(
                f"fastembed has no model {model} on this machine ({type(error).__name__})",
                hint="fetch it once with fastembed itself; Loreline downloads nothing",
            ) from error
        self.name = f"fastembed:{model}"
        self.least_cosine = 0.0
        self.batch = settings.batch
        self.concurrency = 1
        self._lock = threading.Lock()
        self.dimensions = len(next(iter(self._model.embed(["hello"]))))

    def documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailed]:
        with self._lock:
            found = list(self._model.passage_embed(list(texts)))
        return [checked(vector, self.dimensions) for vector in found]

    def query(self, text: str) -> Vector:
        with self._lock:
            (vector,) = self._model.query_embed([text])
        found = checked(vector, self.dimensions)
        if isinstance(found, EmbeddingFailed):
            raise found
        return found

    def close(self) -> None:
        """Nothing is held open."""
