"""Builds the Git repository the stories tell of, the same commits on every machine.

Merge requests are the only source: their commits, how and when they were merged. Files are kept as plain
text per commit, so a merge replays the branch's edits on the target, and the lines a thread speaks of can
be found without asking Git.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from loreline.simulator.demo.people import BY_USERNAME
from loreline.simulator.demo.story import (
    Branch,
    Commit,
    Edit,
    MergeRequest,
    Move,
    Push,
    Remove,
    Replace,
    Requote,
    Story,
    Tag,
    Write,
    moment,
)

Files = Mapping[str, str]

_PLACEHOLDER = re.compile(r"\{\{([^{}:]+)(?::(\d+))?\}\}")


@dataclass(frozen=True, slots=True)
class Built:
    """One commit as it came out."""

    key: str
    sha: str
    parents: tuple[str, ...]
    author: str
    at: int
    message: str
    files: Files


@dataclass(frozen=True, slots=True)
class History:
    """The finished repository and how the stories' names map onto it."""

    directory: Path
    commits: Mapping[str, Built]
    fork_points: Mapping[int, str]
    target_tips: Mapping[str, str]

    def sha(self, key: str) -> str:
        return self.commits[key].sha

    def resolve(self, text: str) -> str:
        return _resolve(text, self.commits)


def git(directory: Path, *arguments: str) -> str:
    """Run git untouched by anybody's configuration, hooks or locale."""
    return subprocess.run(
        ["git", "-C", str(directory), *arguments], env=_environment(), check=True, capture_output=True
    ).stdout.decode()


def build_repository(directory: Path, stories: Iterable[Story]) -> History:
    """Write the repository into a new folder, with `main` checked out."""
    directory.mkdir(parents=True)
    git(directory, "init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
    # A reflog would record when the demo was built.
    git(directory, "config", "core.logAllRefUpdates", "false")
    with subprocess.Popen(
        ["git", "-C", str(directory), "fast-import", "--quiet", "--force"],
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as importer:
        if importer.stdin is None or importer.stdout is None:  # pragma: no cover - both are asked for
            raise RuntimeError("git fast-import has no pipes")
        writer = _Writer(importer.stdin, importer.stdout)
        for _, happen in _chronicle(tuple(stories), writer):
            happen()
        writer.finish()
        importer.stdin.close()
        if importer.wait() != 0:
            raise RuntimeError("git fast-import refused the demo repository")
    git(directory, "reset", "--quiet", "--hard", "main")
    return History(directory, writer.commits, writer.fork_points, writer.target_tips)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        "TZ": "UTC",
    }


def _chronicle(stories: tuple[Story, ...], writer: _Writer) -> list[tuple[int, Callable[[], None]]]:
    """Everything that changed the repository, in the order of time."""
    happenings: list[tuple[int, Callable[[], None]]] = []
    for story in stories:
        happenings += [(moment(push.commit.at), partial(writer.push, push)) for push in story.pushes]
        happenings += [(moment(branch.at), partial(writer.branch, branch)) for branch in story.branches]
        happenings += [(moment(tag.at), partial(writer.tag, tag)) for tag in story.tags]
        for request in story.entities:
            if not isinstance(request, MergeRequest):
                continue
            happenings += [(moment(commit.at), partial(writer.work, request, commit)) for commit in request.commits]
            if request.merge is not None:
                happenings.append((moment(request.merge.at), partial(writer.merge, request)))
    return sorted(happenings, key=lambda happening: happening[0])


class _Writer:
    """Speaks to `git fast-import`, which answers each commit with its hash."""

    def __init__(self, stream: IO[bytes], answers: IO[bytes]) -> None:
        self._stream = stream
        self._answers = answers
        self._tips: dict[str, str] = {}
        self.commits: dict[str, Built] = {}
        self.fork_points: dict[int, str] = {}
        self.target_tips: dict[str, str] = {}

    def push(self, push: Push) -> None:
        tip = self._tips.get(push.branch)
        parents = () if tip is None else (tip,)
        self._tips[push.branch] = self._add(f"refs/heads/{push.branch}", push.commit, parents)

    def branch(self, branch: Branch) -> None:
        self._tips[branch.name] = self._tips[branch.source]
        self._point(f"refs/heads/{branch.name}", self._tips[branch.name])

    def tag(self, tag: Tag) -> None:
        message = _counted(tag.message + "\n")
        tagger = _signature("tagger", tag.by, moment(tag.at))
        self._send(f"tag {tag.name}\nfrom {self._mark(self._tips[tag.branch])}\n{tagger}".encode() + message)

    def work(self, request: MergeRequest, commit: Commit) -> None:
        """A commit on the merge request's branch, which forks from its target at the first one."""
        ref = _head_ref(request)
        parent = self._tips.get(ref)
        if parent is None:
            parent = self._tips[request.into]
            self.fork_points[request.iid] = parent
        self.target_tips[commit.key] = self._tips[request.into]
        self._tips[ref] = self._add(ref, commit, (parent,))
        if request.merge is None:
            # The branch of unmerged work is still there; merged ones were deleted with the merge.
            self._point(f"refs/heads/{request.branch}", self._tips[ref])

    def merge(self, request: MergeRequest) -> None:
        merge = request.merge
        if merge is None:
            raise ValueError(f"!{request.iid} is not merged")
        target = self._tips[request.into]
        head = self._tips[_head_ref(request)]
        if merge.method == "fast_forward":
            if self.fork_points[request.iid] != target:
                raise ValueError(f"!{request.iid} cannot be fast-forwarded")
            self._tips[request.into] = head
            self._point(f"refs/heads/{request.into}", head)
            return
        edits = tuple(edit for commit in request.commits for edit in commit.edits)
        key = f"!{request.iid}"
        if merge.method == "squash":
            squash = Commit(f"{key} squash", request.author, merge.at, request.last_title, edits)
            scratch = f"refs/squash/{request.iid}"
            head = self._add(scratch, squash, (target,), committer=merge.by)
            self._send(f"reset {scratch}\nfrom {'0' * 40}\n\n".encode())
        message = _merge_message(request)
        commit = Commit(key, merge.by, merge.at, message, edits)
        self._tips[request.into] = self._add(f"refs/heads/{request.into}", commit, (target, head))

    def finish(self) -> None:
        self._send(b"done\n")

    def _add(self, ref: str, commit: Commit, parents: tuple[str, ...], committer: str | None = None) -> str:
        if commit.key in self.commits:
            raise ValueError(f"two commits are called {commit.key!r}")
        before = self.commits[parents[0]].files if parents else {}
        files = dict(before)
        for edit in commit.edits:
            _apply(edit, files, partial(_resolve, commits=self.commits))
        message = _resolve(commit.message, self.commits)
        at = moment(commit.at)
        mark = len(self.commits) + 1
        lines = [f"commit {ref}", f"mark :{mark}"]
        lines.append(_signature("author", commit.author, at).rstrip())
        lines.append(_signature("committer", committer or commit.author, at).rstrip())
        body = "\n".join(lines).encode() + b"\n" + _counted(message + "\n")
        for word, parent in zip(("from", "merge"), parents, strict=False):
            body += f"{word} {self._mark(parent)}\n".encode()
        body += b"deleteall\n"
        for path in sorted(files):
            body += f"M 100644 inline {path}\n".encode() + _counted(files[path])
        self._send(body + b"\n" + f"get-mark :{mark}\n".encode())
        self._stream.flush()
        sha = self._answers.readline().decode().strip()
        self.commits[commit.key] = Built(commit.key, sha, parents, commit.author, at, message, files)
        return commit.key

    def _point(self, ref: str, key: str) -> None:
        self._send(f"reset {ref}\nfrom {self._mark(key)}\n\n".encode())

    def _mark(self, key: str) -> str:
        # By mark, not by hash: fast-import does not find hashes in the pack it is still writing.
        return f":{list(self.commits).index(key) + 1}"

    def _send(self, data: bytes) -> None:
        self._stream.write(data)


def _head_ref(request: MergeRequest) -> str:
    return f"refs/merge-requests/{request.iid}/head"


def _merge_message(request: MergeRequest) -> str:
    parts = [f"Merge branch '{request.branch}' into '{request.into}'", request.last_title]
    parts += re.findall(r"^Closes .*#\d+.*$", request.description, re.MULTILINE)
    parts.append(f"See merge request {request.project}!{request.iid}")
    return "\n\n".join(parts)


def _signature(role: str, username: str, at: int) -> str:
    person = BY_USERNAME[username]
    return f"{role} {person.name} <{person.email}> {at // 1000} +0000\n"


def _counted(text: str) -> bytes:
    data = text.encode()
    return f"data {len(data)}\n".encode() + data + b"\n"


def _resolve(text: str, commits: Mapping[str, Built]) -> str:
    def sha(match: re.Match[str]) -> str:
        return commits[match[1]].sha[: int(match[2] or 40)]

    return _PLACEHOLDER.sub(sha, text)


def _apply(edit: Edit, files: dict[str, str], resolve: Callable[[str], str]) -> None:
    match edit:
        case Write(path, text):
            files[path] = resolve(text)
        case Replace(path, old, new):
            if files[path].count(old) != 1:
                raise ValueError(f"{path} has {files[path].count(old)} passages like {old!r}")
            files[path] = files[path].replace(old, resolve(new))
        case Move(old, new):
            files[new] = files.pop(old)
        case Remove(path):
            del files[path]
        case Requote(path):
            files[path] = files[path].replace("'", '"')
