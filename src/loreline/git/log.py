"""Commits of a clone: what they say of themselves, and by which merge they came into a branch."""

from __future__ import annotations

from msgspec import Struct

from loreline.git.program import Failure
from loreline.git.repository import Repository, present


class Commit(Struct, frozen=True):
    sha: str
    parents: tuple[str, ...]
    author: str
    author_email: str
    authored_at: int
    """In ms."""
    message: str

    @property
    def title(self) -> str:
        return self.message.partition("\n")[0]


_FORMAT = "%H%x00%P%x00%an%x00%ae%x00%at%x00%B"


def commit(repository: Repository, sha: str) -> Commit | None:
    """None where the clone lacks it."""
    try:
        told = repository.git.ask("log", "-1", f"--format={_FORMAT}", "--end-of-options", sha)
    except Failure:
        return None
    found, parents, author, email, at, message = told.decode("utf-8", "replace").rstrip("\n").split("\0", 5)
    return Commit(found, tuple(parents.split()), author, email, int(at) * 1000, message)


def brought_by(repository: Repository, sha: str, head: str) -> str | None:
    """The commit on the first-parent line of `head` by which another came in; itself, if it stands on that line.

    None where it has not come in, or the clone lacks it.
    """
    if sha == head:
        return sha
    if not present(repository, [sha]):
        return None
    span = f"{sha}..{head}"
    told = repository.git.tell("rev-list", "--first-parent", "--parents", "--end-of-options", span)
    line = [words.split() for words in told.decode().splitlines()]
    if line and line[-1][1:2] == [sha]:
        return sha
    descendants = set(repository.git.tell("rev-list", "--ancestry-path", "--end-of-options", span).decode().split())
    return next((words[0] for words in reversed(line) if words[0] in descendants), None)
