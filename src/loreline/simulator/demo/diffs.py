"""The diffs of merge requests as GitLab gives them, and the place of a line in one."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from loreline.simulator.demo.repository import History, git

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_MODES = re.compile(r"^(?:old mode|new mode|new file mode|deleted file mode) (\d+)$|^index \S+ (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileDiff:
    old_path: str
    new_path: str
    text: str
    new_file: bool
    renamed_file: bool
    deleted_file: bool
    mode: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a diff: the number on a side is None where it does not stand there."""

    old_path: str
    new_path: str
    old_line: int | None
    new_line: int | None
    line_code: str
    text: str


def diff_between(history: History, base: str, head: str) -> tuple[FileDiff, ...]:
    output = git(
        history.directory, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index", "--no-relative",
        "--diff-algorithm=myers", "--unified=3", "--find-renames=50%", "--src-prefix=a/", "--dst-prefix=b/",
        "--end-of-options", base, head,
    )  # fmt: skip
    pieces = re.split(r"^diff --git ", output, flags=re.MULTILINE)[1:]
    return tuple(_file_diff(piece) for piece in pieces)


def find_line(diffs: tuple[FileDiff, ...], path: str, needle: str, *, removed: bool) -> Line:
    """The one added or unchanged (or, if asked for, removed) line of a file's diff that holds `needle`."""
    found = [
        line
        for diff in diffs
        if path in (diff.old_path, diff.new_path)
        for line in _lines(diff)
        if needle in line.text and (line.new_line is None) == removed
    ]
    if len(found) != 1:
        raise ValueError(f"{len(found)} lines of the diff of {path} hold {needle!r}")
    return found[0]


def _file_diff(piece: str) -> FileDiff:
    header, at, hunks = piece.partition("\n@@")
    names = re.fullmatch(r"a/(\S+) b/(\S+)", header.splitlines()[0])
    if names is None:
        raise ValueError(f"no file names in {header!r}")
    modes = [first or second for first, second in _MODES.findall(header)]
    return FileDiff(
        old_path=names[1],
        new_path=names[2],
        text=(at + hunks).lstrip("\n"),
        new_file="\nnew file mode" in header,
        renamed_file="\nrename from" in header,
        deleted_file="\ndeleted file mode" in header,
        mode=modes[0] if modes else "100644",
    )


def _lines(diff: FileDiff) -> list[Line]:
    lines: list[Line] = []
    old = new = 0
    name = hashlib.sha1(diff.new_path.encode()).hexdigest()
    for raw in diff.text.splitlines():
        hunk = _HUNK.match(raw)
        if hunk is not None:
            old, new = int(hunk[1]), int(hunk[2])
            continue
        sign, text = raw[:1], raw[1:]
        if sign == "\\":
            continue
        code = f"{name}_{old}_{new}"
        old_line = None if sign == "+" else old
        new_line = None if sign == "-" else new
        lines.append(Line(diff.old_path, diff.new_path, old_line, new_line, code, text))
        old += old_line is not None
        new += new_line is not None
    return lines
