"""How a command ends: every failure as one line with a hint, or one JSON object, and its exit code."""

from __future__ import annotations

import os
import sys
import traceback

import click

from loreline.errors import InvalidValue, LoreError, UsageError
from loreline.faces.cli.invocation import Invocation
from loreline.faces.cli.output import emit_error

INTERRUPTED = 130
INTERNAL = 1


def told(error: BaseException) -> LoreError:
    """Any failure as one of our kinds."""
    if isinstance(error, LoreError):
        return error
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        return InvalidValue(_in_one_line(error), hint=_usage_hint(error))
    if isinstance(error, click.ClickException):
        return UsageError(_in_one_line(error), hint=_usage_hint(error))
    return LoreError(
        f"internal error: {type(error).__name__}: {error}",
        hint="this is a fault of Loreline; LORELINE_TRACEBACK=1 shows where",
    )


def end_with(error: BaseException, invocation: Invocation) -> int:
    """Tell a failure, and the exit code it comes to."""
    failure = told(error)
    if failure.exit_code == INTERNAL and os.environ.get("LORELINE_TRACEBACK"):
        traceback.print_exception(error, file=sys.stderr)
    emit_error(failure, invocation)
    return failure.exit_code


def _in_one_line(error: click.ClickException) -> str:
    """Click lists the choices of a missing argument below one another."""
    return " ".join(error.format_message().split())


def _usage_hint(error: click.ClickException) -> str | None:
    context = getattr(error, "ctx", None)
    return f"see {context.command_path} --help" if context is not None else "see lore --help"
