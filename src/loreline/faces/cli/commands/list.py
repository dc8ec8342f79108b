"""`lore list issues` and `lore list mrs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loreline.core.entities import Kind
from loreline.core.times import parse_when
from loreline.errors import InvalidValue
from loreline.faces.cli import words
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit, is_terminal
from loreline.faces.cli.tables import Cell, Column, show_table

if TYPE_CHECKING:
    from loreline.services.mirror.browse import Listing
    from loreline.store.listing import Row

_STATES = {
    "issues": (Kind.ISSUE, {"opened": ("opened",), "closed": ("closed",), "all": ()}),
    "mrs": (
        Kind.MERGE_REQUEST,
        {"opened": ("opened", "locked"), "merged": ("merged",), "closed": ("closed",), "all": ()},
    ),
}
_ALIASES = {"open": "opened", "issue": "issues", "mr": "mrs", "merge_requests": "mrs", "merge-requests": "mrs"}


@click.command("list")
@click.argument("what", metavar="issues|mrs")
@click.option("-p", "--project", "projects", multiple=True, metavar="PATH", help="Only this project (repeatable).")
@click.option("-s", "--state", default="all", show_default=True, help="opened, closed, merged (mrs) or all.")
@click.option("-A", "--author", metavar="USER", help="Written by.")
@click.option("-a", "--assignee", metavar="USER", help="Assigned to.")
@click.option("-r", "--reviewer", metavar="USER", help="Reviewed by (mrs).")
@click.option(
    "-l", "--label", "labels", multiple=True, metavar="NAME", help="With this label (repeatable: all of them)."
)
@click.option("-m", "--milestone", metavar="TITLE", help="Of this milestone.")
@click.option("--since", metavar="WHEN", help="Changed since: 2024-01-31, 6m, 2w, 3d, yesterday.")
@click.option("-S", "--search", metavar="WORDS", help="All these words in the title.")
@click.option(
    "--sort", type=click.Choice(["updated", "created", "number", "title"]), default="updated", show_default=True
)
@click.option("--asc", "ascending", is_flag=True, help="Smallest or oldest first.")
@click.option("-n", "--limit", type=int, default=30, show_default=True, help="How many to show.")
@click.option("--cursor", metavar="CURSOR", help="Go on where an earlier list ended.")
@shared_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    what: str,
    projects: tuple[str, ...],
    state: str,
    author: str | None,
    assignee: str | None,
    reviewer: str | None,
    labels: tuple[str, ...],
    milestone: str | None,
    since: str | None,
    search: str | None,
    sort: str,
    ascending: bool,
    limit: int,
    cursor: str | None,
) -> None:
    """List issues or merge requests of the mirror.

    On a terminal a table; in a pipe one tab-separated line each: number, project, title, state, author, labels,
    milestone, assignees, comments, time of the last change, address.
    """
    from loreline.services.mirror.browse import Query, list_entities

    kind, states = _kind_and_states(what, state)
    app = invocation.app()
    now = app.clock()
    query = Query(
        projects=projects,
        states=states,
        author=author,
        assignee=assignee,
        reviewer=reviewer,
        labels=labels,
        milestone=milestone,
        updated_since=_moment(since, now),
        search=search,
        sort=sort,
        ascending=ascending,
        limit=limit,
        cursor=cursor,
    )
    with app.database() as db:
        listing = list_entities(db, kind, query)
    if invocation.robot:
        emit(
            {"items": listing.items, "total": listing.total, "next_cursor": listing.next_cursor},
            invocation,
            truncated=listing.next_cursor is not None,
        )
        return
    _show(invocation, kind, listing, now)


def _kind_and_states(what: str, state: str) -> tuple[Kind, tuple[str, ...]]:
    known = _STATES.get(_ALIASES.get(what, what))
    if known is None:
        raise InvalidValue(f"{what!r} can't be listed", hint="lore list issues, or lore list mrs")
    kind, states = known
    chosen = _ALIASES.get(state, state)
    if chosen not in states:
        raise InvalidValue(f"there is no state {state!r} of {kind.noun}s", hint=f"use {', '.join(states)}")
    return kind, states[chosen]


def _moment(text: str | None, now: int) -> int | None:
    if text is None:
        return None
    moment = parse_when(text, now)
    if moment is None:
        raise InvalidValue(f"{text!r} is no date", hint="write 2024-01-31, 6m, 2w, 3d, today or yesterday")
    return moment


def _show(invocation: Invocation, kind: Kind, listing: Listing, now: int) -> None:
    several = len({row.project for row in listing.items}) > 1
    if is_terminal():
        _headline(kind, listing)
        columns, rows = _for_people(kind, listing.items, now, several=several)
    else:
        columns, rows = (), [_for_pipes(kind, row) for row in listing.items]
    if rows:
        show_table(columns, rows)
    if listing.next_cursor is not None and not invocation.quiet:
        click.echo(f"\nthe next page: --cursor {listing.next_cursor}", err=True)


def _headline(kind: Kind, listing: Listing) -> None:
    noun = words.count(listing.total, kind.noun)
    if not listing.items:
        click.echo(f"no {kind.noun} matches")
    elif len(listing.items) < listing.total:
        click.echo(f"{len(listing.items):,} of {noun}\n")
    else:
        click.echo(f"{noun}\n")


def _for_people(
    kind: Kind, rows: list[Row], now: int, *, several: bool
) -> tuple[tuple[Column, ...], list[list[str | Cell]]]:
    columns = [Column("", right=True), Column("TITLE", flexible=True), Column("AUTHOR", style="cyan")]
    columns += [Column("LABELS", style="yellow", wide_only=True)]
    if kind is Kind.MERGE_REQUEST:
        columns.append(Column("BRANCH", style="blue", wide_only=True))
    columns.append(Column("UPDATED", style="dim", right=True))
    if several:
        columns.append(Column("PROJECT", style="dim", wide_only=True))
    made: list[list[str | Cell]] = []
    for row in rows:
        said = row.title.lower().startswith(("draft:", "wip:", "[draft]", "(draft)"))
        marks = "Draft: " * (row.draft and not said) + "confidential: " * row.confidential
        cells: list[str | Cell] = [
            Cell(f"{kind.sigil}{row.iid}", words.STATE_STYLES.get(row.state, "")),
            marks + row.title,
            row.author or "",
            ", ".join(row.labels),
        ]
        if kind is Kind.MERGE_REQUEST:
            cells.append(row.source_branch or "")
        cells.append(words.when(row.updated_at, now))
        if several:
            cells.append(row.project)
        made.append(cells)
    return tuple(columns), made


def _for_pipes(kind: Kind, row: Row) -> list[str | Cell]:
    from loreline.core.times import to_iso

    return [
        f"{kind.sigil}{row.iid}",
        row.project,
        row.title,
        row.state,
        row.author or "",
        ",".join(row.labels),
        row.milestone or "",
        ",".join(row.assignees),
        str(row.comments),
        to_iso(row.updated_at),
        row.web_url or "",
    ]
