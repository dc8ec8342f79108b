"""`lore completions`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit


@click.command("completions")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@shared_options
@pass_invocation
def command(invocation: Invocation, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash:  lore completions bash > ~/.local/share/bash-completion/completions/lore
    zsh:   lore completions zsh > "${fpath[1]}/_lore"
    fish:  lore completions fish > ~/.config/fish/completions/lore.fish
    """  # noqa: D301 - click takes the backspace for 'leave these lines alone'
    from loreline.faces.cli.main import lore

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"there is no completion for {shell}")
    # `source()` would first ask an installed bash for its version; the script itself needs none of it.
    completion = made(lore, {}, "lore", "_LORE_COMPLETE")
    script = completion.source_template % completion.source_vars()
    if invocation.robot:
        emit({"shell": shell, "script": script}, invocation)
    else:
        click.echo(script)
