"""`lore init`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from loreline.errors import ConfigInvalid, InvalidValue, UsageError
from loreline.faces.cli.invocation import Invocation, pass_invocation, places, shared_options
from loreline.faces.cli.output import emit


@click.command("init")
@click.option("--url", metavar="URL", help="The GitLab instance: https://gitlab.example.com")
@click.option("-p", "--project", "projects", multiple=True, metavar="PATH", help="A project to mirror (repeatable).")
@click.option("-g", "--group", "groups", multiple=True, metavar="PATH", help="A group to mirror, with its subgroups.")
@click.option("--token-env", metavar="NAME", help="The environment variable that holds the token.")
@click.option("--token-file", metavar="FILE", help="The file that holds the token.")
@click.option("--token-command", metavar="COMMAND", help="The command that prints the token.")
@click.option("--token-keyring", metavar="SERVICE", help="The keyring's service that holds the token.")
@click.option("--global", "everywhere", is_flag=True, help="For all folders: write it to your configuration folder.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@shared_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    url: str | None,
    projects: tuple[str, ...],
    groups: tuple[str, ...],
    token_env: str | None,
    token_file: str | None,
    token_command: str | None,
    token_keyring: str | None,
    everywhere: bool,
    overwrite: bool,
) -> None:
    """Write a configuration file. What the options leave out is asked, on a terminal."""
    path = _path(invocation, everywhere=everywhere)
    asking = sys.stdin.isatty() and sys.stdout.isatty() and not invocation.robot
    if path.exists() and not overwrite and not (asking and click.confirm(f"{path} is there already. Replace it?")):
        raise ConfigInvalid(f"{path} is there already", hint="--overwrite replaces it")
    if url is None and asking:
        url = click.prompt("GitLab's address", default="https://gitlab.example.com")
    if not projects and not groups and asking:
        answer = click.prompt("Projects to mirror (full paths, separated by commas)", default="", show_default=False)
        projects = tuple(part.strip() for part in answer.split(",") if part.strip())
        if not projects:
            answer = click.prompt("Groups to mirror", default="", show_default=False)
            groups = tuple(part.strip() for part in answer.split(",") if part.strip())
    tokens = {
        "token_env": token_env,
        "token_file": str(Path(token_file).expanduser().absolute()) if token_file else None,
        "token_command": token_command,
        "token_keyring": token_keyring,
    }
    if asking and not any(tokens.values()):
        tokens["token_env"] = click.prompt("Environment variable with the token", default="GITLAB_TOKEN")
    if url is None or not (projects or groups):
        raise UsageError(
            "an address and at least one project or group are needed",
            hint="lore init --url URL --project GROUP/PROJECT",
        )
    text = _toml(url, projects, groups, {key: value for key, value in tokens.items() if value}, invocation.database)
    _check(text)
    _write(path, text)
    if invocation.robot:
        emit({"path": str(path)}, invocation)
    else:
        click.echo(f"wrote {path}")
        click.echo("next: lore doctor, then lore sync")


def _path(invocation: Invocation, *, everywhere: bool) -> Path:
    if invocation.config is not None:
        return Path(invocation.config).expanduser().absolute()
    where = places()
    return (where.config if everywhere else where.working) / "loreline.toml"


def _toml(
    url: str, projects: tuple[str, ...], groups: tuple[str, ...], tokens: dict[str, str], database: str | None
) -> str:
    lines = ["# Loreline's configuration; every key is explained in docs/configuration.md."]
    if database is not None:
        lines.append(f"database = {_string(str(Path(database).expanduser().absolute()))}")
    lines += ["", "[[instance]]", f"url = {_string(url)}"]
    lines += [f"{key} = {_string(value)}" for key, value in tokens.items()]
    if projects:
        lines.append(f"projects = [{', '.join(_string(path) for path in projects)}]")
    if groups:
        lines.append(f"groups = [{', '.join(_string(path) for path in groups)}]")
    return "\n".join(lines) + "\n"


def _string(text: str) -> str:
    """A TOML basic string; JSON's escapes are among TOML's."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check(text: str) -> None:
    """What is written can be read: the same rules as for any file."""
    import tempfile

    from loreline import settings

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / settings.FILE_NAME
        file.write_text(text, "utf-8")
        try:
            settings.load(file=file, environ={}, flags={}, places=places())
        except ConfigInvalid as error:
            message = error.message.removeprefix(f"{file}: ")
            raise InvalidValue(message, hint=error.hint) from error


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(f".{path.name}.{os.getpid()}")
        with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        half.replace(path)
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be written: {error.strerror}", hint="check the folder's mode") from error
