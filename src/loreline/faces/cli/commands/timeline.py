"""`lore timeline`."""

from __future__ import annotations

import click

from loreline.errors import InvalidValue
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit


@click.command("timeline")
@click.argument("query", nargs=-1, required=True)
@click.option("--depth", type=int, default=1, show_default=True, help="How many references away from what is found.")
@click.option("--expand-mentions", is_flag=True, help="Follow mentions, too, not only what closes or is related.")
@click.option("--since", metavar="WHEN", help="Only what happened since: 2024-01-31, 6m, 2w, yesterday.")
@click.option("--until", metavar="WHEN", help="Only what happened before.")
@click.option("-p", "--project", "projects", multiple=True, metavar="PATH", help="Of this project (repeatable).")
@click.option("-t", "--type", "type_", metavar="TYPE", help="Begin with an issue, or with an mr.")
@click.option("-n", "--limit", type=int, default=100, show_default=True, help="How many events, the latest ones.")
@shared_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    query: tuple[str, ...],
    depth: int,
    expand_mentions: bool,
    since: str | None,
    until: str | None,
    projects: tuple[str, ...],
    type_: str | None,
    limit: int,
) -> None:
    r"""Show everything that happened with something, in order.

    QUERY is a question, or one issue or merge request ('#123', group/project!45, an address). What is found by a
    question is followed to what it closes and is related to; the comments that say most of it stand in between.

    \b
      lore timeline login redesign
      lore timeline 'why was the cache removed' --depth 2
      lore timeline '!17' --expand-mentions --since 6m
    """
    from loreline.core.query import BadQuery, Filters, narrowed
    from loreline.services.history.timeline import Request, timeline
    from loreline.services.search.session import session_of

    app = invocation.app()
    now = app.clock()
    filters = Filters()
    try:
        for key, value in (("type", type_), ("after", since), ("before", until)):
            if value is not None:
                filters = narrowed(filters, key, value, now)
    except BadQuery as error:
        raise InvalidValue(error.message, hint=error.hint) from error
    request = Request(
        text=" ".join(query), projects=projects, source_type=filters.source_type, depth=depth,
        mentions=expand_mentions, since=filters.created_after, until=filters.created_before, limit=limit,
    )  # fmt: skip
    session = session_of(app.settings, app.environ)
    try:
        told = timeline(session, request, now)
    finally:
        session.close()
    for warning in told.warnings:
        invocation.warn(warning)
    if invocation.robot:
        from loreline.faces.cli.timeline_data import data, meta

        emit(data(told), invocation, **meta(told, request))
        return
    from loreline.faces.cli.timeline_page import show

    show(told, quiet=invocation.quiet)
