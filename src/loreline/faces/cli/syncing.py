"""What `lore sync` and `lore ingest` share: their options, the run and its report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from loreline.app import App
from loreline.faces.cli import words
from loreline.faces.cli.event_loop import run_async
from loreline.faces.cli.invocation import F, Invocation
from loreline.faces.cli.output import emit
from loreline.faces.cli.progress import shown_progress
from loreline.faces.cli.tables import Column, show_table

if TYPE_CHECKING:
    from loreline.services.mirror.report import SyncReport
    from loreline.services.mirror.sync import Options

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("-p", "--project", "projects", multiple=True, metavar="PATH", help="Only this configured project."),
    click.option("--force", is_flag=True, help="Take over from a sync that is called running."),
    click.option(
        "--concurrency", "sync__concurrency", type=int, metavar="N", help="Requests in flight at once (default 8)."
    ),
    click.option(
        "--requests-per-second",
        "sync__requests_per_second",
        type=float,
        metavar="N",
        help="Never ask faster than this.",
    ),
    click.option(
        "--timeout", "sync__timeout_seconds", type=float, metavar="SECONDS", help="Wait so long for an answer."
    ),
)


def sync_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def show_report(
    invocation: Invocation,
    app: App,
    options: Options,
    *,
    replay: bool = False,
    documents: bool = True,
    vectors: bool = True,
) -> None:
    from loreline.services.mirror.replay import run_replay
    from loreline.services.mirror.report import partial_failure
    from loreline.services.mirror.sync import run_sync
    from loreline.services.search.refreshing import beside_sync

    companion = beside_sync(app.settings, app.environ, documents=documents, vectors=vectors)
    with shown_progress(wanted=not invocation.quiet and not invocation.robot) as progress:
        if replay:
            run = run_replay(app.settings, force=options.force, clock=app.clock, progress=progress, companion=companion)
        else:
            run = run_sync(app.settings, app.environ, options, app.clock, progress, companion)
        report = run_async(run)
    for warning in report.warnings:
        invocation.warn(warning)
    failure = partial_failure(report)
    if invocation.robot:
        if failure is not None:
            invocation.warn(failure.message)
        emit(report, invocation)
        if failure is not None:
            raise SystemExit(failure.exit_code)
        return
    if not invocation.quiet:
        _tell(report)
    if failure is not None:
        raise failure


_ROWS = (
    ("issues", "issue", None),
    ("merge_requests", "merge request", None),
    ("discussions", "thread", None),
    ("notes", "note", None),
    ("deleted", "gone", "gone"),
    ("documents", "document", None),
    ("vectors", "vector", None),
)


def _tell(report: SyncReport) -> None:
    run = report.run
    rows = run.rows
    events = sum(rows.get(f"{name}_events", 0) for name in ("state", "label", "milestone"))
    parts = [words.count(rows[key], word, plural) for key, word, plural in _ROWS if rows.get(key)]
    if events:
        parts.append(words.count(events, "event"))
    from loreline.core.times import duration

    took = duration((run.finished_at or run.started_at) - run.started_at)
    what = ", ".join(parts) if parts else "nothing has changed"
    click.echo(f"{words.count(len(report.projects), 'project')}: {what}")
    traffic = f", {words.count(run.requests, 'request')}, {words.size(run.bytes_received)}" if run.requests else ""
    again = f", {run.retries:,} tried again" if run.retries else ""
    click.echo(f"took {took}{traffic}{again}")
    for failure in report.failures[:5]:
        click.echo(
            f"  failed: {words.line(failure.project)} {failure.subject}: {words.line(failure.message)}", err=True
        )
    if report.put_off:
        click.echo(f"  {words.count(report.put_off, 'fetch', 'fetches')} put off until a later sync", err=True)


def show_preview(invocation: Invocation, app: App, options: Options) -> None:
    from loreline.services.mirror.preview import preview

    told = run_async(preview(app.settings, app.environ, options, app.clock()))
    if invocation.robot:
        emit(told, invocation)
        return
    rows = [
        [
            one.project,
            "first sync" if one.first else "update",
            "?" if one.issues is None else f"{one.issues:,}",
            "?" if one.merge_requests is None else f"{one.merge_requests:,}",
            f"{one.waiting:,}",
        ]
        for one in told.projects
    ]
    columns = (
        Column("PROJECT", flexible=True),
        Column("SYNC"),
        Column("ISSUES", right=True),
        Column("MERGE REQUESTS", right=True),
        Column("WAITING", right=True),
    )
    show_table(columns, rows)
    for failure in told.failures:
        click.echo(f"failed: {words.line(failure.project)}: {words.line(failure.message)}", err=True)
