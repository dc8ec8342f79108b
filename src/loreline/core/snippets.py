"""A few lines of a passage, cut where the asked-for words stand, with these marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

_LENGTH = 220
_SPACES = re.compile(r"\s+")
_FENCE = re.compile(r"(?m)^[ \t]*(?:`{3,}|~{3,}).*$")

Span = tuple[int, int]


class Snippet(Struct, frozen=True):
    text: str
    marks: list[Span]
    """Start and end of each matched word, in characters of the text."""


def cut(text: str, find: Callable[[str], Sequence[Span]], length: int = _LENGTH) -> Snippet:
    """The stretch with the most different marks; `find` tells where the words stand in a text on one line."""
    line = _SPACES.sub(" ", _FENCE.sub(" ", text)).strip()
    spans = _joined(line, find(line))
    if len(line) <= length:
        return Snippet(line, spans)
    start = _best_start(line, spans, length)
    end = min(start + length, len(line))
    if start > 0:
        space = line.find(" ", start, start + 20)
        start = space + 1 if space >= 0 else start
    if end < len(line):
        space = line.rfind(" ", end - 20, end)
        end = space if space > start else end
    before, after = "… " if start else "", " …" if end < len(line) else ""
    shift = len(before) - start
    marks = [(first + shift, last + shift) for first, last in spans if first >= start and last <= end]
    return Snippet(f"{before}{line[start:end]}{after}", marks)


def _joined(line: str, spans: Sequence[Span]) -> list[Span]:
    """Parts of one name are one mark: `oauth` and `py` in `oauth.py`."""
    made: list[Span] = []
    for start, end in spans:
        if made and start <= made[-1][1] + 1 and " " not in line[made[-1][1] : start]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((start, end))
    return made


def _best_start(line: str, spans: Sequence[Span], length: int) -> int:
    """Where a window begins that shows the most different words, a little before the first of them."""
    best, best_count = 0, -1
    for at, (first, _) in enumerate(spans):
        inside = {line[one:two].lower() for one, two in spans[at:] if two <= first + length - 40}
        if len(inside) > best_count:
            best, best_count = max(0, first - 40), len(inside)
    return min(best, max(0, len(line) - length))
