"""The first sync of the large history against its floor; then one with nothing changed, and one with little."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import apsw

from bench import world
from bench.tables import Line, show

_CONCURRENCY = 8
_CHANGES = 20


def run() -> list[str]:
    histories = world.histories()
    if histories is None:
        print("first_sync: skipped, the histories are not beside the checkout (LORELINE_SHARED names them)")
        return []
    with tempfile.TemporaryDirectory() as folder, world.simulator(histories / "large") as url:
        mirror = world.Mirror(Path(folder), url)
        first = mirror.sync()
        addresses = _addresses(mirror.database, url)
        floors = [_floor(addresses)]
        mirror.database.unlink()
        again = mirror.sync()
        floors.append(_floor(addresses))
        quiet = mirror.sync()
        for iid in _some(mirror.database):
            world.edit(url, "add_note", project=world.PROJECT, kind="merge_requests", iid=iid, body="One more thing.")
        little = mirror.sync()
    entities = again.rows["issues"] + again.rows["merge_requests"]
    floor = min(floors) * again.requests / len(addresses)
    best = min(first.seconds, again.seconds)
    ratio = best / floor
    return show(
        f"first sync of {entities:,} entities, {again.requests:,} requests, {_CONCURRENCY} in flight",
        [
            Line("floor: the same addresses, bare client", " / ".join(f"{seconds:.1f} s" for seconds in floors)),
            Line("lore sync, before and between", f"{first.seconds:.1f} s / {again.seconds:.1f} s"),
            Line("ratio of the best", f"{ratio:.2f}x", "<= 1.5x", ratio <= 1.5),
            Line("peak memory, both processes", f"{again.peak_mb:.0f} MB", "<= 400 MB", again.peak_mb <= 400),
            Line("entities a second", f"{entities / best:,.0f}"),
            Line("rows a second", f"{sum(again.rows.values()) / best:,.0f}"),
            Line("nothing changed: requests", str(quiet.requests), "<= 4", quiet.requests <= 4),
            Line("nothing changed: wall", f"{quiet.seconds:.2f} s", "<= 1 s", quiet.seconds <= 1),
            Line(
                f"{_CHANGES} commented merge requests: requests",
                f"{little.requests} in {little.seconds:.2f} s",
                f"<= {4 + 6 * _CHANGES}",
                little.requests <= 4 + 6 * _CHANGES,
            ),
        ],
    )


def _addresses(database: Path, url: str) -> list[str]:
    """What a first sync asks for, of every entity in the mirror."""
    db = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    events = [f"resource_{kind}_events" for kind in ("state", "label", "milestone")]
    lists = {"issues": ["discussions", *events]}
    lists["merge_requests"] = [*lists["issues"], "closes_issues", "diffs", "commits"]
    made = []
    for kind, names in lists.items():
        for (iid,) in db.execute(f"SELECT iid FROM {kind} ORDER BY updated_at"):
            entity = f"{url}/api/v4/projects/1/{kind}/{iid}"
            made += [f"{entity}/{name}?per_page=100" for name in names]
            if kind == "merge_requests":
                made.append(entity)
    db.close()
    return made


def _some(database: Path) -> list[int]:
    db = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    rows = db.execute("SELECT iid FROM merge_requests ORDER BY iid LIMIT ?", (_CHANGES,)).fetchall()
    db.close()
    return [row[0] for row in rows]


def _floor(addresses: list[str]) -> float:
    given = json.dumps({"addresses": addresses, "token": world.TOKEN, "concurrency": _CONCURRENCY})
    done = subprocess.run(
        [sys.executable, "-m", "bench.floor"], input=given, capture_output=True, text=True, check=True, timeout=900
    )
    return float(done.stdout)
