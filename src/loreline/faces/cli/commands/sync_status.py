"""`lore sync-status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loreline.core.times import duration
from loreline.faces.cli import words
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit
from loreline.faces.cli.tables import Cell, Column, show_table

if TYPE_CHECKING:
    from loreline.services.mirror.status import ProjectStatus, Status
    from loreline.store.runs import Run

_STYLES = {"succeeded": "green", "partial": "yellow", "failed": "red", "interrupted": "yellow", "running": "cyan"}


@click.command("sync-status")
@click.option("-n", "--runs", type=click.IntRange(min=1), default=5, show_default=True, help="How many runs to show.")
@shared_options
@pass_invocation
def command(invocation: Invocation, /, *, runs: int) -> None:
    """Show the last syncs, how far each project has come, and what waits or fails."""
    from loreline.services.mirror.status import sync_status

    app = invocation.app()
    now = app.clock()
    with app.database() as db:
        status = sync_status(db, now, history=runs)
    if invocation.robot:
        emit(status, invocation)
    else:
        _tell(status, now)


def _tell(status: Status, now: int) -> None:
    if status.running is not None:
        click.echo(f"a sync is running (process {status.running.pid} on {status.running.host})\n")
    runs = [_run(run, now) for run in status.runs]
    columns = (Column("WHEN"), Column("RESULT"), Column("TOOK", right=True), Column("REQUESTS", right=True))
    show_table((*columns, Column("ROWS", flexible=True)), runs)
    for failure in status.failures[:10]:
        click.echo(f"  failed: {words.line(failure.project)} {failure.subject}: {words.line(failure.message)}")
    click.echo()
    projects: list[list[str | Cell]] = [
        [
            one.project,
            f"{one.issues:,}",
            f"{one.merge_requests:,}",
            _up_to(one, now),
            f"{one.waiting:,}",
            f"{one.failing:,}",
        ]
        for one in status.projects
    ]
    heads = (
        Column("PROJECT", flexible=True),
        Column("ISSUES", right=True),
        Column("MRS", right=True),
        Column("UP TO"),
        Column("WAITING", right=True),
        Column("FAILING", right=True),
    )
    show_table(heads, projects)


def _up_to(project: ProjectStatus, now: int) -> Cell:
    moments = (project.issues_reached_at, project.merge_requests_reached_at)
    reached = max((moment for moment in moments if moment is not None), default=None)
    return Cell(words.when(reached, now), plain=words.minute(reached) if reached is not None else None)


def _run(run: Run, now: int) -> list[str | Cell]:
    rows = ", ".join(f"{number:,} {kind.replace('_', ' ')}" for kind, number in run.rows.items() if number)
    took = duration(run.finished_at - run.started_at) if run.finished_at else ""
    return [
        Cell(f"{run.command}, {words.when(run.started_at, now)}", plain=words.minute(run.started_at)),
        Cell(run.status, _STYLES.get(run.status, "")),
        took,
        f"{run.requests:,}",
        rows or run.error or "nothing new",
    ]
