"""What integration tests share: settings, syncs in this process and syncs as a process of their own."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
from tests.integration.oracle import Truth

from loreline.services.mirror.sync import Options, run_sync
from loreline.services.runs.progress import Silent
from loreline.settings import Instance, Settings, Sync
from loreline.simulator import DEFAULT_TOKEN
from loreline.simulator.state import state_lines

ROOT = Path(__file__).resolve().parents[2]
ENVIRON = {"LORELINE_TOKEN": DEFAULT_TOKEN}
QUICK = Sync(retry_seconds=0.001, retries=2, timeout_seconds=5)
SECONDS = 60
"""The longest any single sync of a test may take."""


def settings(database, *urls, projects=("team/app",), sync=QUICK, **fields):
    """Settings for one instance, or several with the same projects."""
    instances = tuple(
        Instance(url=url, name=f"gitlab{number or ''}", projects=tuple(projects), **fields)
        for number, url in enumerate(urls)
    )
    return Settings(database=Path(database), instances=instances, sync=sync)


def ticking(world):
    """The world's time in ms, which goes on a little while a sync runs."""
    begun = time.monotonic()
    return lambda: world.clock.now() // 1000 + int((time.monotonic() - begun) * 1000)


def sync(wanted, world=None, *, environ=None, clock=None, **options):
    """One sync in this process; the report, or the error it ends with."""
    told = clock or (ticking(world) if world else lambda: time.time_ns() // 1_000_000)

    async def bounded():
        async with asyncio.timeout(SECONDS):
            return await run_sync(wanted, environ or ENVIRON, Options(**options), told, Silent())

    return asyncio.run(bounded())


def cancelled_sync(wanted, world, after, **options):
    """A sync that is cancelled, as by Ctrl-C, once the simulator has answered so many more requests."""

    async def interrupted():
        task = asyncio.create_task(run_sync(wanted, ENVIRON, Options(**options), ticking(world), Silent()))
        stop_at = world.log.total + after
        while not task.done() and world.log.total < stop_at:  # noqa: ASYNC110 - it is counted on another thread
            await asyncio.sleep(0.001)
        task.cancel()
        async with asyncio.timeout(SECONDS):
            with contextlib.suppress(asyncio.CancelledError):
                await task

    asyncio.run(interrupted())


def truth(url, world, *projects, token=None):
    """What the simulator knows of these projects, read inside this process."""
    return Truth(url, [b"".join(state_lines(world, project, token)).splitlines() for project in projects])


def query(database, sql, *values):
    with contextlib.closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        return db.execute(sql, values).fetchall()


# ── a sync as a process ─────────────────────────────────────────────────────────────────────────────────


def config(folder, database, url, projects=("team/app",), **sync_keys):
    """A configuration file for `lore`."""
    keys = {"retry_seconds": 0.001, "retries": 2, **sync_keys}
    lines = [f"database = {json.dumps(str(database))}", "[sync]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in keys.items()]
    lines += ["[embedding]", 'provider = "none"']  # its model takes longer than all the rest
    lines += ["[[instance]]", f'url = "{url}"', f"projects = {json.dumps(list(projects))}"]
    path = Path(folder) / "loreline.toml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


class Process:
    """`lore sync` running as a process of its own."""

    def __init__(self, configuration, *arguments, preexec_fn=None, environ=None):
        self.started = time.monotonic()
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "loreline", "sync", "--config", str(configuration), "-J", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **ENVIRON, **(environ or {})},
            cwd=ROOT,
            preexec_fn=preexec_fn,  # noqa: PLW1509 - it only sets a limit
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        """kill -9, and wait until it is really gone."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL)
        self.popen.communicate(timeout=SECONDS)

    def interrupt(self, how=signal.SIGINT):
        self.popen.send_signal(how)

    def wait(self):
        """(exit code, the JSON it printed)."""
        output, complaint = self.popen.communicate(timeout=SECONDS)
        try:
            return self.popen.returncode, json.loads(output)
        except ValueError:
            raise AssertionError(f"no JSON: {output!r} {complaint.decode()[-2000:]}") from None

    @property
    def writers(self):
        """Its writer processes: children by the system's own books."""
        return children(self.popen.pid)


def children(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found


def alive(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(true, seconds=10.0):
    """Wait until something holds, for so long at the most; whether it came to hold."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.005)
    return bool(true())
