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
        self._listing = bars.add_task("connecting", total=None, told="")
        self._fetching: TaskID | None = None
        self._began = 0.0
        self._listed = 0
        self._done = 0
        self._total = 0

    def stage(self, text: str) -> None:
        self._bars.update(self._listing, description=text)

    def listed(self, count: int) -> None:
        self._listed += count
        self._bars.update(self._listing, told=f"{self._listed:,}")

    def queued(self, waiting: int) -> None:
        if self._fetching is None:
            self._fetching = self._bars.add_task("threads, events and diffs", total=None, told="")
            self._began = time.monotonic()
        self._total = max(self._total, self._done + waiting)
        self._show()

    def fetched(self, count: int) -> None:
        self._done += count
        self._show()

    def _show(self) -> None:
        """Commits come in bursts, so rate and ETA are those of the whole run so far."""
        if self._fetching is None:
            return
        rate = self._done / max(time.monotonic() - self._began, 0.001)
        told = f"{self._done:,} of {self._total:,}"
        if self._done:
            left = int((self._total - self._done) / rate)
            told += f", {rate:,.0f}/s, {left // 60}:{left % 60:02d} left"
        self._bars.update(self._fetching, total=self._total, completed=self._done, told=told)
