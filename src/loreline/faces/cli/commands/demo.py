"""`lore demo`."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from loreline.errors import InvalidValue, LoreError, NetworkFailed, UsageError
from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit

_TOUR = (
    ("Mirror both projects, over HTTP, as from any GitLab:", "lore sync"),
    ("Again: only what has changed is fetched, which is nothing:", "lore sync"),
    ("What the team worked on last:", "lore list mrs --limit 6"),
    ("Everything that carries a label:", "lore list issues --label security"),
    ("A question, answered by words and by meaning:", "lore search why was the redis cache taken out again -n 3"),
    ("A name, and only what was merged:", "lore search lock_timeout state:merged -n 2"),
    ("What is near to a proposal, linked or not:", "lore related issue 15 -n 5"),
    ("A decision, with the whole argument that led to it:", "lore show issue 17"),
    ("A merge request, its review threads on the lines they are about:", "lore show mr 6"),
    ("How much there is, by kind:", "lore count notes"),
    ("Who points at whom:", "lore count references"),
    ("What a robot gets instead:", "lore -J list issues --search login --limit 1"),
    ("And how the mirror stands:", "lore sync-status"),
)

_MARKER = ".loreline-demo"
"""Marks a folder as ours, so that no other is ever emptied."""


@click.command("demo")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default=Path(".demo"),
    show_default=True,
    help="Where to put it.",
)
@shared_options
@pass_invocation
def command(invocation: Invocation, /, *, folder: Path) -> None:
    """Try everything on a built-in project, without a GitLab.

    It builds a demo project with its Git repository, serves it on loopback as a GitLab would, runs the real
    `lore sync` against that, and shows a short tour of real commands with their output.
    """
    from loreline.simulator import DEFAULT_TOKEN
    from loreline.simulator.demo.corpus import build_demo

    if invocation.config or invocation.database:
        raise UsageError("the demo makes its own settings and database", hint="--dir says where")
    folder = folder.absolute()
    _make_room(folder)
    demo = build_demo(folder / "world")
    with _simulator(list(demo.projects.values())) as url:
        _configure(folder, url, list(demo.projects), DEFAULT_TOKEN)
        for number, (words, line) in enumerate(_TOUR):
            if not invocation.robot:
                click.secho(f"\n{'' if number == 0 else chr(10)}# {words}", fg="cyan")
                click.secho(f"$ {line}", bold=True)
            _run(line, folder, quiet=invocation.robot)
    database = folder / "mirror.db"
    if invocation.robot:
        config = str(folder / "loreline.toml")
        emit({"database": str(database), "config": config, "repository": str(demo.repository)}, invocation)
        return
    here = _shown(folder)
    click.secho("\n\n# That was the tour. What is left to play with:", fg="cyan")
    click.echo(f"the mirror      {_shown(database)}")
    click.echo(f"its settings    {here}/loreline.toml")
    click.echo(f"the repository  {_shown(demo.repository)}")
    click.echo("\nTry:")
    for line in (
        "search people signed out at night",
        "search 'token author:priya -phone'",
        "list issues --label decision",
        "show '!5'",
        "show issue 19 --system",
        "show harbor-docs#1",
        "count events",
    ):
        click.echo(f"  {_program()} {line} --config {here}/loreline.toml")
    click.echo(f"\nFor your own GitLab: {_program()} init")


def _make_room(folder: Path) -> None:
    try:
        if folder.exists():
            if any(folder.iterdir()) and not (folder / _MARKER).exists():
                raise InvalidValue(f"{folder} is no demo folder, and not empty", hint="name another with --dir")
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        (folder / _MARKER).touch()
    except OSError as error:
        raise InvalidValue(f"{folder} cannot be made: {error.strerror}", hint="name another with --dir") from error


@contextlib.contextmanager
def _simulator(corpora: list[Path]) -> Iterator[str]:
    arguments = [word for corpus in corpora for word in ("--corpus", str(corpus))]
    process = subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "loreline", "simulator", "--quiet", *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        url = process.stdout.readline().strip() if process.stdout else ""
        if not url:
            raise NetworkFailed("the simulator did not start", hint="run lore simulator to see why")
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _configure(folder: Path, url: str, projects: list[str], token: str) -> None:
    (folder / "token").write_text(token + "\n")
    (folder / "token").chmod(0o600)
    listed = ", ".join(f'"{path}"' for path in projects)
    (folder / "loreline.toml").write_text(
        "# The demo's settings. The address is the simulator's of the last `lore demo`; reading needs it no more.\n"
        'database = "mirror.db"\n\n'
        f'[[instance]]\nname = "demo"\nurl = "{url}"\ntoken_file = "token"\nprojects = [{listed}]\n'
    )
    (folder / "loreline.toml").chmod(0o600)


def _run(line: str, folder: Path, *, quiet: bool) -> None:
    words = shlex.split(line)[1:]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LORELINE_")}
    environment |= {"LORELINE_CONFIG": str(folder / "loreline.toml"), "LORE_PAGER": "cat"}
    sys.stdout.flush()
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "loreline", *words],
        env=environment,
        check=False,
        capture_output=quiet,
        text=True,
    )
    if done.returncode != 0:
        said = f": {done.stderr.strip()}" if quiet else ""
        raise LoreError(
            f"the tour ended at: {line} (exit code {done.returncode}){said}", hint="this is a fault of Loreline"
        )


def _program() -> str:
    """What to type for `lore`: after `make demo` it is on nobody's PATH yet."""
    beside = Path(sys.executable).parent / "lore"
    return _shown(beside) if shutil.which("lore") is None and beside.exists() else "lore"


def _shown(path: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)
