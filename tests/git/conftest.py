import os
import subprocess

import pytest

from loreline.git.repository import open_repository


class Clone:
    """A repository that a test writes, one commit after the other."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self("init", "-q", "-b", "main")

    def __call__(self, *arguments):
        names = {f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1", **names}
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments], env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message, **files):
        """Write files (`a_py` is a.py) and commit them; the SHA."""
        for name, content in files.items():
            self.write(name.replace("_", "."), content)
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", message)
        return self("rev-parse", "HEAD")

    def write(self, path, content):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())

    @property
    def repository(self):
        return open_repository(self.folder, os.environ)


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path / "clone")
