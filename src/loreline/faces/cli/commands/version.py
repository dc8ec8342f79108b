"""`lore version`."""

from __future__ import annotations

import platform

import click

from loreline import __version__
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit


@click.command("version")
@shared_options
@pass_invocation
def command(invocation: Invocation) -> None:
    """Print the version."""
    if invocation.robot:
        import apsw

        python = platform.python_version()
        emit({"version": __version__, "python": python, "sqlite": apsw.sqlite_lib_version()}, invocation)
    else:
        click.echo(f"lore {__version__}")
