"""`lore sync`."""

from __future__ import annotations

from typing import Any

import click

from loreline.core.entities import Kind
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.syncing import show_preview, show_report, sync_options


@click.command("sync")
@click.option("--full", is_flag=True, help="Fetch everything anew, and drop what is gone.")
@click.option("--reconcile", is_flag=True, help="List everything and drop what is gone; threads only where changed.")
@click.option("--replay", is_flag=True, help="Rebuild all rows from the stored answers, without the network.")
@click.option("--no-events", is_flag=True, help="Leave state, label and milestone events for a later sync.")
@click.option("--no-docs", is_flag=True, help="Leave what is new out of search, until lore generate-docs.")
@click.option("--no-embed", is_flag=True, help="Make it searchable by words alone, until lore embed.")
@click.option("--dry-run", is_flag=True, help="Say how much would be looked at, and write nothing.")
@sync_options
@shared_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    full: bool,
    reconcile: bool,
    replay: bool,
    no_events: bool,
    no_docs: bool,
    no_embed: bool,
    dry_run: bool,
    force: bool,
    projects: tuple[str, ...],
    **flags: Any,
) -> None:
    """Bring the mirror up to date.

    The first sync fetches everything; later ones only what has changed. It can be stopped at any time and
    goes on where it was. What fails is told, waits, and is tried again by the next sync.

    What arrives can be searched by its words at once. Vectors, for search by meaning, follow in the background of the
    same command, newest text first.
    """
    if replay and (full or reconcile or dry_run or projects):
        raise click.UsageError("--replay stands alone: it rebuilds the whole mirror from what is stored")
    from loreline.services.mirror.sync import Options

    app = invocation.app(**flags)
    options = Options(
        command="sync" + " --full" * full + " --reconcile" * (reconcile and not full),
        full=full,
        reconcile=reconcile,
        force=force,
        events=not no_events,
        kinds=tuple(Kind),
        projects=projects,
    )
    if dry_run:
        show_preview(invocation, app, options)
    else:
        show_report(invocation, app, options, replay=replay, documents=not no_docs, vectors=not no_embed)
