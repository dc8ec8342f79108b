"""Blame: which commit a line comes from, where it stood there, and what was there before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from loreline.errors import NotFound
from loreline.git.program import Failure
from loreline.git.repository import Repository, blob, present

IGNORED_FILE = ".git-blame-ignore-revs"


class Line(Struct, frozen=True):
    """A line of a file, as the commit it comes from has it."""

    number: int
    """In the file that was asked for."""
    text: str
    sha: str
    original_path: str
    original_number: int
    summary: str
    author: str
    author_email: str
    authored_at: int
    """In ms."""
    previous: tuple[str, str] | None
    """The commit before it that has the file, and the file's path there; None where it begins."""
    boundary: bool
    """The history is cut off there: it may be older."""


def blame(
    repository: Repository, commit: str, path: str, first: int, last: int, ignored: Sequence[str] = ()
) -> list[Line]:
    """Lines `first` to `last`, through renames, moves and copies, past whitespace and the `ignored` commits."""
    passed = [word for sha in ignored for word in ("--ignore-rev", sha)]
    try:
        told = repository.git.ask(
            "blame", "--line-porcelain", "-w", "-M", "-C", "--no-textconv", *passed, "-L", f"{first},{last}", commit,
            "--", path,
        )  # fmt: skip
    except Failure as failure:
        raise _named(failure, commit, path) from failure
    return list(_parsed(told))


def ignored_commits(repository: Repository, commit: str, listed: bytes | None = None) -> list[str]:
    """The commits that only change how the code looks, by a list of them or the repository's own; those it has."""
    content = listed if listed is not None else blob(repository, commit, IGNORED_FILE)
    lines = (content or b"").decode("utf-8", "replace").splitlines()
    named = [match[0].lower() for line in lines if (match := _SHA.match(line.partition("#")[0].strip()))]
    there = present(repository, named)
    return [sha for sha in dict.fromkeys(named) if sha in there]


_SHA = re.compile(r"(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})\Z")
_HEAD = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?\Z")


def _parsed(told: bytes) -> Iterator[Line]:
    fields: dict[bytes, bytes] = {}
    head = None
    for raw in told.split(b"\n"):
        if head is None:
            head = _HEAD.match(raw)
            fields = {}
        elif raw.startswith(b"\t"):
            before = fields.get(b"previous", b"").partition(b" ")
            yield Line(
                number=int(head[3]),
                text=_text(raw[1:]),
                sha=head[1].decode(),
                original_path=_text(_unquoted(fields.get(b"filename", b""))),
                original_number=int(head[2]),
                summary=_text(fields.get(b"summary", b"")),
                author=_text(fields.get(b"author", b"")),
                author_email=_text(fields.get(b"author-mail", b"").strip(b"<>")),
                authored_at=int(fields.get(b"author-time", b"0")) * 1000,
                previous=(before[0].decode(), _text(_unquoted(before[2]))) if before[0] else None,
                boundary=b"boundary" in fields,
            )
            head = None
        else:
            name, _, value = raw.partition(b" ")
            fields[name] = value


_ESCAPES = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"r": b"\r"}


def _unquoted(path: bytes) -> bytes:
    """Git puts a path with controls or quotes in it into quotes of its own."""
    if not (path.startswith(b'"') and path.endswith(b'"') and len(path) > 1):
        return path

    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return _ESCAPES.get(code) or bytes([int(code, 8) & 0xFF])

    return re.sub(rb"\\([0-7]{3}|.)", plain, path[1:-1])


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _named(failure: Failure, commit: str, path: str) -> NotFound:
    if "no such path" in failure.said:
        return NotFound(f"{path} is not in {commit[:12]}", hint="check how it is written, or name a commit that has it")
    if match := re.search(r"has only (\d+) lines?", failure.said):
        return NotFound(f"{path} has {match[1]} lines in {commit[:12]}", hint=f"name a line from 1 to {match[1]}")
    said = failure.said.splitlines()[0] if failure.said else f"exit code {failure.code}"
    return NotFound(f"git blame can't tell about {path}: {said}", hint="git fsck may say more")
