"""What is measured of the mirror, one function each; every comparison is side by side in one run."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import apsw
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.integration.machine import Histories

from bench.tools import (
    ENVIRON,
    LONGEST,
    ROOT,
    Ran,
    Simulator,
    children_usage,
    configure,
    history,
    lore_sync,
    scratch,
    simulator,
    table,
    verdict,
)

PROJECT = "bitcoin/bitcoin"


def _floor(url: str, targets: Path) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "bench.floor", url, str(targets)],
        capture_output=True, check=True, cwd=ROOT, env=ENVIRON, timeout=LONGEST, text=True,
    )  # fmt: skip
    return float(done.stdout)


def mirror(config: Path) -> Ran:
    """A sync of the mirror alone: documents and vectors are measured by themselves."""
    return lore_sync(config, "--no-docs")


def first() -> None:
    """First sync of a large history against the same requests thrown away; then a second sync of it."""
    corpus = history("large")
    with scratch() as folder, simulator(corpus) as served:
        config = configure(folder, served.url, [PROJECT])
        mirror(config)  # for the list of requests, and to warm the server
        targets = folder / "targets"
        kept, asked = served.requests(), served.control("log?counts=")["total"]
        targets.write_text("\n".join(kept), "utf-8")
        scale = asked / len(kept)  # the simulator's log keeps the latest 100,000
        before = _floor(served.url, targets) * scale
        for file in folder.glob("mirror.db*"):
            file.unlink()
        ran = mirror(config)
        after = _floor(served.url, targets) * scale
        floor = (before + after) / 2
        size = (folder / "mirror.db").stat().st_size
        with contextlib.closing(apsw.Connection(str(folder / "mirror.db"))) as db:
            counts = {
                name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
                for name in ("issues", "merge_requests", "discussions", "notes", "mr_file_changes", "mr_commits")
            }
        entities = counts["issues"] + counts["merge_requests"]
        table(
            f"First sync of large: {asked:,} requests, {entities:,} entities, {counts['discussions']:,} threads,"
            f" {counts['notes']:,} notes, {size / 1e6:,.0f} MB of database",
            ("", "seconds", "requests/s", "of floor"),
            [
                ("floor before", before, asked / before, before / floor),
                ("lore sync", ran.seconds, asked / ran.seconds, ran.seconds / floor),
                ("floor after", after, asked / after, after / floor),
            ],
        )
        table(
            "Targets",
            ("", "measured", "target", "met"),
            [
                ("wall / mean floor", ran.seconds / floor, "<= 1.50", verdict(ran.seconds / floor, 1.5)),
                ("peak RSS with writer, MB", ran.peak / 1e6, "<= 400", verdict(ran.peak / 1e6, 400)),
                ("entities per second", entities / ran.seconds, "-", "-"),
            ],
        )
        _again(served, config, "large")


def _again(served: Simulator, config: Path, name: str) -> None:
    served.forget_requests()
    runs = [mirror(config) for _ in range(3)]
    asked = len(served.requests()) / len(runs)
    seconds = median(ran.seconds for ran in runs)
    table(
        f"Second sync of {name}, nothing changed (median of 3)",
        ("", "measured", "target", "met"),
        [
            ("requests per project", asked, "<= 4", verdict(asked, 4)),
            ("wall seconds, start of process included", seconds, "<= 1", verdict(seconds, 1)),
        ],
    )


def second() -> None:
    """A second sync with nothing changed, over the small history."""
    with scratch() as folder, simulator(history("small")) as served:
        config = configure(folder, served.url, [PROJECT])
        mirror(config)
        _again(served, config, "small")


_CHANGED = 20


def _change(served: Simulator, turn: int) -> None:
    """The same twenty changes each time: ten notes on issues, ten pushes to merge requests."""
    issues, requests = (_oldest(served, kind) for kind in ("issues", "merge_requests"))
    for iid in issues:
        served.edit("add_note", project=1, kind="issues", iid=iid, body=f"news {turn}")
    for iid in requests:
        served.edit("push", project=1, iid=iid, diffs=[{"new_path": "a.py", "diff": "@@ -1 +1 @@\n-a\n+b\n"}])
    served.control("clock", {"advance": 600})


def _oldest(served: Simulator, kind: str) -> list[int]:
    """The numbers of the ten oldest."""
    listed = served.get(f"/api/v4/projects/1/{kind}?order_by=created_at&sort=asc&per_page={_CHANGED // 2}")
    return [item["iid"] for item in listed]


def changes() -> None:
    """Twenty changed entities, at 1, 10 and 50 times the history."""
    rows: list[tuple[object, ...]] = []
    base = None
    for copies in (1, 10, 50):
        with scratch() as folder, simulator(history("small"), copies=copies) as served:
            config = configure(folder, served.url, [PROJECT])
            whole = mirror(config)
            seconds, asked = [], []
            for turn in range(3):
                _change(served, turn)
                served.forget_requests()
                ran = mirror(config)
                seconds.append(ran.seconds)
                asked.append(len(served.requests()))
            took = median(seconds)
            base = base or took
            rows.append((f"{copies}x", 300 * copies, whole.seconds, _CHANGED, median(asked), took, took / base))
    table(
        "A sync after the same twenty changes (10 notes, 10 pushes), by size of the history (median of 3)",
        ("history", "entities", "first sync s", "changed", "requests", "seconds", "of 1x"),
        rows,
    )


def _cpu(command: list[str], times: int = 15) -> float:
    """Median CPU seconds."""
    found = []
    for _ in range(times):
        with children_usage() as used:
            subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=ENVIRON, timeout=60)
        found.append(used.seconds)
    return median(found)


def help_() -> None:
    """`lore --help` against an interpreter that does nothing."""
    lore = str(Path(sys.executable).parent / "lore")
    nothing, shown, again = (
        _cpu([sys.executable, "-c", "pass"]),
        _cpu([lore, "--help"]),
        _cpu([sys.executable, "-c", "pass"]),
    )
    base = (nothing + again) / 2
    table(
        "CPU time of lore --help (median of 15)",
        ("", "CPU ms", "of python -c pass", "target", "met"),
        [
            ("python -c pass", nothing * 1e3, nothing / base, "", ""),
            ("lore --help", shown * 1e3, shown / base, "<= 3", verdict(shown / base, 3)),
            ("python -c pass, again", again * 1e3, again / base, "", ""),
        ],
    )


def random_histories() -> None:
    """The property test with ten thousand operations."""
    begun = time.monotonic()
    start = Histories.performed
    examples = 0
    while Histories.performed - start < 10_000:
        run_state_machine_as_test(
            Histories,
            settings=settings(
                max_examples=20, stateful_step_count=40, deadline=None, database=None, print_blob=False,
                phases=(Phase.generate,), suppress_health_check=list(HealthCheck),
            ),
        )  # fmt: skip
        examples += 20
    most = sorted(Histories.counts.items(), key=lambda one: -one[1])
    table(
        f"Random histories: each of {examples} ended with a mirror equal to GitLab, row for row",
        ("operations", "number"),
        [
            ("all", Histories.performed - start),
            *most,
            ("seconds", time.monotonic() - begun),
        ],
    )


MEASUREMENTS = {
    "help": help_,
    "second": second,
    "changes": changes,
    "first": first,
    "histories": random_histories,
}
