"""`lore search`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from loreline.errors import InvalidValue
from loreline.faces.cli.filters import filter_options, filters_of
from loreline.faces.cli.invocation import Invocation, options_given, pass_invocation, shared_options
from loreline.faces.cli.output import emit

if TYPE_CHECKING:
    from loreline.services.search.request import Answer


class SearchCommand(click.Command):
    """Takes `-word` for a part of the query: short options stand apart from their values here."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f"{_WORD}{word}" if _EXCLUDED.fullmatch(word) else word for word in args])


_WORD = "\0"
"""Before a word that is no option. Nobody can type it."""

_EXCLUDED = re.compile(r"-(?![Jqh]+\Z)[^\W\d_]\w{2,}")


@click.command("search", cls=SearchCommand)
@click.argument("query", nargs=-1)
@click.option(
    "--mode", type=click.Choice(["hybrid", "lexical", "semantic"]), default="hybrid", show_default=True,
    help="By words and meaning, by words alone, or by meaning alone.",
)  # fmt: skip
@filter_options
@click.option(
    "--sort", type=click.Choice(["relevance", "newest", "oldest"]), default="relevance", show_default=True,
    help="The best first, or by the time of the last change.",
)  # fmt: skip
@click.option("-n", "--limit", type=int, default=20, show_default=True, help="How many to show, at most 100.")
@click.option("--cursor", metavar="CURSOR", help="Go on where an earlier answer ended.")
@click.option(
    "--group/--no-group", default=None, help="Threads under their issue or merge request (for people), or not."
)
@click.option("--explain", is_flag=True, help="Show what each part adds to the score.")
@click.option(
    "--fts-mode", type=click.Choice(["safe", "raw"]), default="safe", show_default=True,
    help="Any text as it stands, or SQLite's own FTS5 syntax.",
)  # fmt: skip
@click.option("--open", "open_", type=int, metavar="N", help="Open the n-th result in the browser.")
@shared_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    query: tuple[str, ...],
    mode: str,
    sort: str,
    limit: int,
    cursor: str | None,
    group: bool | None,
    explain: bool,
    fts_mode: str,
    open_: int | None,
    **filters: Any,
) -> None:
    r"""Search issues, merge requests and threads, by words and by meaning.

    Any of the words may match; the more and the rarer, the better. A "phrase in quotes" and a +word have to be there, a
    -word must not. The filters can stand in the query, too:

    \b
      lore search why did we drop sessions
      lore search 'author:jane label:bug "exact phrase" -flaky path:src/auth/'
      lore search cache -redis --state closed
      lore search TokenManager --type mr --after 6m
      lore search '#123'
    """
    from loreline.services.search.asking import search
    from loreline.services.search.request import Mode, Request, Sort
    from loreline.services.search.session import session_of

    app = invocation.app()
    now = app.clock()
    grouped = not invocation.robot if group is None else group
    request = Request(
        text=" ".join(_requoted(tuple(word.removeprefix(_WORD) for word in query))),
        mode=Mode(mode),
        filters=filters_of(now, **filters),
        sort=Sort(sort),
        limit=limit,
        cursor=cursor,
        group=grouped,
        raw=fts_mode == "raw",
    )
    session = session_of(app.settings, app.environ)
    try:
        answer = search(session, request, now)
    finally:
        session.close()
    if open_ is not None:
        _open(invocation, answer, open_)
        return
    if invocation.robot:
        for warning in answer.warnings:
            invocation.warn(warning)
        emit(_data(answer, explain=explain), invocation, truncated=answer.next_cursor is not None)
        return
    from loreline.faces.cli.search_page import show

    again = options_given(click.get_current_context(), but=frozenset({"cursor", "open_"}))
    show(invocation, answer, now, explain=explain, again=again)


def _requoted(words: tuple[str, ...]) -> list[str]:
    """The shell took quotes away; a word that still holds spaces among others was a phrase."""
    if len(words) == 1:
        return list(words)
    return [f'"{word}"' if " " in word and '"' not in word and ":" not in word else word for word in words]


def _data(answer: Answer, *, explain: bool) -> dict[str, Any]:
    import msgspec

    told: dict[str, Any] = msgspec.to_builtins(answer, enc_hook=str)
    del told["warnings"]
    if not explain:
        for hit in told["results"]:
            del hit["explain"]
    return told


def _open(invocation: Invocation, answer: Answer, number: int) -> None:
    import webbrowser

    if not 1 <= number <= len(answer.results):
        raise InvalidValue(
            f"there is no result {number}",
            hint=f"there are {len(answer.results)}" if answer.results else "none was found",
        )
    hit = answer.results[number - 1]
    address = hit.snippet.url or hit.url
    if address is None or not address.startswith(("http://", "https://")):
        raise InvalidValue(f"{hit.reference} has no address", hint="lore show shows it here")
    opened = webbrowser.open(address)
    if invocation.robot:
        emit({"url": address, "opened": opened}, invocation)
    elif not opened:
        click.echo(address)
