"""What every embedder offers, and what a good answer of one looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from loreline.errors import EmbeddingFailed

Vector = NDArray[np.float32]

BUNDLED_NAME = "bundled:all-MiniLM-L6-v2"


class Embedder(Protocol):
    """Makes vectors of unit length. Safe to be used from several threads at once."""

    @property
    def name(self) -> str:
        """Provider and model, as they stand in the name of a vector space."""
        ...

    @property
    def dimensions(self) -> int:
        """Known once asked; a server is asked for one vector."""
        ...

    @property
    def batch(self) -> int:
        """How many texts are best given at once."""
        ...

    @property
    def concurrency(self) -> int:
        """How many calls are best made at once."""
        ...

    @property
    def least_cosine(self) -> float:
        """Of a question and a text: below it they have nothing to do with each other; 0 where that is not known."""
        ...

    def documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailed]:
        """One for each text: its vector, or why there is none. Raises where none can be had at all."""
        ...

    def query(self, text: str) -> Vector:
        """The vector to look for."""
        ...

    def close(self) -> None: ...


def checked(values: object, dimensions: int) -> Vector | EmbeddingFailed:
    """A vector as it came, made of unit length; or what is wrong with it."""
    try:
        with np.errstate(all="ignore"):
            vector = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        return EmbeddingFailed("the embedder answered with something that is no vector")
    if vector.shape != (dimensions,):
        got = "x".join(str(length) for length in vector.shape) or "no"
        return EmbeddingFailed(
            f"the embedder gave {got} dimensions where {dimensions} are expected",
            hint="if the model has changed, run lore embed --full",
        )
    length = float(np.sqrt(np.dot(vector, vector)))
    if not np.isfinite(length) or length == 0.0:
        return EmbeddingFailed("the embedder gave a vector without direction (NaN, infinite or all zeros)")
    return vector / np.float32(length)
