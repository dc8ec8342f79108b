"""What `lore --help` costs, against an interpreter that does nothing."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from bench.tables import Line, show

_ROUNDS = 25


def run() -> list[str]:
    lore = str(Path(sys.executable).parent / "lore")
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "lore --help": [lore, "--help"],
        "lore version": [lore, "version"],
    }
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(_ROUNDS):  # interleaved, and the best of each: noise only ever adds
        for name, command in commands.items():
            best[name] = min(best[name], _cpu(command))
    bare = best["python -c pass"]
    return show(
        "start-up, CPU time",
        [
            Line("python -c pass", f"{bare * 1000:.1f} ms"),
            Line(
                "lore --help",
                f"{best['lore --help'] * 1000:.1f} ms = {best['lore --help'] / bare:.2f}x",
                "<= 3x",
                best["lore --help"] <= 3 * bare,
            ),
            Line("lore version", f"{best['lore version'] * 1000:.1f} ms = {best['lore version'] / bare:.2f}x"),
        ],
    )


def _cpu(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
