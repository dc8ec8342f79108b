"""A timeline for people: a line an event, and what was said under it."""

from __future__ import annotations

import click
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loreline.core.happenings import Event, Happened
from loreline.core.times import to_iso
from loreline.core.walk import Node, Step
from loreline.faces.cli import words
from loreline.faces.cli.output import console, is_terminal
from loreline.faces.cli.timeline_data import short, summary
from loreline.services.history.timeline import Timeline

_WIDEST = 120
_STYLES = {
    Happened.CREATED: "green",
    Happened.MERGED: "magenta",
    Happened.NOTE: "cyan",
    Happened.STATE: "red",
}
_VERBS = {
    Happened.CREATED: "CREATED",
    Happened.MERGED: "MERGED",
    Happened.NOTE: "NOTE",
    Happened.LABEL_ADDED: "LABEL",
    Happened.LABEL_REMOVED: "LABEL",
    Happened.MILESTONE_SET: "MILESTONE",
    Happened.MILESTONE_REMOVED: "MILESTONE",
}


_GIVEN = frozenset({Happened.LABEL_ADDED, Happened.MILESTONE_SET})
"""What an entity may be given when it is made."""


def show(told: Timeline, *, quiet: bool) -> None:
    """Data goes to stdout; what is said about it to stderr."""
    if not told.events:
        click.echo(f"nothing is known to have happened with {words.line(told.query)!r}", err=not is_terminal())
        return
    if not is_terminal():
        for event in told.events:
            click.echo("\t".join(words.line(cell) for cell in _cells(event, told)))
        _cut(told, quiet=quiet)
        return
    screen = console()
    width = min(screen.width, _WIDEST)
    entities = words.count(len({event.node for event in told.events}), "entity", "entities")
    count = words.count(len(told.events), "event")
    screen.print(Text(f"Timeline: {words.line(told.query)} ({count}, {entities})", style="bold"), width=width)
    screen.print(Text("─" * width, style="dim"))
    ways = {step.node: step for step in told.steps}
    project = _common_project(told)
    announced: set[Node] = set()
    begun = {event.node: event.at for event in told.events if event.type is Happened.CREATED}
    for event in told.events:
        if event.type in _GIVEN and begun.get(event.node) == event.at:
            continue  # the line of its creation says so
        screen.print(_row(event, told, project), width=width)
        for line in _below(event, told, project, ways, announced):
            screen.print(Padding(line, (0, 0, 0, 12)), width=width)
        announced.add(event.node)
    screen.print(Text("─" * width, style="dim"))
    screen.print(_footer(told, project), width=width)
    _cut(told, quiet=quiet)


def _cut(told: Timeline, *, quiet: bool) -> None:
    if told.left_out and not quiet:
        click.echo(f"{words.count(told.left_out, 'earlier event')} left out: see --limit and --until", err=True)


def _cells(event: Event, told: Timeline) -> list[str]:
    name = told.names[event.node]
    url = f"{name.url}#note_{event.note_id}" if name.url and event.note_id is not None else name.url
    return [
        to_iso(event.at),
        event.type.value,
        name.reference,
        summary(event, told.names),
        event.actor or "",
        "" if event.node in told.seeds else "expanded",
        url or "",
    ]


def _common_project(told: Timeline) -> str:
    projects = {told.names[event.node].project for event in told.events}
    return projects.pop() if len(projects) == 1 else ""


def _row(event: Event, told: Timeline, project: str) -> Table:
    name = told.names[event.node]
    said = summary(event, told.names)
    style = _STYLES.get(event.type, "yellow")
    verb = _VERBS.get(event.type) or (event.what or "").upper()
    row = Table.grid(padding=(0, 2, 0, 0), expand=True)
    row.add_column(width=10, no_wrap=True)
    row.add_column(width=9, no_wrap=True)
    row.add_column(min_width=5, no_wrap=True)
    row.add_column(ratio=1)
    row.add_column(justify="right", no_wrap=True)
    text = Text(f'"{words.line(said)}"' if event.type is Happened.NOTE else words.line(said))
    if event.type is Happened.CREATED and name.confidential:
        text.append("  confidential", style="bold red")
    row.add_row(
        Text(words.day(event.at), style="dim"),
        Text(words.line(verb), style=f"bold {style}" if event.type in _STYLES else style),
        Text(words.line(short(name, project)), style="bold"),
        text,
        Text(f"@{words.line(event.actor)}" if event.actor else "", style="cyan"),
    )
    return row


def _below(event: Event, told: Timeline, project: str, ways: dict[Node, Step], announced: set[Node]) -> list[Text]:
    lines = []
    if event.type is Happened.CREATED and event.labels:
        lines.append(Text(f"labels: {', '.join(words.line(label) for label in event.labels)}", style="dim"))
    if event.type is Happened.NOTE and event.path:
        where = f"{event.path}:{event.line}" if event.line else event.path
        lines.append(Text(words.line(where), style="dim"))
    if event.node in ways and event.node not in announced:
        lines.append(Text(f"expanded {_way(ways[event.node], told, project)}", style="dim italic"))
    return lines


def _way(step: Step, told: Timeline, project: str) -> str:
    """`via !567, which closes it`."""
    origin = short(told.names[step.origin], project)
    out = step.edge.source == step.origin
    verbs = {
        "closes": ("which closes it", "which it closes"),
        "mentioned": ("which mentions it", "which it mentions"),
        "related": ("which is related", "which is related"),
    }
    return words.line(f"via {origin}, {verbs[step.edge.type.value][0 if out else 1]}")


def _footer(told: Timeline, project: str) -> Text:
    line = Text(style="dim")
    line.append("found: " + words.line(", ".join(short(told.names[node], project) for node in told.seeds)))
    if told.steps:
        line.append(" · expanded: " + words.line(", ".join(short(told.names[s.node], project) for s in told.steps)))
    if told.unresolved:
        line.append(f" · {words.count(len(told.unresolved), 'reference')} to what is not mirrored")
    return line
