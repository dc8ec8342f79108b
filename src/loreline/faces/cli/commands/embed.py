"""`lore embed`."""

from __future__ import annotations

import click

from loreline.faces.cli import words
from loreline.faces.cli.event_loop import run_async
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit
from loreline.faces.cli.progress import shown_progress


@click.command("embed")
@click.option("--full", is_flag=True, help="Embed everything anew.")
@click.option("--retry-failed", is_flag=True, help="Try again at once what failed, without waiting for its time.")
@click.option("--force", is_flag=True, help="Take over from a run that is called running.")
@shared_options
@pass_invocation
def command(invocation: Invocation, /, *, full: bool, retry_failed: bool, force: bool) -> None:
    """Make what is mirrored searchable by its meaning: newest text first, and where it was left off.

    `lore sync` does this by itself. It can be stopped at any time.
    """
    from loreline.services.search.refreshing import embed_documents, partial_failure

    app = invocation.app()
    if app.settings.embedding.provider == "none":
        invocation.warn('embedding.provider is "none": there is nothing to do')
    with shown_progress(wanted=not invocation.quiet and not invocation.robot) as progress:
        done = run_async(
            embed_documents(
                app.settings,
                app.environ,
                full=full,
                retry_failed=retry_failed,
                force=force,
                clock=app.clock,
                progress=progress,
            )
        )
    failure = partial_failure(done)
    if invocation.robot:
        if failure is not None:
            invocation.warn(failure.message)
        emit(done, invocation)
        if failure is not None:
            raise SystemExit(failure.exit_code)
        return
    if not invocation.quiet:
        again = f", {done.reused:,} more had a text that was embedded before" if done.reused else ""
        click.echo(f"{words.count(done.embedded, 'passage')} embedded{again}")
    if failure is not None:
        raise failure
