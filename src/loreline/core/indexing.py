"""What of a text goes into the lexical index."""

from __future__ import annotations

import re

from loreline.core.markdown import blocks

_WHOLE = 4_000
"""A block of code, log, diff or table up to so many characters is indexed as it is."""

_END = 1_500
_WORD = re.compile(r"[^\W_]\S*")


def indexed_text(text: str) -> str:
    """Prose whole; of a long machine text its head and tail, and every other word of it once.

    All of it can still be found, an error code in the middle too. But five thousand lines of log no longer make a
    thread so long that BM25 takes everything said in it for a passing remark.
    """
    if len(text) <= _WHOLE:
        return text
    return "".join(
        text[block.start : block.end]
        if block.kind.is_prose or block.end - block.start <= _WHOLE
        else _condensed(text[block.start : block.end])
        for block in blocks(text)
    )


def _condensed(text: str) -> str:
    head, middle, tail = text[:_END], text[_END:-_END], text[-_END:]
    return f"{head}\n{' '.join(dict.fromkeys(_WORD.findall(middle)))}\n{tail}"
