"""One call of `lore`: the options every command takes, in any position, and what hangs on them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from loreline.app import App
    from loreline.settings import Places, Settings

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Invocation:
    """Filled while click parses; commands read it."""

    robot: bool = False
    quiet: bool = False
    config: str | None = None
    database: str | None = None
    started: float = field(default_factory=time.perf_counter)
    warnings: list[str] = field(default_factory=list)

    @property
    def elapsed_ms(self) -> int:
        return round((time.perf_counter() - self.started) * 1000)

    def warn(self, text: str) -> None:
        """Say it on stderr at once, or in the answer's `meta` for a robot."""
        self.warnings.append(text)
        if not self.robot:
            click.echo(f"warning: {text}", err=True)

    def settings(self, **flags: Any) -> Settings:
        """All options resolved; `flags` are those of the command, with `__` for the dot of a section."""
        from loreline import settings

        where = places()
        file = settings.find_file(self.config, os.environ, where)
        given = {key.replace("__", "."): value for key, value in flags.items()}
        if self.database is not None:
            given["database"] = str(Path(self.database).expanduser().absolute())
        resolved = settings.load(file=file, environ=os.environ, flags=given, places=where)
        for warning in resolved.warnings:
            self.warn(warning)
        return resolved

    def app(self, **flags: Any) -> App:
        from loreline.app import App

        return App(self.settings(**flags), os.environ)


def options_given(context: click.Context, *, but: frozenset[str]) -> list[str]:
    """The options as they would have to be typed again, `but` some by name."""
    from click.core import ParameterSource

    words: list[str] = []
    for option in context.command.params:
        if not isinstance(option, click.Option) or option.name is None or option.name in but:
            continue
        if context.get_parameter_source(option.name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params.get(option.name)  # the shared ones are kept by the invocation
        if option.is_flag and value is not None:
            words.append((option.opts if value else option.secondary_opts)[-1])
        elif value is not None:
            for one in value if isinstance(value, tuple) else (value,):
                words += [option.opts[-1], str(one)]
    invocation = context.ensure_object(Invocation)
    for name, given in (("--config", invocation.config), ("--database", invocation.database)):
        if given is not None:
            words += [name, given]
    return words


def places() -> Places:
    """Where this user's files lie."""
    import platformdirs

    from loreline.settings import Places

    config = platformdirs.user_config_path("loreline")
    return Places(working=Path.cwd(), config=config, data=platformdirs.user_data_path("loreline"))


def shared_options(command: F) -> F:
    """`-J`, `--config` and the like, which every command and group takes."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def callback(context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
        if value:
            setattr(context.ensure_object(Invocation), name, value)
        return value

    return callback


_SHARED = (
    click.option(
        "-J", "--robot", "--json", is_flag=True, expose_value=False, is_eager=True, callback=_keep("robot"),
        help="Answer with one JSON object.",
    ),
    click.option(
        "-q", "--quiet", is_flag=True, expose_value=False, callback=_keep("quiet"),
        help="No progress, and no report of what went well.",
    ),
    click.option(
        "--config", metavar="FILE", expose_value=False, callback=_keep("config"), help="Read this configuration file.",
    ),
    click.option(
        "--database", metavar="FILE", expose_value=False, callback=_keep("database"), help="Use this database file.",
    ),
)  # fmt: skip

pass_invocation = click.make_pass_decorator(Invocation, ensure=True)
