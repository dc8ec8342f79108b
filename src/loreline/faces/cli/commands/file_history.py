"""`lore file-history`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from loreline.faces.cli import words
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit, is_terminal

if TYPE_CHECKING:
    from loreline.services.history.file_history import Change, FileHistory
    from loreline.store.file_changes import Remark


@click.command("file-history")
@click.argument("path")
@click.option("-p", "--project", metavar="PATH", help="Of this project, where several have such a file.")
@click.option("--discussions", is_flag=True, help="With what was said on lines of the file.")
@click.option("--merged", is_flag=True, help="Only what was merged.")
@click.option("--no-follow-renames", is_flag=True, help="Only what touched it under this very name.")
@click.option("-n", "--limit", type=int, default=30, show_default=True, help="How many merge requests.")
@shared_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    path: str,
    project: str | None,
    discussions: bool,
    merged: bool,
    no_follow_renames: bool,
    limit: int,
) -> None:
    r"""Show the merge requests that touched a file, the latest first, under whatever name it had.

    \b
      lore file-history src/auth/session.py
      lore file-history src/auth/session.py --discussions --merged
    """
    from loreline.services.history.file_history import Request, file_history

    request = Request(
        path=path, project=project, follow=not no_follow_renames, discussions=discussions, merged=merged, limit=limit
    )
    app = invocation.app()
    with app.database() as db:
        told = file_history(db, request)
    if invocation.robot:
        emit(_data(told), invocation, truncated=len(told.changes) < told.total)
        return
    _show(told, app.clock())
    if len(told.changes) < told.total and not invocation.quiet:
        left = words.count(told.total - len(told.changes), "older merge request")
        click.echo(f"{left} left out: see --limit", err=True)


def _data(told: FileHistory) -> dict[str, Any]:
    import msgspec

    def change(one: Change) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(one.touch)
        del fields["id"]
        closes = [{"type": it.kind.value, "iid": it.iid, "project": it.project, "title": it.title} for it in one.closes]
        remarks = [_remark(it, one.touch.url) for it in one.remarks]
        return fields | {"closes": closes, "discussions": remarks}

    return {
        "path": told.path,
        "project": told.project,
        "rename_chain": told.rename_chain,
        "chain_truncated": told.chain_truncated,
        "total": told.total,
        "merge_requests": [change(one) for one in told.changes],
    }


def _remark(remark: Remark, url: str | None) -> dict[str, Any]:
    import msgspec

    fields: dict[str, Any] = msgspec.to_builtins(remark)
    del fields["merge_request_id"]
    return fields | {"url": f"{url}#note_{remark.note_id}" if url else None}


def _show(told: FileHistory, now: int) -> None:
    if not is_terminal():
        _in_a_pipe(told)
        return
    from rich.padding import Padding
    from rich.text import Text

    from loreline.core.snippets import cut
    from loreline.faces.cli.output import console

    screen = console()
    title = Text(words.line(told.path), style="bold")
    title.append(_names(told), style="not bold dim")
    screen.print(title)
    for one in told.changes:
        touch = one.touch
        screen.print()
        head = Text(f"!{touch.iid}", style=f"bold {words.STATE_STYLES.get(touch.state, '')}")
        head.append(f"  {words.line(touch.title)}", style="not dim bold")
        screen.print(head)
        screen.print(Padding(_about(one, now), (0, 0, 0, 4)))
        for issue in one.closes:
            reference = issue.reference.removeprefix(told.project)
            screen.print(Padding(Text(f"closes {reference} {words.line(issue.title)}", style="dim"), (0, 0, 0, 4)))
        for remark in one.remarks:
            where = f"{remark.path}:{remark.line}" if remark.line else remark.path
            line = Text(f"└ {words.line(where)} ", style="dim")
            line.append(f"@{words.line(remark.author or 'ghost')}: ", style="not dim cyan")
            line.append(words.line(cut(remark.body, lambda _line: []).text), style="not dim")
            if remark.replies:
                line.append(f"  ({words.count(remark.replies, 'reply', 'replies')})")
            screen.print(Padding(line, (0, 0, 0, 4)))


def _names(told: FileHistory) -> str:
    """` (renamed from session.py ← auth.py; now sessions.py)`."""
    at = told.rename_chain.index(told.path)
    before, after = told.rename_chain[:at], told.rename_chain[at + 1 :]
    parts = []
    if before:
        more = " ← …" if told.chain_truncated else ""
        parts.append(f"renamed from {' ← '.join(words.line(name) for name in reversed(before))}{more}")
    if after:
        parts.append(f"now {words.line(after[-1])}")
    return f" ({'; '.join(parts)})" if parts else ""


def _about(one: Change, now: int) -> Any:
    from rich.text import Text

    touch = one.touch
    about = Text(touch.state, style=words.STATE_STYLES.get(touch.state, ""))
    about.append(f" {words.when(touch.merged_at or touch.created_at, now)} · @{words.line(touch.author or 'ghost')}")
    renamed = touch.change_type == "renamed" and touch.old_path
    about.append(f" · {f'renamed from {words.line(touch.old_path)}' if renamed else touch.change_type}", style="dim")
    if touch.added_lines is not None and touch.removed_lines is not None:
        about.append(f" · +{touch.added_lines} −{touch.removed_lines}", style="dim")
    if touch.discussion_count:
        here = f", {touch.file_discussion_count} here" if touch.file_discussion_count else ""
        about.append(f" · {words.count(touch.discussion_count, 'thread')}{here}", style="dim")
    return about


def _in_a_pipe(told: FileHistory) -> None:
    from loreline.core.times import to_iso

    for one in told.changes:
        touch = one.touch
        cells = [
            f"{touch.project}!{touch.iid}", touch.title, touch.state, touch.author or "",
            to_iso(touch.merged_at or touch.created_at), touch.change_type, touch.new_path,
            str(touch.discussion_count), str(touch.file_discussion_count), touch.url or "",
        ]  # fmt: skip
        click.echo("\t".join(words.line(cell) for cell in cells))
        for remark in one.remarks:
            where = f"{remark.path}:{remark.line or ''}"
            said = ["", where, remark.author or "", remark.body, f"{touch.url or ''}#note_{remark.note_id}"]
            click.echo("\t".join(words.line(cell) for cell in said))
