"""The results of a search, on a terminal and in a pipe."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from loreline.core.times import to_iso
from loreline.core.untrusted import neutralise_line
from loreline.faces.cli import words
from loreline.faces.cli.invocation import Invocation
from loreline.faces.cli.output import console, is_terminal
from loreline.services.search.request import Answer, Hit, Snippet

_NOUNS = {"issue": "issue", "merge_request": "merge request", "discussion": "thread"}
_WIDEST = 110


def show(invocation: Invocation, answer: Answer, now: int, *, explain: bool) -> None:
    """Data goes to stdout; what is said about it to stderr."""
    for warning in answer.warnings:
        invocation.warn(warning)
    if not is_terminal():
        for hit in answer.results:
            click.echo("\t".join(words.line(cell) for cell in _cells(hit)))
    elif answer.results:
        screen = console()
        screen.print(Group(*_page(answer, now, explain=explain)), width=min(screen.width, _WIDEST), soft_wrap=False)
    if not answer.results:
        click.echo(f"nothing found for {_asked(answer)}", err=not is_terminal())
    if invocation.quiet:
        return
    for suggestion in answer.suggestions:
        click.secho(words.line(suggestion.text), fg="yellow", err=True)
        if suggestion.query:
            click.echo(f"  lore search {words.line(_quoted(suggestion.query))}", err=True)
    if answer.left_out and explain:
        click.echo(f"too common to be looked up: {', '.join(map(words.line, answer.left_out))}", err=True)
    if answer.next_cursor is not None:
        click.echo(f"\nthe next page: --cursor {answer.next_cursor}", err=True)


def _asked(answer: Answer) -> str:
    asked = words.line(answer.query)
    return f"{asked!r} ({answer.mode.value} search)" if asked else "these filters"


def _quoted(query: str) -> str:
    import shlex

    return shlex.quote(query)


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


def _page(answer: Answer, now: int, *, explain: bool) -> Iterator[RenderableType]:
    several = len({hit.project for hit in answer.results}) > 1
    for number, hit in enumerate(answer.results, start=1):
        if number > 1:
            yield Text()
        yield from _hit(number, hit, now, several=several, explain=explain)


def _hit(number: int, hit: Hit, now: int, *, several: bool, explain: bool) -> Iterator[RenderableType]:
    head = Text(f"{number:>2}  ", style="dim")
    sigil = "!" if "!" in hit.reference.rpartition("/")[2] else "#"
    head.append(f"{sigil}{hit.iid}", style=f"not dim bold {words.STATE_STYLES.get(hit.state, '')}")
    head.append(f"  {words.line(hit.title)}", style="not dim bold")
    yield head
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
        yield Padding(Text(words.line(hit.snippet.url), style="dim blue", no_wrap=True, overflow="fold"), (0, 0, 0, 4))
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
        shares = [
            f"{name} {part.share:.3f} (#{part.rank}, {part.score:.2f})" for name, part in sorted(hit.explain.items())
        ]
        told = "named by the query" if hit.exact else f"{hit.score:.3f} = " + " + ".join(shares)
        yield Padding(Text(told, style="magenta"), (0, 0, 0, 4))


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
