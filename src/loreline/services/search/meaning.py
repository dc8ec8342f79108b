"""How near everything is to a question, worked out while its words are looked up."""

from __future__ import annotations

from msgspec import Struct

from loreline.errors import EmbedderUnavailable, LoreError
from loreline.index.vectors import Matches, VectorIndex
from loreline.services.search.session import Session


class Near(Struct, frozen=True):
    matches: Matches
    least: float
    """The cosine below which nothing is alike."""


class Meaning:
    """Of one question. Asking it waits for the answer, the first time."""

    def __init__(self, session: Session, index: VectorIndex, prose: str, *, alone: bool) -> None:
        """`alone`: there are no words to fall back on."""
        self._alone = alone

        def near() -> Near:
            vector, least = session.embed(index.space, prose)
            return Near(index.search(vector), 0.0 if alone else least)

        self._coming = session.beside(near)
        self._near: Near | None = None
        self._asked = False
        self.warning: str | None = None

    def __call__(self) -> Near | None:
        """None, with a warning, where the question can't be embedded and words have to do."""
        if self._asked:
            return self._near
        try:
            self._near = self._coming.result()
        except LoreError as error:
            if self._alone:
                raise EmbedderUnavailable(
                    f"the question could not be embedded: {error.message}", hint=error.hint or "try --mode lexical"
                ) from error
            self.warning = f"searched by words alone, for the question could not be embedded: {error.message}"
        self._asked = True
        return self._near


def unknown() -> Near | None:
    """Of a question that is asked by its words alone."""
    return None
