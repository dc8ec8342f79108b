"""The `lore` command: which commands there are, and how a call of one ends."""

from __future__ import annotations

import importlib
import io
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import click

from loreline.faces.cli import exits
from loreline.faces.cli.invocation import Invocation, shared_options

COMMANDS = {
    "Set up": {
        "init": "Write a configuration file.",
        "auth-test": "Check that GitLab takes the token.",
        "doctor": "Check configuration, GitLab, database, disk and git.",
    },
    "Mirror": {
        "sync": "Bring the mirror up to date.",
        "ingest": "Bring only the issues or only the merge requests up to date.",
        "sync-status": "Show the last syncs, and what waits or fails.",
    },
    "Search": {
        "search": "Search issues, merge requests and threads.",
        "related": "Show what is nearest to an issue or merge request.",
    },
    "History": {
        "timeline": "Show everything that happened with something, in order.",
        "file-history": "Show the merge requests that touched a file.",
    },
    "Read": {
        "list": "List issues or merge requests.",
        "show": "Show an issue or merge request with its threads.",
        "count": "Count what is mirrored.",
    },
    "Index": {
        "generate-docs": "Make what is mirrored searchable by its words.",
        "embed": "Make it searchable by its meaning.",
        "stats": "Show, check and repair what search goes by.",
    },
    "More": {
        "demo": "Try everything on a built-in project, without a GitLab.",
        "simulator": "Serve a history from disk as a GitLab would.",
        "completions": "Print the completion script of a shell.",
        "version": "Print the version.",
    },
}
"""By section; the words stand here so that no command is imported to list them all."""


class PipeClosed(Exception):
    """Told apart from click's own handling, which calls it a failure."""


class LoreGroup(click.Group):
    """Imports a command's module when the command is asked for."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise PipeClosed from error
        return result

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"loreline.faces.cli.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            question = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{question}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(len(name) for section in COMMANDS.values() for name in section)
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in section.items()])


@click.group(
    cls=LoreGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="All options above can also stand behind the command. Documentation: README.md and docs/.",
)
@click.version_option(None, "-V", "--version", package_name="loreline", message="%(version)s")
@shared_options
def lore() -> None:
    """The memory of your GitLab: issues, merge requests and threads, mirrored on your own machine."""


def run(arguments: Sequence[str]) -> int:
    """Run the command line, and what it ends with."""
    invocation = Invocation(robot=any(word in {"-J", "--robot", "--json"} for word in arguments))
    signal.signal(signal.SIGTERM, _terminated)
    _speak(robot=invocation.robot)
    try:
        code = lore.main(list(arguments), prog_name="lore", standalone_mode=False, obj=invocation)
    except (KeyboardInterrupt, click.Abort):
        if not invocation.robot:
            click.echo("interrupted", err=True)
        return exits.INTERRUPTED
    except PipeClosed:
        # Whoever read has enough.
        exits.discard_output()
        return 0
    except Exception as error:  # noqa: BLE001 - the last place that can tell it kindly
        return exits.end_with(error, invocation)
    return code if isinstance(code, int) else 0


def _speak(*, robot: bool) -> None:
    """Robots are answered in UTF-8 everywhere; people in their terminal's encoding, as far as that goes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        if robot:
            sys.stdout.reconfigure(encoding="utf-8", errors="strict")
        else:
            sys.stdout.reconfigure(errors="replace")


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
