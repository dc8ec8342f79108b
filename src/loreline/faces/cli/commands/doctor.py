"""`lore doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loreline.errors import LoreError
from loreline.faces.cli import words
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit

if TYPE_CHECKING:
    from loreline.app import App
    from loreline.services.mirror.health import Check

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failed": ("✗", "red")}


@click.command("doctor")
@shared_options
@pass_invocation
def command(invocation: Invocation) -> None:
    """Check configuration, token, projects, database, disk, git and search; each failure comes with what to do."""
    checks = _checks(invocation)
    failed = next((check for check in checks if check.exit_code), None)
    if invocation.robot:
        emit({"success": failed is None, "checks": checks}, invocation)
    if failed is not None:
        raise SystemExit(failed.exit_code)


def _checks(invocation: Invocation) -> list[Check]:
    from loreline.faces.cli.event_loop import run_async
    from loreline.services.mirror.health import FAILED, Check

    try:
        app = invocation.app()
    except LoreError as error:
        check = Check("configuration", FAILED, error.message, error.hint, error.exit_code)
        _tell(invocation, check)
        return [check]
    return run_async(_gather(invocation, app))


async def _gather(invocation: Invocation, app: App) -> list[Check]:
    from loreline.services.mirror.health import check_all
    from loreline.services.search.health import check_search

    checks = []
    async for check in check_all(app.settings, app.environ, app.clock()):
        _tell(invocation, check)
        checks.append(check)
    for check in check_search(app.settings, app.environ, app.clock()):
        _tell(invocation, check)
        checks.append(check)
    return checks


def _tell(invocation: Invocation, check: Check) -> None:
    if invocation.robot:
        return
    mark, color = _MARKS[check.status]
    click.secho(f"{mark} ", fg=color, nl=False)
    click.echo(f"{words.line(check.name)}: {words.line(check.message)}")
    if check.hint and check.status != "ok":
        click.echo(f"    {words.line(check.hint)}")
