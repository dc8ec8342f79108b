"""The command line as people and robots use it: a real process against the real simulator."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loreline.simulator import DEFAULT_TOKEN, World, running
from loreline.simulator.demo.corpus import Demo

TIMEOUT = 60


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        return json.loads(self.out)

    @property
    def data(self) -> Any:
        answer = self.answer
        assert answer["ok"], answer
        return answer["data"]


@dataclass
class Lore:
    """`lore` in a folder of its own, with nothing of this machine's settings."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    program: tuple[str, ...] = (sys.executable, "-m", "loreline")

    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LORELINE_", "GITLAB_", "HTTP_PROXY", "HTTPS_PROXY"))
            and name not in {"NO_COLOR", "PAGER", "COLUMNS"}
        }
        return kept | {"HOME": str(self.folder), "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""} | self.environ

    def __call__(self, *arguments: str, stdin: str = "") -> Done:
        done = subprocess.run(
            [*self.program, *arguments],
            cwd=self.folder,
            env=self.environment(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def on_terminal(self, *arguments: str, columns: int = 80, keys: str = "") -> str:
        """What a person sees, colours and all."""
        leader, follower = pty.openpty()
        import fcntl
        import struct
        import termios

        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen(
            [*self.program, *arguments],
            cwd=self.folder,
            env=self.environment() | {"TERM": "xterm-256color", "LORE_PAGER": "cat"},
            stdin=follower,
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        killer = threading.Timer(TIMEOUT, process.kill)
        killer.start()
        if keys:
            os.write(leader, keys.encode())
        seen = bytearray()
        try:
            while select.select([leader], [], [], TIMEOUT)[0]:
                try:
                    chunk = os.read(leader, 65536)
                except OSError:
                    break
                if not chunk:
                    break
                seen += chunk
        finally:
            process.wait()
            killer.cancel()
            os.close(leader)
        return seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def configure(self, url: str, projects: list[str], *, provider: str = "none", **settings: str) -> Path:
        lines = [f'database = "{self.folder / "mirror.db"}"', "[[instance]]", f'url = "{url}"']
        lines += [f'{key} = "{value}"' for key, value in settings.items()]
        lines.append(f"projects = {json.dumps(projects)}")
        lines += ["[sync]", "retry_seconds = 0.01", "retries = 2", "timeout_seconds = 5"]
        # The model takes a second to load: tests of search ask for it.
        lines += ["[embedding]", f'provider = "{provider}"']
        path = self.folder / "loreline.toml"
        path.write_text("\n".join(lines) + "\n")
        return path


def synced(folder: Path, demo: Demo, projects: list[str], *sync: str, provider: str = "bundled") -> Lore:
    """These projects of the demo, mirrored. Whoever writes to what others read takes a copy."""
    lore = Lore(folder, {"GITLAB_TOKEN": DEFAULT_TOKEN})
    with World.open(*demo.projects.values()) as world, running(world) as server:
        lore.configure(server.url, projects, provider=provider)
        done = lore("sync", "-J", *sync)
        assert done.code == 0, done
    return lore


def copied(lore: Lore, folder: Path) -> Lore:
    """A copy that a test may write to."""
    shutil.copytree(lore.folder, folder)
    settings = folder / "loreline.toml"
    settings.write_text(settings.read_text().replace(str(lore.folder), str(folder)))
    return Lore(folder, dict(lore.environ))


def without_colour(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
