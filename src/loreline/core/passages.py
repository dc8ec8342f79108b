"""Passages: slices of a document that are embedded and shown, cut at notes, paragraphs and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from loreline.core.documents import Document, text_hash
from loreline.core.markdown import Block, blocks

SLICER = "passages-1"
"""Names this way of slicing in the name of a vector space: another way makes other vectors."""

_LONGEST = 1_000
"""Characters, near 250 tokens: the bundled model reads 256, title included."""

_LEAST = 40
"""A rest shorter than this joins what stands before it."""

_MACHINE_LONGEST = 2
"""So many passages of one block of code, log, diff or table at each end; the rest is found by its words."""

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\s\"')\]]+|\n+")  # noqa: RUF001 - full-width marks end sentences too


class Passage(Struct, frozen=True):
    start: int
    """Characters of the document's content."""
    end: int
    note_id: int | None
    text_hash: bytes
    """Of what is embedded."""


def passages(document: Document) -> list[Passage]:
    """A document's passages in order; a title without any text is one too, empty, at the end of the header."""
    made = []
    for part in document.parts:
        text = document.content[part.start : part.end]
        for start, end in slices(text):
            made.append((part.start + start, part.start + end, part.note_id))
    if not made:
        made.append((document.body_start, document.body_start, None))
    return [
        Passage(start, end, note_id, text_hash(embedded_text(document.title, document.content[start:end])))
        for start, end, note_id in made
    ]


def embedded_text(title: str, text: str) -> str:
    """What of a passage is embedded: its title stands in front, for a slice seldom names its subject."""
    return f"{title}\n\n{text}" if text else title


def slices(text: str) -> Iterator[tuple[int, int]]:
    """Slices of a text, none longer than a passage may be."""
    pending: tuple[int, int] | None = None
    for start, end in _pieces(text):
        if pending is not None and end - pending[0] <= _LONGEST and not text[pending[1] : start].strip():
            pending = (pending[0], end)
            continue
        if pending is not None:
            yield pending
        pending = (start, end)
    if pending is not None:
        yield pending


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    for block in blocks(text):
        if block.kind.is_prose:
            for start, end in _paragraphs(text, block):
                yield from _fitting(text, start, end)
        else:
            cuts = list(_fitting(text, *_trimmed(text, block.start, block.end)))
            if len(cuts) > 2 * _MACHINE_LONGEST:
                cuts = cuts[:_MACHINE_LONGEST] + cuts[-_MACHINE_LONGEST:]
            yield from cuts


_BLANK_LINES = re.compile(r"\n[ \t\r]*\n\s*")


def _paragraphs(text: str, block: Block) -> Iterator[tuple[int, int]]:
    start = block.start
    for gap in _BLANK_LINES.finditer(text, block.start, block.end):
        yield from _nonempty(text, start, gap.start())
        start = gap.end()
    yield from _nonempty(text, start, block.end)


def _nonempty(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    start, end = _trimmed(text, start, end)
    if start < end:
        yield start, end


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _fitting(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A paragraph whole, or cut after sentences, else after words, else anywhere."""
    while end - start > _LONGEST:
        cut = _last_cut(text, start, start + _LONGEST)
        if end - cut < _LEAST:
            cut = max(end - _LEAST, start + _LONGEST // 2)
        yield from _nonempty(text, start, cut)
        start = cut
    yield from _nonempty(text, start, end)


def _last_cut(text: str, start: int, limit: int) -> int:
    half = start + _LONGEST // 2
    ends = [match.end() for match in _SENTENCE_END.finditer(text, half, limit)]
    if ends:
        return ends[-1]
    space = text.rfind(" ", half, limit)
    return space + 1 if space > 0 else limit
