"""Printing what was measured, beside what was aimed at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Line(NamedTuple):
    what: str
    measured: str
    target: str = ""
    met: bool = True


def show(title: str, lines: Sequence[Line]) -> list[str]:
    """Print a table; returns what missed its target."""
    print(title)
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    for line in lines:
        verdict = "" if not line.target else "  ok" if line.met else "  MISSED"
        print(f"  {line.what:<{widths[0]}}  {line.measured:>{widths[1]}}  {line.target:<{widths[2]}}{verdict}".rstrip())
    print(flush=True)
    return [f"{line.what}: {line.measured} ({line.target})" for line in lines if line.target and not line.met]
