"""`lore ingest`."""

from __future__ import annotations

from typing import Any

import click

from loreline.core.entities import Kind
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.syncing import show_report, sync_options


@click.command("ingest")
@click.argument("what", type=click.Choice(["issues", "merge_requests"]))
@click.option("--full", is_flag=True, help="Fetch everything anew, and drop what is gone.")
@sync_options
@shared_options
@pass_invocation
def command(
    invocation: Invocation, /, *, what: str, full: bool, force: bool, projects: tuple[str, ...], **flags: Any
) -> None:
    """Bring only the issues or only the merge requests up to date, with their threads and events.

    It only mirrors: what is new is searchable after lore sync, or lore generate-docs and lore embed.
    """
    from loreline.services.mirror.sync import Options

    kind = Kind.ISSUE if what == "issues" else Kind.MERGE_REQUEST
    options = Options(command=f"ingest {what}", full=full, force=force, kinds=(kind,), projects=projects)
    show_report(invocation, invocation.app(**flags), options, documents=False)
