"""`lore count`."""

from __future__ import annotations

import click

from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit, is_terminal

_TITLES = {"mrs": "Merge requests"}


@click.command("count")
@click.argument("what", type=click.Choice(["issues", "mrs", "discussions", "notes", "events", "references"]))
@click.option("-p", "--project", "projects", multiple=True, metavar="PATH", help="Only this project (repeatable).")
@shared_options
@pass_invocation
def command(invocation: Invocation, /, *, what: str, projects: tuple[str, ...]) -> None:
    """Count what is mirrored. In a pipe: the number alone."""
    from loreline.services.mirror.browse import count

    with invocation.app().database() as db:
        found = count(db, what, projects)
    if invocation.robot:
        emit(found, invocation)
    elif not is_terminal():
        click.echo(found.total)
    else:
        click.echo(f"{_TITLES.get(what, what.capitalize())}: {found.total:,}")
        for name, number in found.parts.items():
            click.echo(f"  {name.replace('_', ' '):<22} {number:>12,}")
