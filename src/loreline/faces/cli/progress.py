"""A sync's progress on stderr: a bar with rate and ETA on a terminal, a line per stage in a log."""

from __future__ import annotations

import contextlib
import sys
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
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        from loreline.faces.cli.output import console

        bars = Bars(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}", style="dim"),
            TimeRemainingColumn(compact=True),
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
        self._listing = bars.add_task("connecting", total=None, rate="")
        self._fetching: TaskID | None = None
        self._done = 0

    def stage(self, text: str) -> None:
        self._bars.update(self._listing, description=text)

    def listed(self, count: int) -> None:
        self._bars.advance(self._listing, count)

    def queued(self, waiting: int) -> None:
        if self._fetching is None:
            self._fetching = self._bars.add_task("threads, events and diffs", total=None, rate="")
        self._bars.update(self._fetching, total=self._done + waiting)

    def fetched(self, count: int) -> None:
        self._done += count
        if self._fetching is not None:
            speed = self._bars.tasks[-1].speed
            self._bars.update(self._fetching, advance=count, rate=f"{speed:,.0f}/s" if speed else "")
