"""`lore show`."""

from __future__ import annotations

import click

from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit, page
from loreline.faces.cli.reference import kind_and_reference


@click.command("show")
@click.argument("what", metavar="[issue|mr]", required=False)
@click.argument("ref", required=False)
@click.option("-p", "--project", metavar="PATH", help="The project, where REF does not say.")
@click.option("--system", is_flag=True, help="Show the notes that GitLab wrote, too.")
@click.option("--no-threads", is_flag=True, help="Only the description.")
@shared_options
@pass_invocation
def command(
    invocation: Invocation, /, *, what: str | None, ref: str | None, project: str | None, system: bool, no_threads: bool
) -> None:
    """Show an issue or merge request with all its threads.

    REF is 123, '#123', '!123', group/project#123 or a GitLab address. Where it tells the kind, `lore show '!123'` is
    enough; the quotes are for the shell, which takes # for a comment and ! for history.
    """
    from loreline.services.mirror import browse

    kind, text = kind_and_reference(what, ref, "show")
    app = invocation.app()
    with app.database() as db:
        view = browse.show(db, kind, text, project)
    if invocation.robot:
        emit(view, invocation)
        return
    from loreline.faces.cli.entity_page import render

    page(render(view, kind, app.clock(), system=system, threads=not no_threads))
