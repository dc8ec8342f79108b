"""The two processes of a bench: a simulator on loopback, and `lore` against it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOKEN = "glpat-simulator"
PROJECT = "bitcoin/bitcoin"
LONGEST_S = 900


def histories() -> Path | None:
    """The real histories beside the checkout, if they are there."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("LORELINE_SHARED", beside)) / "history"
    return folder if folder.is_dir() else None


@contextlib.contextmanager
def simulator(corpus: Path, *, copies: int = 1) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "loreline", "simulator", "-q", "--control", "--corpus", corpus, "--copies", str(copies)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, "the simulator did not start"
        yield url
    finally:
        process.terminate()
        process.wait(10)


def edit(url: str, operation: str, **arguments: Any) -> Any:
    body = json.dumps({"op": operation, **arguments}).encode()
    request = urllib.request.Request(f"{url}/_simulator/edit", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@dataclass(frozen=True)
class Synced:
    seconds: float
    requests: int
    rows: dict[str, int]
    peak_mb: float


class Mirror:
    def __init__(self, folder: Path, url: str) -> None:
        self.database = folder / "mirror.db"
        self._config = folder / "loreline.toml"
        self._config.write_text(
            f'database = "{self.database}"\n[[instance]]\nurl = "{url}"\nprojects = ["{PROJECT}"]\n'
        )

    def sync(self, *flags: str) -> Synced:
        """One `lore sync` as a process, its wall time from start to end and the peak memory of all of it."""
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "loreline", "-J", "sync", "--config", self._config, *flags],
            stdout=subprocess.PIPE,
            env=os.environ | {"GITLAB_TOKEN": TOKEN},
        )
        peaks: dict[int, float] = {}
        watch = threading.Thread(target=_watch, args=(process, peaks), daemon=True)
        watch.start()
        out, _ = process.communicate(timeout=LONGEST_S)
        seconds = time.perf_counter() - began
        watch.join(2)
        answer = json.loads(out)
        assert answer["ok"], answer
        run = answer["data"]["run"]
        return Synced(seconds, run["requests"], run["rows"], sum(peaks.values()))


def _watch(process: subprocess.Popen[bytes], peaks: dict[int, float]) -> None:
    """The high-water marks of the process and its children, where /proc tells them."""
    while process.poll() is None:
        for pid in (process.pid, *_children(process.pid)):
            with contextlib.suppress(OSError, ValueError):
                text = Path(f"/proc/{pid}/status").read_text()
                peaks[pid] = int(text.split("VmHWM:")[1].split()[0]) / 1000 if "VmHWM:" in text else 0.0
        time.sleep(0.2)


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []
