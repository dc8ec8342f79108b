"""What a clone says of itself: where it is, what it tracks, what it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from loreline.errors import NotFound
from loreline.git.program import Failure, Git


class Repository(Struct, frozen=True):
    git: Git
    root: Path
    """Where its working tree begins; of a bare one, its own folder."""
    bare: bool
    shallow: bool
    """Cut off somewhere: what is older than that can't be told."""


def open_repository(folder: Path, environ: Mapping[str, str]) -> Repository:
    """The repository a folder lies in."""
    git = Git(folder, environ)
    try:
        told = git.ask("rev-parse", "--is-bare-repository", "--is-shallow-repository", "--absolute-git-dir")
        bare, shallow, own = told.decode("utf-8", "surrogateescape").splitlines()
        root = own if bare == "true" else _line(git.ask("rev-parse", "--show-toplevel"))
    except Failure as failure:
        if "dubious ownership" in failure.said:
            raise NotFound(
                f"git does not trust {folder}: it belongs to somebody else",
                hint="run it as its owner, or copy the clone",
            ) from failure
        raise NotFound(
            f"{folder} is not in a git repository", hint="go to a clone of the project, or name one with --repo"
        ) from failure
    return Repository(Git(Path(root), environ), Path(root), bare == "true", shallow == "true")


def remote_urls(repository: Repository) -> list[str]:
    """Of all its remotes, origin's first."""
    try:
        told = repository.git.ask("config", "--null", "--get-regexp", r"^remote\..*\.url$")
    except Failure:
        return []  # it has none
    found = []
    for entry in told.decode("utf-8", "replace").split("\0"):
        name, _, url = entry.partition("\n")
        if url:
            found.append((name != "remote.origin.url", name, url))
    return [url for _, _, url in sorted(found)]


def commit_of(repository: Repository, revision: str) -> str:
    """The SHA of the commit a revision means."""
    try:
        told = repository.git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except Failure as failure:
        hint = "the clone is shallow: git fetch --unshallow" if repository.shallow else "git fetch, if it is new"
        raise NotFound(f"there is no commit {revision} in {repository.root}", hint=hint) from failure
    return _line(told)


def present(repository: Repository, shas: Sequence[str]) -> set[str]:
    """Those of some commits that the clone has."""
    if not shas:
        return set()
    told = repository.git.tell("cat-file", "--batch-check", stdin="".join(f"{sha}\n" for sha in shas).encode())
    lines = (line.split() for line in told.decode("ascii", "replace").splitlines())
    return {words[0] for words in lines if len(words) == 3 and words[1] == "commit"}


def blob(repository: Repository, commit: str, path: str) -> bytes | None:
    """A file as a commit has it, byte for byte; None where it has none."""
    try:
        return repository.git.ask("cat-file", "blob", f"{commit}:{path}")
    except Failure:
        return None


def _line(told: bytes) -> str:
    return told.decode("utf-8", "surrogateescape").removesuffix("\n")
