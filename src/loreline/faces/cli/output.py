"""Answers: JSON for robots, text for people, and where each goes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from loreline.core.times import to_iso
from loreline.core.untrusted import escape_in_json, without_surrogates
from loreline.errors import LoreError
from loreline.faces.cli.invocation import Invocation

if TYPE_CHECKING:
    from rich.console import Console


def emit(data: Any, invocation: Invocation, **meta: Any) -> None:
    """The robot's answer: one line, or laid out for the eye on a terminal."""
    _write({"ok": True, "data": data, "meta": _meta(invocation) | meta})


def emit_error(error: LoreError, invocation: Invocation) -> None:
    if invocation.robot:
        told = {"code": error.code, "message": error.message, "hint": error.hint} | error.details
        _write({"ok": False, "error": told, "meta": _meta(invocation)})
        return
    from loreline.core.untrusted import neutralise

    click.secho("error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(neutralise(error.message), err=True)
    if error.hint:
        click.secho("hint: ", fg="cyan", nl=False, err=True)
        click.echo(neutralise(error.hint), err=True)


def _meta(invocation: Invocation) -> dict[str, Any]:
    return {"elapsed_ms": invocation.elapsed_ms, "warnings": invocation.warnings}


def _write(answer: dict[str, Any]) -> None:
    text = msgspec.json.encode(_told(msgspec.to_builtins(answer, enc_hook=str)))
    if sys.stdout.isatty():
        text = msgspec.json.format(text, indent=2)
    click.echo(escape_in_json(text.decode()))


def _told(value: Any) -> Any:
    """Every `…_at`, which is ms inside, as ISO 8601; and all text as Unicode, which an argument need not be."""
    if isinstance(value, list):
        return [_told(item) for item in value]
    if isinstance(value, dict):
        return {
            key: to_iso(item) if key.endswith("_at") and isinstance(item, int) else _told(item)
            for key, item in value.items()
        }
    return without_surrogates(value) if isinstance(value, str) else value


def console(*, stderr: bool = False) -> Console:
    """Rich's console as we use it: no markup, no highlighting; colour only on a terminal that wants it."""
    from rich.console import Console

    return Console(
        stderr=stderr,
        markup=False,
        highlight=False,
        emoji=False,
        no_color=bool(os.environ.get("NO_COLOR")) or None,
        force_terminal=True if os.environ.get("CLICOLOR_FORCE", "0") not in {"", "0"} else None,
    )


def is_terminal() -> bool:
    return sys.stdout.isatty()


def page(text: str) -> None:
    """Show a long text through the pager, if there is a terminal and it is longer than that."""
    if not sys.stdout.isatty() or text.count("\n") < shutil.get_terminal_size().lines:
        sys.stdout.write(text)
        return
    pager = os.environ.get("LORE_PAGER", os.environ.get("PAGER", "less"))
    if pager in {"", "cat"}:
        sys.stdout.write(text)
        return
    import shlex

    words = shlex.split(pager)
    environment = {"LESS": "FRX", "LV": "-c"} | dict(os.environ)
    try:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, text=True, env=environment)  # noqa: S603
    except OSError:
        sys.stdout.write(text)
        return
    try:
        process.communicate(text)
    except BrokenPipeError:
        process.wait()
