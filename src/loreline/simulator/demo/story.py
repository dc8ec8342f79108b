"""The vocabulary stories are told in: who did what, when, and the commits they pushed.

A story names only what people did. What GitLab adds by itself (mentions, closing by merge, lists of
pushed commits) is derived in `timeline`, and hashes are known once `repository` has built the commits:
until then `{{key}}` stands for a commit's SHA and `{{key:8}}` for its first digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from textwrap import dedent
from typing import Literal, TypeAlias

HARBOR = "northwind/harbor"
HARBOR_DOCS = "northwind/harbor-docs"

Kind: TypeAlias = Literal["issues", "merge_requests"]
MergeMethod: TypeAlias = Literal["merge", "squash", "fast_forward"]

_STARTS_A_LINE = re.compile(r"(?:[-*>|#]|\d+\.) ?|\s*$")


def prose(text: str) -> str:
    """Join the wrapped lines of Markdown paragraphs; tables, lists and fenced code stay as they are."""
    lines: list[str] = []
    fenced = False
    for line in dedent(text).strip().splitlines():
        fence = line.lstrip().startswith("```")
        starts = fence or fenced or _STARTS_A_LINE.match(line.lstrip()) is not None
        previous = lines[-1] if lines else ""
        if starts or not previous or previous.startswith(("```", "|", "#")):
            lines.append(line)
        else:
            lines[-1] = f"{previous} {line.lstrip()}"
        fenced = fenced != fence
    return "\n".join(lines)


def moment(at: str) -> int:
    """Milliseconds since the epoch of `2023-02-06 09:12`, which is UTC."""
    return int(datetime.strptime(at, "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp() * 1000)


# Edits -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Write:
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Replace:
    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Move:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Remove:
    path: str


@dataclass(frozen=True, slots=True)
class Requote:
    """Single quotes become double ones: the formatting change nobody wants to see in blame."""

    path: str


Edit: TypeAlias = Write | Replace | Move | Remove | Requote


def write(path: str, text: str) -> Write:
    return Write(path, dedent(text).strip("\n") + "\n")


def replace(path: str, old: str, new: str) -> Replace:
    """Exchange one passage of a file, given as whole lines at their indentation in the file."""
    return Replace(path, old.strip("\n"), new.strip("\n"))


@dataclass(frozen=True, slots=True)
class Commit:
    key: str
    author: str
    at: str
    message: str
    edits: tuple[Edit, ...]


def commit(key: str, author: str, at: str, message: str, *edits: Edit) -> Commit:
    return Commit(key, author, at, dedent(message).strip(), edits)


@dataclass(frozen=True, slots=True)
class Push:
    """A commit made straight on a branch, without a merge request."""

    branch: str
    commit: Commit


@dataclass(frozen=True, slots=True)
class Branch:
    name: str
    source: str
    at: str


@dataclass(frozen=True, slots=True)
class Tag:
    name: str
    branch: str
    by: str
    at: str
    message: str


# What people do on an issue or merge request ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Say:
    by: str
    at: str
    body: str
    internal: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    notes: tuple[Say, ...]
    resolved: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class LineThread:
    """A thread on a line of the diff, found by what stands there rather than by its number."""

    path: str
    needle: str
    notes: tuple[Say, ...]
    removed: bool
    resolved: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Label:
    by: str
    at: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Milestone:
    by: str
    at: str
    title: str | None


@dataclass(frozen=True, slots=True)
class Assign:
    by: str
    at: str
    who: str


@dataclass(frozen=True, slots=True)
class AskReview:
    by: str
    at: str
    who: str


@dataclass(frozen=True, slots=True)
class Approve:
    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Retitle:
    by: str
    at: str
    title: str


@dataclass(frozen=True, slots=True)
class Redescribe:
    """The description was edited; the story shows it as it ended."""

    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Close:
    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Reopen:
    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Closes the issue, as GitLab does."""

    by: str
    at: str
    of: int


@dataclass(frozen=True, slots=True)
class Relate:
    by: str
    at: str
    to: int


@dataclass(frozen=True, slots=True)
class MoveTo:
    """Closes the issue; the new one stands in the other project's story."""

    by: str
    at: str
    project: str
    iid: int


@dataclass(frozen=True, slots=True)
class StartMergeRequest:
    """The button on an issue that opens a merge request for it."""

    by: str
    at: str
    iid: int


@dataclass(frozen=True, slots=True)
class Picked:
    by: str
    at: str
    branch: str
    commit: str


@dataclass(frozen=True, slots=True)
class Merge:
    by: str
    at: str
    method: MergeMethod = "merge"


Act: TypeAlias = (
    Say
    | Thread
    | LineThread
    | Label
    | Milestone
    | Assign
    | AskReview
    | Approve
    | Retitle
    | Redescribe
    | Close
    | Reopen
    | Duplicate
    | Relate
    | MoveTo
    | StartMergeRequest
    | Picked
    | Merge
)


def say(by: str, at: str, body: str) -> Say:
    return Say(by, at, prose(body))


def whisper(by: str, at: str, body: str) -> Say:
    """An internal note, which only the team can read."""
    return Say(by, at, prose(body), internal=True)


def thread(*notes: Say, resolved: tuple[str, str] | None = None) -> Thread:
    return Thread(notes, resolved)


def on_line(
    path: str,
    needle: str,
    *notes: Say,
    removed: bool = False,
    resolved: tuple[str, str] | None = None,
) -> LineThread:
    return LineThread(path, needle, notes, removed, resolved)


# Entities ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """Names an issue or merge request."""

    project: str
    kind: Kind
    iid: int

    def reference_from(self, project: str) -> str:
        """As GitLab writes it in `project`: within one namespace the namespace is left out."""
        sign = "#" if self.kind == "issues" else "!"
        return f"{'' if project == self.project else self.project.partition('/')[2]}{sign}{self.iid}"

    @property
    def word(self) -> str:
        return "issue" if self.kind == "issues" else "merge request"


@dataclass(frozen=True, slots=True)
class Issue:
    iid: int
    author: str
    at: str
    title: str
    description: str
    acts: tuple[Act, ...]
    project: str = HARBOR
    labels: tuple[str, ...] = ()
    milestone: str | None = None
    assignees: tuple[str, ...] = ()
    confidential: bool = False
    upvotes: int = 0
    due: str | None = None
    target: Target = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", Target(self.project, "issues", self.iid))


@dataclass(frozen=True, slots=True)
class MergeRequest:
    iid: int
    author: str
    at: str
    title: str
    description: str
    acts: tuple[Act, ...]
    branch: str
    commits: tuple[Commit, ...]
    into: str = "main"
    project: str = HARBOR
    labels: tuple[str, ...] = ()
    milestone: str | None = None
    assignees: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    upvotes: int = 0
    target: Target = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", Target(self.project, "merge_requests", self.iid))

    @property
    def merge(self) -> Merge | None:
        return next((act for act in self.acts if isinstance(act, Merge)), None)

    @property
    def last_title(self) -> str:
        return [self.title, *(act.title for act in self.acts if isinstance(act, Retitle))][-1]


Entity: TypeAlias = Issue | MergeRequest


def issue(
    iid: int,
    author: str,
    at: str,
    title: str,
    description: str,
    *acts: Act,
    project: str = HARBOR,
    labels: tuple[str, ...] = (),
    milestone: str | None = None,
    assignees: tuple[str, ...] = (),
    confidential: bool = False,
    upvotes: int = 0,
    due: str | None = None,
) -> Issue:
    return Issue(
        iid, author, at, title, prose(description), acts, project, labels, milestone, assignees,
        confidential, upvotes, due,
    )  # fmt: skip


def merge_request(
    iid: int,
    author: str,
    at: str,
    title: str,
    description: str,
    *acts: Act,
    branch: str,
    commits: tuple[Commit, ...],
    into: str = "main",
    labels: tuple[str, ...] = (),
    milestone: str | None = None,
    assignees: tuple[str, ...] = (),
    reviewers: tuple[str, ...] = (),
    upvotes: int = 0,
) -> MergeRequest:
    return MergeRequest(
        iid, author, at, title, prose(description), acts, branch, commits, into, HARBOR, labels,
        milestone, assignees, reviewers, upvotes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Story:
    """One module of `stories/`."""

    name: str
    entities: tuple[Entity, ...]
    pushes: tuple[Push, ...] = ()
    branches: tuple[Branch, ...] = ()
    tags: tuple[Tag, ...] = ()
