"""The results of a search, on a terminal and in a pipe."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import click
from msgspec import Struct
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loreline.core.times import to_iso
from loreline.core.untrusted import neutralise_line
from loreline.faces.cli import words
from loreline.faces.cli.invocation import Invocation
from loreline.faces.cli.output import console, is_terminal
from loreline.services.search.request import Answer, Hit, Snippet

_NOUNS = {"issue": "issue", "merge_request": "merge request", "discussion": "thread"}
_WIDEST = 110


def show(invocation: Invocation, answer: Answer, now: int, *, explain: bool, again: Sequence[str]) -> None:
    """Data goes to stdout; what is said about it to stderr. `again` are the options of whoever asks once more."""
    for warning in answer.warnings:
        invocation.warn(warning)
    if not is_terminal():
        for hit in answer.results:
            cells = [*_cells(hit), *([_shares(hit)] if explain else [])]
            click.echo("\t".join(words.line(cell) for cell in cells))
    elif answer.results:
        screen = console()
        for part in _page(answer, now, explain=explain):
            if isinstance(part, Address):
                # As one line to the terminal, which folds it by itself and keeps it one link.
                screen.print(Text(f"    {part.url}", style="dim blue"), soft_wrap=True)
            else:
                screen.print(part, width=min(screen.width, _WIDEST))
    if not answer.results:
        click.echo(f"nothing found for {_asked(answer)}", err=not is_terminal())
    if invocation.quiet:
        return
    for suggestion in answer.suggestions:
        click.secho(words.line(suggestion.text), fg="yellow", err=True)
        if suggestion.query:
            click.echo(f"  lore search {words.line(shlex.join([suggestion.query, *again]))}", err=True)
    if answer.left_out and explain:
        click.echo(f"too common to be looked up: {', '.join(map(words.line, answer.left_out))}", err=True)
    if answer.next_cursor is not None:
        click.echo(f"\nthe next page: --cursor {answer.next_cursor}", err=True)


def _asked(answer: Answer) -> str:
    asked = words.line(answer.query)
    return f"{asked!r} ({answer.mode.value} search)" if asked else "these filters"


def _cells(hit: Hit) -> list[str]:
    return [
        hit.reference,
        hit.type.value,
        hit.title,
        hit.state,
        hit.author or "",
        to_iso(hit.updated_at),
        f"{hit.score:.3f}",
        hit.snippet.url or hit.url or "",
        hit.snippet.text,
    ]


class Address(Struct, frozen=True):
    url: str


def _page(answer: Answer, now: int, *, explain: bool) -> Iterator[RenderableType | Address]:
    several = len({hit.project for hit in answer.results}) > 1
    for number, hit in enumerate(answer.results, start=1):
        if number > 1:
            yield Text()
        yield from _hit(number, hit, now, several=several, explain=explain)


def _hit(number: int, hit: Hit, now: int, *, several: bool, explain: bool) -> Iterator[RenderableType | Address]:
    sigil = "!" if "!" in hit.reference.rpartition("/")[2] else "#"
    head = Text(f"{sigil}{hit.iid}", style=f"bold {words.STATE_STYLES.get(hit.state, '')}")
    head.append(f"  {words.line(hit.title)}", style="not dim bold")
    numbered = Table.grid(padding=(0, 2, 0, 0))
    numbered.add_row(Text(f"{number:>2}", style="dim"), head)
    yield numbered
    about = Text(_NOUNS[hit.type.value], style="dim")
    about.append(f" · {hit.state}", style=f"not dim {words.STATE_STYLES.get(hit.state, '')}")
    if hit.confidential:
        about.append(" · confidential", style="not dim bold red")
    about.append(f" · @{words.line(hit.author or 'ghost')} · {words.when(hit.updated_at, now)}")
    if hit.labels:
        about.append(f" · {', '.join(map(words.line, hit.labels[:4]))}", style="not dim yellow")
    if several:
        about.append(f" · {words.line(hit.project)}")
    yield Padding(about, (0, 0, 0, 4))
    if hit.snippet.text:
        yield Padding(_marked(hit.snippet), (0, 0, 0, 4))
    if hit.snippet.url:
        yield Address(words.line(hit.snippet.url))
    for thread in hit.threads:
        if thread.snippet.note_id == hit.snippet.note_id:
            continue
        line = Text("└ ", style="dim")
        line.append(
            f"@{words.line(thread.author or 'ghost')} {words.when(thread.created_at, now)}: ", style="not dim cyan"
        )
        line.append_text(_marked(thread.snippet))
        yield Padding(line, (0, 0, 0, 6))
    if explain:
        yield Padding(Text(_shares(hit), style="magenta"), (0, 0, 0, 4))


def _shares(hit: Hit) -> str:
    """Where a score comes from."""
    if hit.exact:
        return "named by the query"
    shares = [f"{name} {part.share:.3f} (#{part.rank}, {part.score:.2f})" for name, part in sorted(hit.explain.items())]
    return f"{hit.score:.3f} = " + " + ".join(shares)


def _marked(snippet: Snippet) -> Text:
    """The words that matched stand out. What is neutralised before may be longer, so each stretch goes by itself."""
    made = Text(style="not bold")
    at = 0
    for start, end in snippet.marks:
        made.append(_safe(snippet.text[at:start]))
        made.append(_safe(snippet.text[start:end]), style="bold yellow")
        at = end
    made.append(_safe(snippet.text[at:]))
    return made


def _safe(text: str) -> str:
    """Safe for a terminal, with the spaces at its ends."""
    if not text.strip():
        return " " if text else ""
    before = " " if text[0].isspace() else ""
    after = " " if text[-1].isspace() else ""
    return f"{before}{neutralise_line(text)}{after}"
