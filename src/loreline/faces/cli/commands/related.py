"""`lore related`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from loreline.errors import InvalidValue
from loreline.faces.cli import words
from loreline.faces.cli.filters import filter_options, filters_of
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit, is_terminal
from loreline.faces.cli.reference import kind_and_reference
from loreline.faces.cli.tables import Cell, Column, show_table

if TYPE_CHECKING:
    from loreline.services.search.relating import Neighbourhood

_MOST = 100


@click.command("related")
@click.argument("what", metavar="[issue|mr]", required=False)
@click.argument("ref", required=False)
@click.option("-n", "--limit", type=click.IntRange(1, _MOST), default=10, show_default=True, help="How many to show.")
@click.option("--explain", is_flag=True, help="Show what each part adds to the score.")
@filter_options
@shared_options
@pass_invocation
def command(
    invocation: Invocation, /, *, what: str | None, ref: str | None, limit: int, explain: bool, **filters: Any
) -> None:
    """Show what is nearest to an issue or merge request, by words and by meaning.

    REF is 123, '#123', '!123', group/project#123 or a GitLab address. What is linked with it already is marked.
    """
    from loreline.core.documents import SourceType
    from loreline.services.search.relating import related
    from loreline.services.search.session import session_of

    kind, text = kind_and_reference(what, ref, "related")
    app = invocation.app()
    now = app.clock()
    narrowed = filters_of(now, **filters)
    if narrowed.source_type is SourceType.DISCUSSION:
        raise InvalidValue("threads are not compared", hint="--type issue, or --type mr")
    session = session_of(app.settings, app.environ)
    try:
        told = related(session, kind, text, None, narrowed, limit)
    finally:
        session.close()
    if invocation.robot:
        emit(_data(told, explain=explain), invocation)
        return
    _show(told, now, explain=explain)


def _data(told: Neighbourhood, *, explain: bool) -> dict[str, Any]:
    import msgspec

    data: dict[str, Any] = msgspec.to_builtins(told, enc_hook=str)
    if not explain:
        for one in data["related"]:
            del one["explain"]
    return data


def _show(told: Neighbourhood, now: int, *, explain: bool) -> None:
    if is_terminal():
        click.echo(f"nearest to {told.reference}, {words.line(told.title)}\n")
    if not told.related:
        click.echo("nothing is near it", err=not is_terminal())
        return
    from loreline.core.times import to_iso

    columns = [Column("", right=True), Column("TITLE", flexible=True), Column("LINK", style="green")]
    columns.append(Column("NEAR", right=True))
    columns += [Column("AUTHOR", style="cyan", wide_only=True), Column("UPDATED", style="dim", right=True)]
    if explain:
        columns.append(Column("SHARES", style="magenta"))
    several = len({one.project for one in told.related}) > 1
    rows: list[list[str | Cell]] = []
    for one in told.related:
        short = one.reference if several else one.reference[len(one.project) :]
        row: list[str | Cell] = [
            Cell(short, words.STATE_STYLES.get(one.state, ""), plain=one.reference),
            ("confidential: " if one.confidential else "") + one.title,
            one.linked or "",
            f"{one.score:.2f}",
            one.author or "",
            Cell(words.when(one.updated_at, now), plain=to_iso(one.updated_at)),
        ]
        if explain:
            row.append(" ".join(f"{name} {part.share:.2f}" for name, part in sorted(one.explain.items())))
        rows.append(row)
    show_table(columns, rows)
