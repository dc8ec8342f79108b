"""`lore auth-test`."""

from __future__ import annotations

import click

from loreline.faces.cli import words
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit


@click.command("auth-test")
@shared_options
@pass_invocation
def command(invocation: Invocation) -> None:
    """Check that GitLab takes the token, and say whose it is."""
    from loreline.faces.cli.event_loop import run_async
    from loreline.services.mirror.health import who_am_i
    from loreline.settings import require_instances

    app = invocation.app()
    users = []
    for instance in require_instances(app.settings):
        user = run_async(who_am_i(app.settings, instance, app.environ))
        users.append({"instance": instance.name, "url": instance.url, "username": user.username, "name": user.name})
        if not invocation.robot:
            name = f"@{words.line(user.username)} ({words.line(user.name)})"
            click.echo(f"Authenticated as {name} at {instance.url}")
    if invocation.robot:
        emit({"instances": users}, invocation)
