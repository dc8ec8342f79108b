"""`lore generate-docs`."""

from __future__ import annotations

import click

from loreline.errors import PartialFailure
from loreline.faces.cli import words
from loreline.faces.cli.event_loop import run_async
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit
from loreline.faces.cli.progress import shown_progress


@click.command("generate-docs")
@click.option("--full", is_flag=True, help="Make everything anew, not only what has changed.")
@click.option("--force", is_flag=True, help="Take over from a run that is called running.")
@shared_options
@pass_invocation
def command(invocation: Invocation, /, *, full: bool, force: bool) -> None:
    """Make what is mirrored searchable by its words.

    `lore sync` does this by itself. It is for a sync that left it out, and with --full for changed settings.
    """
    from loreline.services.search.refreshing import generate_documents

    app = invocation.app()
    with shown_progress(wanted=not invocation.quiet and not invocation.robot) as progress:
        done = run_async(generate_documents(app.settings, full=full, force=force, clock=app.clock, progress=progress))
    if invocation.robot:
        emit(done, invocation)
    elif not invocation.quiet:
        parts = [
            words.count(number, noun)
            for number, noun in (
                (done.issues, "issue"),
                (done.merge_requests, "merge request"),
                (done.discussions, "thread"),
            )
            if number
        ]
        click.echo(f"written: {', '.join(parts) or 'nothing'}; {done.unchanged:,} unchanged, {done.removed:,} removed")
        if done.truncated:
            click.echo(f"{words.count(done.truncated, 'thread')} cut, being longer than documents.longest_thread")
    if done.failed:
        failure = PartialFailure(
            f"{words.count(done.failed, 'issue or merge request', 'issues or merge requests')} failed",
            hint="lore stats tells how many wait; they are tried again later",
        )
        if invocation.robot:
            raise SystemExit(failure.exit_code)
        raise failure
