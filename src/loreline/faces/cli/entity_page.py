"""An entity as a page: head, description, threads; laid out on a terminal, plain Markdown in a pipe."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, cast

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from loreline.core.entities import Kind
from loreline.core.untrusted import neutralise
from loreline.faces.cli import words
from loreline.faces.cli.output import console, is_terminal
from loreline.store.views import EntityView, NoteView, ThreadView

_WIDEST = 100
"""Prose is not read in longer lines."""


def render(view: EntityView, kind: Kind, now: int, *, system: bool, threads: bool) -> str:
    if not is_terminal():
        return "\n".join(_plain(view, kind, system=system, threads=threads)) + "\n"
    screen = console()
    buffer = io.StringIO()
    paper = Console(
        file=buffer,
        width=min(screen.width, _WIDEST),
        force_terminal=True,
        color_system=cast(Any, screen.color_system),
        no_color=screen.no_color,
        markup=False,
        highlight=False,
        emoji=False,
    )
    paper.print(Group(*_page(view, kind, now, system=system, threads=threads)))
    return buffer.getvalue()


def _page(view: EntityView, kind: Kind, now: int, *, system: bool, threads: bool) -> Iterator[RenderableType]:
    title = Text(words.line(view.title), style="bold")
    title.append(f"  {view.project}{kind.sigil}{view.iid}", style="dim")
    yield title
    yield _state_line(view, now)
    for name, value in _facts(view):
        fact = Text(f"{name}: ", style="dim")
        fact.append(value)
        yield fact
    yield Text()
    yield _prose(view.description) if view.description else Text("no description", style="dim italic")
    if not threads:
        return
    shown = list(_shown_threads(view, system=system))
    if view.threads_pending:
        yield Text("\nits threads are not all fetched yet: run lore sync", style="yellow")
    if shown:
        yield Text()
        yield Rule(Text(words.count(view.comments, "comment"), style="dim"), style="dim", align="left")
    for thread, notes in shown:
        yield from _thread(thread, notes, now)


def _state_line(view: EntityView, now: int) -> Text:
    line = Text()
    line.append(view.state, style=f"bold {words.STATE_STYLES.get(view.state, '')}")
    if view.draft:
        line.append(" draft", style="yellow")
    if view.confidential:
        line.append(" confidential", style="bold red")
    line.append(f" · @{words.line(view.author or 'ghost')} opened {words.when(view.created_at, now)}")
    if view.merged_at is not None:
        by = f" by @{words.line(view.merged_by)}" if view.merged_by else ""
        line.append(f" · merged {words.when(view.merged_at, now)}{by}")
    elif view.closed_at is not None:
        by = f" by @{words.line(view.closed_by)}" if view.closed_by else ""
        line.append(f" · closed {words.when(view.closed_at, now)}{by}")
    line.append(f" · updated {words.when(view.updated_at, now)}")
    return line


def _facts(view: EntityView) -> Iterator[tuple[str, str]]:
    if view.labels:
        yield "labels", ", ".join(words.line(label) for label in view.labels)
    if view.milestone:
        yield "milestone", words.line(view.milestone)
    for name, people in (("assignees", view.assignees), ("reviewers", view.reviewers)):
        if people:
            yield name, ", ".join(f"@{words.line(person)}" for person in people)
    if view.due_date:
        yield "due", view.due_date
    if view.source_branch:
        yield "branch", f"{words.line(view.source_branch)} → {words.line(view.target_branch)}"
    if view.files:
        lines = f", +{view.added_lines or 0:,} −{view.removed_lines or 0:,}"
        yield "changes", f"{words.count(view.commits, 'commit')}, {words.count(view.files, 'file')}{lines}"
    sha = view.squash_commit_sha or view.merge_commit_sha
    if sha:
        yield "merged as", sha[:12]
    if view.web_url:
        yield "address", words.line(view.web_url)


def _shown_threads(view: EntityView, *, system: bool) -> Iterator[tuple[ThreadView, list[NoteView]]]:
    for thread in view.threads:
        notes = [note for note in thread.notes if system or not note.system]
        if notes:
            yield thread, notes


def _thread(thread: ThreadView, notes: list[NoteView], now: int) -> Iterator[RenderableType]:
    for place, note in enumerate(notes):
        yield Text()
        indent = 0 if place == 0 else 4
        yield Padding(_note_head(thread, note, now, first=place == 0), (0, 0, 0, indent))
        body: RenderableType = Text(words.line(note.body), style="dim") if note.system else _prose(note.body)
        yield Padding(body, (0, 0, 0, indent + 2))


def _note_head(thread: ThreadView, note: NoteView, now: int, *, first: bool) -> Text:
    head = Text(f"@{words.line(note.author or 'ghost')}", style="bold cyan")
    head.append(f" {words.when(note.created_at, now)}", style="not bold dim")
    if note.updated_at > note.created_at + 60_000:
        head.append(" (edited)", style="not bold dim")
    if note.internal:
        head.append(" internal", style="bold red")
    if first and note.path:
        head.append(f"  {_place(note)}", style="not bold blue")
    if first and thread.resolvable:
        style = "not bold green" if thread.resolved else "not bold yellow"
        head.append("  resolved" if thread.resolved else "  unresolved", style=style)
    return head


def _place(note: NoteView) -> str:
    line = note.new_line if note.new_line is not None else note.old_line
    return words.line(note.path) + (f":{line}" if line is not None else "")


def _prose(text: str) -> Markdown:
    return Markdown(neutralise(text), code_theme="ansi_dark", hyperlinks=False)


def _plain(view: EntityView, kind: Kind, *, system: bool, threads: bool) -> Iterator[str]:
    """Markdown as its authors wrote it, under headings a reader or a program finds."""
    yield f"# {words.line(view.title)} ({view.project}{kind.sigil}{view.iid})"
    yield ""
    yield f"state: {view.state}{', draft' if view.draft else ''}{', confidential' if view.confidential else ''}"
    yield f"author: @{words.line(view.author or 'ghost')}, {words.minute(view.created_at)}"
    if view.merged_at is not None:
        yield f"merged: {words.minute(view.merged_at)}"
    elif view.closed_at is not None:
        yield f"closed: {words.minute(view.closed_at)}"
    yield f"updated: {words.minute(view.updated_at)}"
    for name, value in _facts(view):
        yield f"{name}: {value}"
    if view.description:
        yield ""
        yield neutralise(view.description)
    if not threads:
        return
    for thread, notes in _shown_threads(view, system=system):
        for place, note in enumerate(notes):
            yield ""
            marks = " (internal)" if note.internal else ""
            where = f" on {_place(note)}" if note.path and place == 0 else ""
            resolved = " [resolved]" if thread.resolved and place == 0 else ""
            author = words.line(note.author or "ghost")
            yield f"{'##' if place == 0 else '###'} @{author}, {words.minute(note.created_at)}{where}{marks}{resolved}"
            yield ""
            yield neutralise(note.body)
