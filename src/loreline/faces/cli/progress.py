"""A run's progress on stderr: bars with rate and ETA on a terminal, a line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from loreline.services.runs.progress import Progress, Silent, Work

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


class Tally:
    """How far one kind of work has come. What is done comes in bursts, so rate and ETA are those of the whole run."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self._began = time.monotonic()

    def waiting(self, count: int) -> None:
        self.total = max(self.total, self.done + count)

    def add(self, count: int) -> None:
        self.done += count
        self.total = max(self.total, self.done)

    @property
    def told(self) -> str:
        told = f"{self.done:,} of {self.total:,}"
        if self.done:
            rate = self.done / max(time.monotonic() - self._began, 0.001)
            left = int((self.total - self.done) / rate)
            hours, minutes = divmod(left // 60, 60)
            told += f", {rate:,.0f}/s, {f'{hours}:{minutes:02d}' if hours else minutes}:{left % 60:02d} left"
        return told


_LINE_SECONDS = 30


class Lines:
    """For a log: what is begun, and how far long work has come."""

    def __init__(self) -> None:
        self._tallies: dict[Work, Tally] = {}
        self._told_at = time.monotonic()

    def stage(self, text: str) -> None:
        click.echo(text, err=True)

    def listed(self, count: int) -> None: ...

    def waiting(self, work: Work, count: int) -> None:
        self._tallies.setdefault(work, Tally()).waiting(count)

    def done(self, work: Work, count: int) -> None:
        self._tallies.setdefault(work, Tally()).add(count)
        if time.monotonic() - self._told_at < _LINE_SECONDS:
            return
        self._told_at = time.monotonic()
        for kind, tally in self._tallies.items():
            if tally.done < tally.total:
                click.echo(f"{kind.value}: {tally.told}", err=True)


class Bar:
    """One for what is listed, and one for each kind of work behind it."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._stage = "connecting"
        self._listing = bars.add_task(self._stage, total=None, told="")
        self._listed = 0
        self._tallies: dict[Work, Tally] = {}
        self._tasks: dict[Work, TaskID] = {}

    def stage(self, text: str) -> None:
        self._stage = text
        self._show()

    def listed(self, count: int) -> None:
        self._listed += count
        self._show()

    def waiting(self, work: Work, count: int) -> None:
        self._tally(work).waiting(count)
        self._show()

    def done(self, work: Work, count: int) -> None:
        self._tally(work).add(count)
        self._show()

    def _tally(self, work: Work) -> Tally:
        if work not in self._tallies:
            self._tallies[work] = Tally()
            self._tasks[work] = self._bars.add_task("", total=None, told="")
        return self._tallies[work]

    def _show(self) -> None:
        listed = f"{self._listed:,}" if self._listed else ""
        told = {work: tally.told for work, tally in self._tallies.items()}
        room = self._bars.console.width - max(map(len, (listed, *told.values()))) - _BESIDE
        self._bars.update(self._listing, description=fitted(self._stage, room), told=listed)
        for work, tally in self._tallies.items():
            self._bars.update(
                self._tasks[work],
                description=fitted(work.value, room),
                total=tally.total or None,
                completed=tally.done,
                told=told[work],
            )


_BESIDE = 8
"""The spinner, the gaps, and the least of a bar."""


def fitted(text: str, room: int) -> str:
    """Its end, where there is not room for all: numbers go before names, and what is done before where."""
    room = max(room, 8)
    return text if len(text) <= room else f"…{text[1 - room :]}"
