"""A sync's progress on stderr: a bar with rate and ETA on a terminal, a line per stage in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from loreline.services.mirror.progress import Progress, Silent

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


@contextlib.contextmanager
def shown_progress(*, wanted: bool) -> Iterator[Progress]:
    if not wanted:
        yield Silent()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from rich.progress import BarColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as Bars

        from loreline.faces.cli.output import console

        bars = Bars(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[told]}", markup=False),
            console=console(stderr=True),
            transient=True,
        )
        with bars:
            yield Bar(bars)


class Lines:
    """For a log: what is begun, and nothing that moves."""

    def stage(self, text: str) -> None:
        click.echo(text, err=True)

    def listed(self, count: int) -> None: ...

    def queued(self, waiting: int) -> None: ...

    def fetched(self, count: int) -> None: ...


class Bar:
    """Two tasks: what is listed, and the dependents behind it."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._stage = "connecting"
        self._listing = bars.add_task(self._stage, total=None, told="")
        self._fetching: TaskID | None = None
        self._began = 0.0
        self._listed = 0
        self._done = 0
        self._total = 0

    def stage(self, text: str) -> None:
        self._stage = text
        self._show()

    def listed(self, count: int) -> None:
        self._listed += count
        self._show()

    def queued(self, waiting: int) -> None:
        if self._fetching is None:
            self._fetching = self._bars.add_task("", total=None, told="")
            self._began = time.monotonic()
        self._total = max(self._total, self._done + waiting)
        self._show()

    def fetched(self, count: int) -> None:
        self._done += count
        self._show()

    def _show(self) -> None:
        listed = f"{self._listed:,}" if self._listed else ""
        fetched = self._fetched()
        room = self._bars.console.width - max(len(listed), len(fetched)) - _BESIDE
        self._bars.update(self._listing, description=fitted(self._stage, room), told=listed)
        if self._fetching is not None:
            description = fitted("threads, events and diffs", room)
            self._bars.update(
                self._fetching, description=description, total=self._total, completed=self._done, told=fetched
            )

    def _fetched(self) -> str:
        """Commits come in bursts, so rate and ETA are those of the whole run so far."""
        if self._fetching is None:
            return ""
        told = f"{self._done:,} of {self._total:,}"
        if self._done:
            rate = self._done / max(time.monotonic() - self._began, 0.001)
            left = int((self._total - self._done) / rate)
            told += f", {rate:,.0f}/s, {left // 60}:{left % 60:02d} left"
        return told


_BESIDE = 8
"""The spinner, the gaps, and the least of a bar."""


def fitted(text: str, room: int) -> str:
    """Its end, where there is not room for all: numbers go before names, and what is done before where."""
    room = max(room, 8)
    return text if len(text) <= room else f"…{text[1 - room :]}"
