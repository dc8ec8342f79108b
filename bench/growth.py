"""The same few changes synced into a history once, ten and fifty times as long: the cost should be flat."""

from __future__ import annotations

import tempfile
from pathlib import Path

import apsw

from bench import world
from bench.tables import Line, show

_CHANGES = 20
_SIZES = (1, 10, 50)


def run() -> list[str]:
    histories = world.histories()
    if histories is None:
        print("growth: skipped, the histories are not beside the checkout (LORELINE_SHARED names them)")
        return []
    lines = []
    first: world.Synced | None = None
    for size in _SIZES:
        with tempfile.TemporaryDirectory() as folder, world.simulator(histories / "small", copies=size) as url:
            mirror = world.Mirror(Path(folder), url)
            whole = mirror.sync()
            iids = _issues(mirror.database)
            for iid in iids:
                world.edit(url, "add_note", project=world.PROJECT, kind="issues", iid=iid, body="One more thing.")
            little = mirror.sync()
        first = first or little
        entities = whole.rows["issues"] + whole.rows["merge_requests"]
        ratio = little.seconds / first.seconds
        flat = ratio <= 1.5 and little.requests <= first.requests * 1.1 + 2
        lines.append(
            Line(
                f"{size}x: {entities:,} entities",
                f"{little.requests} requests, {little.seconds:.2f} s = {ratio:.2f}x",
                "<= 1.5x of the first",
                flat,
            )
        )
    return show(f"{_CHANGES} commented issues, by length of history", lines)


def _issues(database: Path) -> list[int]:
    db = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    rows = db.execute("SELECT iid FROM issues ORDER BY iid LIMIT ?", (_CHANGES,)).fetchall()
    db.close()
    return [row[0] for row in rows]
