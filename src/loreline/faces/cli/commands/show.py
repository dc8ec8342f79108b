"""`lore show`."""

from __future__ import annotations

import shlex

import click

from loreline.core.entities import Kind
from loreline.core.references import parse_reference
from loreline.errors import InvalidValue, UsageError
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit, page

_KINDS = {
    "issue": Kind.ISSUE,
    "issues": Kind.ISSUE,
    "mr": Kind.MERGE_REQUEST,
    "mrs": Kind.MERGE_REQUEST,
    "merge_request": Kind.MERGE_REQUEST,
    "merge-request": Kind.MERGE_REQUEST,
}


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

    kind, text = _meaning(what, ref)
    app = invocation.app()
    with app.database() as db:
        view = browse.show(db, kind, text, project)
    if invocation.robot:
        emit(view, invocation)
        return
    from loreline.faces.cli.entity_page import render

    page(render(view, kind, app.clock(), system=system, threads=not no_threads))


def _meaning(what: str | None, ref: str | None) -> tuple[Kind, str]:
    if what is None:
        raise UsageError("what is to be shown is missing", hint="lore show issue 12, or lore show '#12' in quotes")
    if ref is not None:
        if what not in _KINDS:
            raise InvalidValue(f"{what!r} can't be shown", hint="lore show issue REF, or lore show mr REF")
        return _KINDS[what], ref
    found = parse_reference(what)
    if found is None or found.kind is None:
        quoted = shlex.quote(what)
        raise InvalidValue(
            f"{what!r} does not say what to show", hint=f"lore show issue {quoted}, or lore show mr {quoted}"
        )
    return found.kind, what
