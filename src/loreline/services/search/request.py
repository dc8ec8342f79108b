"""What is asked of search, and what it answers: the same for every face."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from loreline.core.documents import SourceType
from loreline.core.fusion import Part
from loreline.core.query import Filters
from loreline.core.ranking import Corpus

MOST = 100


class Mode(StrEnum):
    HYBRID = "hybrid"
    LEXICAL = "lexical"
    SEMANTIC = "semantic"


class Sort(StrEnum):
    RELEVANCE = "relevance"
    NEWEST = "newest"
    OLDEST = "oldest"


class Request(Struct, frozen=True, kw_only=True):
    text: str
    mode: Mode = Mode.HYBRID
    filters: Filters = Filters()
    sort: Sort = Sort.RELEVANCE
    limit: int = 20
    cursor: str | None = None
    group: bool = False
    """Threads stand under their issue or merge request, and not by themselves."""
    raw: bool = False
    """The text is FTS5's own syntax."""
    corpus: Corpus = Corpus.TALK
    """What the texts are: words and meaning count by it."""


class Snippet(Struct, frozen=True):
    """A few lines, with the places of the words that matched, in characters."""

    text: str
    marks: list[tuple[int, int]]
    note_id: int | None
    """GitLab's id of the note it is from; None: from a description."""
    url: str | None
    """Lands on that note."""


class Thread(Struct, frozen=True, kw_only=True):
    """A thread under its entity."""

    document_id: int
    author: str | None
    created_at: int
    resolved: bool | None
    snippet: Snippet


class Hit(Struct, frozen=True, kw_only=True):
    """An issue, a merge request or a thread of one."""

    type: SourceType
    document_id: int
    reference: str
    """`group/project#12`: itself, or for a thread the entity it is of."""
    project: str
    iid: int
    title: str
    state: str
    author: str | None
    created_at: int
    updated_at: int
    labels: list[str]
    confidential: bool
    url: str | None
    score: float
    """From 0 to 1 within this answer."""
    exact: bool
    """The query names it."""
    snippet: Snippet
    threads: list[Thread]
    explain: dict[str, Part]
    """What each retriever adds: `words`, `opening`, `passage`."""


class Suggestion(Struct, frozen=True, kw_only=True):
    """What would find more."""

    text: str
    """In words."""
    query: str | None = None
    """To ask instead."""
    without: str | None = None
    """The filter to leave out."""
    found: int | None = None
    """What there would be."""


class Answer(Struct, frozen=True, kw_only=True):
    query: str
    mode: Mode
    """How it was searched; lexical where vectors were not to be had."""
    results: list[Hit]
    next_cursor: str | None
    suggestions: list[Suggestion]
    warnings: list[str]
    left_out: list[str]
    """Words too common to be looked up."""
