"""`lore stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loreline.errors import PartialFailure, UsageError
from loreline.faces.cli import words
from loreline.faces.cli.event_loop import run_async
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit
from loreline.faces.cli.progress import shown_progress
from loreline.faces.cli.tables import Cell, Column, show_table

if TYPE_CHECKING:
    from loreline.services.search.checking import Fault, Repaired, Stats


@click.command("stats")
@click.option("--check", is_flag=True, help="Look for faults in what search goes by.")
@click.option("--repair", is_flag=True, help="With --check: mend them.")
@click.option("--force", is_flag=True, help="Take over from a run that is called running.")
@shared_options
@pass_invocation
def command(invocation: Invocation, /, *, check: bool, repair: bool, force: bool) -> None:
    """Show how much is searchable, what waits and what failed; check it, and repair it."""
    from loreline.services.search import checking
    from loreline.services.search.generating import rules_of

    if repair and not check:
        raise UsageError("--repair goes with --check", hint="lore stats --check --repair")
    app = invocation.app()
    if repair:
        with shown_progress(wanted=not invocation.quiet and not invocation.robot) as progress:
            repaired = run_async(checking.repair(app.settings, force=force, clock=app.clock, progress=progress))
        _tell_repaired(invocation, repaired)
        return
    now = app.clock()
    with app.database() as db:
        stats = checking.stats(db, now)
        rules = rules_of(app.settings.documents)
        faults = checking.check(db, app.settings.database, rules, now) if check else None
    found = checking.found(faults or [])
    if invocation.robot:
        emit({"stats": stats, "faults": faults, "sound": not found if check else None}, invocation)
    else:
        _tell(stats)
        if faults is not None:
            _tell_faults(faults)
    if found:
        raise _failure(found, "lore stats --check --repair mends them", robot=invocation.robot)


def _failure(found: list[Fault], hint: str, *, robot: bool) -> BaseException:
    failure = PartialFailure(f"{words.count(sum(one.count for one in found), 'fault')} found", hint=hint)
    return SystemExit(failure.exit_code) if robot else failure


def _tell_repaired(invocation: Invocation, repaired: Repaired) -> None:
    if invocation.robot:
        emit({"repaired": repaired.faults, "left": repaired.left, "sound": not repaired.left}, invocation)
    elif not repaired.faults:
        click.echo("nothing to repair")
    else:
        _tell_faults(repaired.faults)
        click.echo("\nmended; lore embed makes the vectors that are missing now")
    if repaired.left:
        raise _failure(repaired.left, "lore generate-docs --full makes everything anew", robot=invocation.robot)


def _tell(stats: Stats) -> None:
    documents, queues = stats.documents, stats.queues
    rows: list[list[str | Cell]] = [
        ["documents", f"{documents.total:,}", ""],
        ["  issues", f"{documents.issues:,}", ""],
        ["  merge requests", f"{documents.merge_requests:,}", ""],
        ["  threads", f"{documents.discussions:,}", f"{documents.truncated:,} cut" if documents.truncated else ""],
        ["passages", f"{documents.passages:,}", ""],
        ["indexed by words", f"{sum(stats.words.values()):,}", ""],
    ]
    for space in stats.spaces:
        told = f"{space.coverage:.1%}" + ("" if space.active else ", not searched yet")
        rows.append([f"vectors ({space.name})", f"{space.embedded:,}", told])
        rows.append([Cell("  waiting", plain="waiting for their vectors"), f"{space.pending:,}", _failed(space.failed)])
    rows.append(["to be made documents", f"{queues.changes:,}", _failed(queues.documents_failed)])
    rows.append(["to be fetched", f"{queues.fetches:,}", _failed(queues.fetches_failed)])
    show_table(
        (Column("WHAT", flexible=True), Column("NUMBER", right=True), Column("", style="dim", flexible=True)), rows
    )
    for space in stats.spaces:
        for error in space.errors:
            click.echo(f"  not embedded: {words.line(error)}")


def _failed(number: int) -> str:
    return f"{number:,} failed" if number else ""


def _tell_faults(faults: list[Fault]) -> None:
    click.echo()
    for fault in faults:
        mark, color = ("✓", "green") if not fault.count else ("✗", "red")
        click.secho(f"{mark} ", fg=color, nl=False)
        click.echo(f"{fault.count:,} {fault.meaning}")
