"""Running git so that it reads a repository and does nothing else.

A repository's own configuration may name programs: hooks, pagers, filters, converters, file system monitors. Whoever
asks about a line of code wants none of them run. So the user's and the system's configuration stay out, what the
repository's says of programs is overridden, and nothing here lets git read the working tree, where filters come in.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from loreline.errors import GitFailed, LoreError

_SECONDS = 120
_SAFE = (
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    "--literal-pathspecs",
    "-c", f"core.hooksPath={os.devnull}",
    "-c", f"core.attributesFile={os.devnull}",
    "-c", "core.fsmonitor=false",
    "-c", "core.untrackedCache=false",
    "-c", "core.sshCommand=false",
    "-c", "core.alternateRefsCommand=true",
    "-c", "core.quotePath=false",
    "-c", "credential.helper=",
    "-c", "diff.external=",
    "-c", "protocol.allow=never",
    "-c", "log.showSignature=false",
    "-c", "blame.ignoreRevsFile=",
)  # fmt: skip


class Failure(Exception):
    """Git ended with an error: what it said, for whoever knows what it means."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(said)
        self.code = code
        self.said = said


class Git(Struct, frozen=True):
    """Git in a folder of a repository. Nothing of the environment but the way to the program reaches it."""

    folder: Path
    environ: Mapping[str, str]

    def ask(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """What it prints. Raises Failure where it ends with an error."""
        try:
            done = subprocess.run(  # noqa: S603 - arguments of ours; paths and names stand behind -- or --end-of-options
                ["git", *_SAFE, *arguments],  # noqa: S607 - found as the user's shell finds it
                cwd=self.folder,
                env=self._environment(),
                input=stdin,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except FileNotFoundError as error:
            raise self._missing() from error
        except subprocess.TimeoutExpired as error:
            raise GitFailed(
                f"git {arguments[0]} took longer than {_SECONDS} seconds in {self.folder}",
                hint="a partial clone may lack objects: git fetch --refetch",
            ) from error
        if done.returncode != 0:
            raise Failure(done.returncode, done.stderr.decode("utf-8", "replace").strip())
        return done.stdout

    def tell(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """The same, for what can't fail in a sound repository: an error is told as one of ours."""
        try:
            return self.ask(*arguments, stdin=stdin)
        except Failure as failure:
            said = failure.said.splitlines()[0] if failure.said else f"exit code {failure.code}"
            raise GitFailed(f"git {arguments[0]} in {self.folder}: {said}", hint="git fsck may say more") from failure

    def _environment(self) -> dict[str, str]:
        kept = {name: self.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in self.environ}
        return kept | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "HOME": os.devnull,
            "LC_ALL": "C",
        }

    def _missing(self) -> LoreError:
        if not self.folder.is_dir():
            return GitFailed(f"there is no folder {self.folder}", hint="name the clone with --repo")
        return GitFailed("the git program was not found", hint="install git: tracing lines of code needs it")
