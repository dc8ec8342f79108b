"""What the measurements share: the simulator and `lore` as processes, memory, and tables."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loreline.simulator import DEFAULT_TOKEN

ROOT = Path(__file__).resolve().parents[1]
ENVIRON = {**os.environ, "LORELINE_TOKEN": DEFAULT_TOKEN, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
LONGEST = 900
"""Seconds after which any process of ours is given up."""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="loreline-bench-") as folder:
        yield Path(folder)


class Used:
    """CPU seconds."""

    seconds = 0.0


@contextlib.contextmanager
def children_usage() -> Iterator[Used]:
    """What processes that end inside have used."""
    used = Used()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield used
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used.seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Skipped(Exception):
    """What a measurement needs is not here."""


def shared(name: str) -> Path:
    """A folder of the data that lies beside the checkout."""
    folder = Path(os.environ.get("LORELINE_SHARED", ROOT.parent / "shared")) / name
    if not folder.is_dir():
        raise Skipped(f"there is no {folder}; set LORELINE_SHARED")
    return folder


def history(name: str) -> Path:
    return shared(f"history/{name}")


class Simulator:
    """The simulator as a process, and its control."""

    def __init__(self, url: str) -> None:
        self.url = url

    def control(self, name: str, value: Any = None, *, method: str | None = None) -> Any:
        data = None if value is None else json.dumps(value).encode()
        return _answer(
            urllib.request.Request(
                f"{self.url}/_simulator/{name}", data=data, method=method or ("POST" if data else "GET")
            )
        )

    def get(self, target: str) -> Any:
        """What its API answers."""
        return _answer(urllib.request.Request(self.url + target, headers={"PRIVATE-TOKEN": DEFAULT_TOKEN}))

    def edit(self, operation: str, **arguments: Any) -> Any:
        return self.control("edit", {"op": operation, **arguments})

    def requests(self) -> list[str]:
        """The targets asked for, in order."""
        told = self.control("log")["requests"]
        return [f"{one['path']}?{one['query']}" if one["query"] else one["path"] for one in told]

    def forget_requests(self) -> None:
        self.control("log", method="DELETE")


def _answer(request: urllib.request.Request) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        return json.loads(answer.read())


@contextlib.contextmanager
def simulator(*corpora: Path, copies: int = 1) -> Iterator[Simulator]:
    command = [sys.executable, "-m", "loreline", "simulator", "--control", "--copies", str(copies)]
    for corpus in corpora:
        command += ["--corpus", str(corpus)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, env=ENVIRON) as process:
        try:
            assert process.stdout is not None
            address = None
            for line in process.stdout:
                address = re.search(rb"http://127\.0\.0\.1:\d+", line)
                if address:
                    break
            if address is None:
                raise RuntimeError("the simulator did not start")
            yield Simulator(address[0].decode())
        finally:
            process.terminate()


def configure(folder: Path, url: str, projects: list[str]) -> Path:
    path = folder / "loreline.toml"
    lines = [f"database = {json.dumps(str(folder / 'mirror.db'))}", "[[instance]]", f'url = "{url}"']
    path.write_text("\n".join([*lines, f"projects = {json.dumps(projects)}"]) + "\n", "utf-8")
    return path


class Ran:
    """A finished `lore sync`."""

    def __init__(self, seconds: float, peak: int, answer: dict[str, Any]) -> None:
        self.seconds = seconds
        self.peak = peak
        """Bytes: the most that it and its writer held at one moment."""
        self.data = answer.get("data", {})

    @property
    def run(self) -> dict[str, Any]:
        return dict(self.data.get("run", self.data))


def lore_sync(config: Path, *arguments: str) -> Ran:
    command = [sys.executable, "-m", "loreline", "sync", "--config", str(config), "-J", *arguments]
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=ENVIRON) as process:
        memory = Memory(process.pid)
        killer = threading.Timer(LONGEST, process.send_signal, (signal.SIGKILL,))
        killer.start()
        try:
            output, complaint = process.communicate()
        finally:
            killer.cancel()
            memory.stop()
        seconds = time.monotonic() - begun
    try:
        answer = json.loads(output)
    except ValueError:
        raise RuntimeError(f"lore sync said {output[:200]!r} {complaint[-500:]!r}") from None
    if not answer["ok"]:
        raise RuntimeError(f"lore sync failed: {answer['error']}")
    return Ran(seconds, memory.peak, answer)


class Memory:
    """Watches the resident memory of a process and its children."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        children: list[int] = []
        for turn in range(10**9):
            if turn % 10 == 0:
                children = _children(self._pid)
            self.peak = max(self.peak, sum(_resident(pid) for pid in (self._pid, *children)))
            if self._ended.wait(0.05):
                return


def _children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def table(title: str, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """An aligned table; numbers to the right."""
    cells = [head, *[tuple(_shown(cell) for cell in row) for row in rows]]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    print(f"\n{title}")
    for number, row in enumerate(cells):
        parts = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  " + "  ".join(parts).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))
    sys.stdout.flush()


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def verdict(value: float, target: float) -> str:
    return "yes" if value <= target else "NO"
