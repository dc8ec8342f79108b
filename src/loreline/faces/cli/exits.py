"""How a command ends: every failure as one line with a hint, or one JSON object, and its exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback

import click

from loreline.errors import DatabaseFailed, InvalidValue, LoreError, UsageError
from loreline.faces.cli.invocation import Invocation
from loreline.faces.cli.output import emit_error

INTERRUPTED = 130
INTERNAL = 1

_FULL = (errno.ENOSPC, errno.EDQUOT)


def told(error: BaseException) -> LoreError:
    """Any failure as one of our kinds."""
    if isinstance(error, LoreError):
        return error
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        return InvalidValue(_in_one_line(error), hint=_usage_hint(error))
    if isinstance(error, click.ClickException):
        return UsageError(_in_one_line(error), hint=_usage_hint(error))
    if isinstance(error, UnicodeEncodeError) and "surrogate" in error.reason:
        return InvalidValue("an argument is no UTF-8 text", hint="check how it was typed or pasted")
    if isinstance(error, OSError) and error.errno in _FULL:
        what = f": {error.filename} cannot grow" if error.filename else ", and the answer did not fit"
        return DatabaseFailed(f"the disk is full{what}", hint="free some space and run again")
    return LoreError(
        f"internal error: {type(error).__name__}: {error}",
        hint="this is a fault of Loreline; LORELINE_TRACEBACK=1 shows where",
    )


def end_with(error: BaseException, invocation: Invocation) -> int:
    """Tell a failure, and the exit code it comes to."""
    failure = told(error)
    if failure.exit_code == INTERNAL and os.environ.get("LORELINE_TRACEBACK"):
        traceback.print_exception(error, file=sys.stderr)
    try:
        emit_error(failure, invocation)
        sys.stdout.flush()
    except OSError:  # an answer for a robot goes where there is no room for it
        discard_output()
        click.echo(f"error: {failure.message}", err=True)
    return failure.exit_code


def discard_output() -> None:
    """What is still to be written goes nowhere: Python would complain once more while it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_one_line(error: click.ClickException) -> str:
    """Click lists the choices of a missing argument below one another."""
    return " ".join(error.format_message().split())


def _usage_hint(error: click.ClickException) -> str | None:
    context = getattr(error, "ctx", None)
    return f"see {context.command_path} --help" if context is not None else "see lore --help"
