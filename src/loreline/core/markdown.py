"""What the lines of a Markdown text are: prose that somebody wrote, or what a machine put out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from msgspec import Struct


class BlockKind(Enum):
    PROSE = "prose"
    CODE = "code"
    DIFF = "diff"
    LOG = "log"
    TABLE = "table"

    @property
    def is_prose(self) -> bool:
        return self is BlockKind.PROSE


class Block(Struct, frozen=True):
    """A run of whole lines of one kind, as a slice of the text."""

    kind: BlockKind
    start: int
    end: int


_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")
_HUNK = re.compile(r"^(?:@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|diff --git |--- \S|\+\+\+ \S)")
_LOG = re.compile(
    r"^\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[.,\]\s]|"
    r"(?:\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\]?[\s:])|"
    r"at [\w.$<>]+\(|File \"[^\"]+\", line \d+|#\d+\s+0x[0-9a-f]+|0x[0-9a-f]{6,}|\w{3} [ \d]\d \d\d:\d\d:\d\d )",
    re.IGNORECASE,
)
_LOG_RUN = 6
"""So many log lines in a row, unfenced, are a log; fewer are somebody quoting one."""


def blocks(text: str) -> Iterator[Block]:
    """The text cut at its lines, whole: each block ends where the next begins."""
    if not _may_hold_machine_text(text):
        if text:
            yield Block(BlockKind.PROSE, 0, len(text))
        return
    pending: Block | None = None
    for block in _marked(text):
        if pending is not None and pending.kind is block.kind:
            pending = Block(block.kind, pending.start, block.end)
            continue
        if pending is not None:
            yield pending
        pending = block
    if pending is not None:
        yield pending


def _may_hold_machine_text(text: str) -> bool:
    return "```" in text or "~~~" in text or "|" in text or "@@" in text or text.count("\n") >= _LOG_RUN


def _marked(text: str) -> Iterator[Block]:
    lines = list(_lines(text))
    at = 0
    while at < len(lines):
        start, end = lines[at]
        line = text[start:end]
        fence = _FENCE.match(line)
        if fence is not None:
            last = _fence_end(text, lines, at, fence[1])
            inside = text[end : lines[last][1]]
            yield Block(_fenced_kind(fence[2].lower(), inside), start, lines[last][1])
            at = last + 1
            continue
        kind, last = _run(text, lines, at)
        yield Block(kind, start, lines[last][1])
        at = last + 1


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line, its line break included."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1
        if end == 0:
            end = len(text)
        yield start, end
        start = end


def _fence_end(text: str, lines: list[tuple[int, int]], at: int, mark: str) -> int:
    """The line that closes a fence, or the last of the text."""
    closing = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\r?\n?$")
    for number in range(at + 1, len(lines)):
        if closing.match(text[slice(*lines[number])]):
            return number
    return len(lines) - 1


def _fenced_kind(language: str, inside: str) -> BlockKind:
    if language in {"diff", "patch"} or _HUNK.match(inside):
        return BlockKind.DIFF
    shown = inside.splitlines()
    if language in {"log", "logs", "console", "text", "txt", "output", "trace", "stacktrace"} or (
        len(shown) >= _LOG_RUN and sum(1 for line in shown if _LOG.match(line)) * 3 >= len(shown)
    ):
        return BlockKind.LOG
    return BlockKind.CODE


def _run(text: str, lines: list[tuple[int, int]], at: int) -> tuple[BlockKind, int]:
    """What the lines from here on are, outside of fences, and the last of them."""
    tests = ((BlockKind.TABLE, _TABLE, 3), (BlockKind.LOG, _LOG, _LOG_RUN))
    for kind, test, least in tests:
        last = at
        while last < len(lines) and test.match(text[slice(*lines[last])]):
            last += 1
        if last - at >= least:
            return kind, last - 1
    if _HUNK.match(text[slice(*lines[at])]):
        last = at
        while last + 1 < len(lines) and text[lines[last + 1][0] : lines[last + 1][0] + 1] in ("+", "-", " ", "@", "\\"):
            last += 1
        if last - at >= 3:
            return BlockKind.DIFF, last
    return BlockKind.PROSE, at
