"""`lore simulator`."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import click

from loreline.faces.cli.invocation import Invocation, pass_invocation, shared_options
from loreline.faces.cli.output import emit


@click.command("simulator")
@click.option("--corpus", "corpora", type=click.Path(path_type=Path), multiple=True, help="A history's folder.")
@click.option("--port", default=0, show_default=True, help="The port to listen on; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--anyone", is_flag=True, help="Allow an address that others can reach.")
@click.option("--token", metavar="TOKEN", help="Accept this token beside the usual one.")
@click.option("--control", is_flag=True, help="Let whoever reaches it edit the world, under /_simulator.")
@click.option("--rate-limit", type=click.IntRange(min=1), metavar="N", help="Requests a minute for each token.")
@click.option("--latency", type=int, default=0, show_default=True, metavar="MS", help="Wait before each answer.")
@click.option("--copies", type=click.IntRange(min=1), default=1, show_default=True, help="Serve each history N times.")
@shared_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    corpora: tuple[Path, ...],
    port: int,
    host: str,
    anyone: bool,
    token: str | None,
    control: bool,
    rate_limit: int | None,
    latency: int,
    copies: int,
) -> None:
    """Serve a history from disk as a GitLab would; without --corpus, the built-in demo project.

    The token is glpat-simulator. It listens on loopback only, and stops with Ctrl-C.
    """
    from loreline.simulator import DEFAULT_TOKEN, RateLimit, World, serve

    def announce(bound: int) -> None:
        url = f"http://{host}:{bound}"
        if invocation.robot:
            emit({"url": url, "token": DEFAULT_TOKEN, "projects": paths}, invocation)
            return
        click.echo(url)
        if not invocation.quiet:
            click.echo(f"serving {', '.join(paths)}; the token is {DEFAULT_TOKEN}; Ctrl-C stops it", err=True)

    with tempfile.TemporaryDirectory(prefix="loreline-") as folder:
        if not corpora:
            from loreline.simulator.demo.corpus import build_demo

            corpora = tuple(build_demo(Path(folder)).projects.values())
        with World.open(*corpora, copies=copies) as world:
            if token is not None:
                world.add_token(token)
            if rate_limit is not None:
                world.limit_rate(RateLimit(limit=rate_limit))
            world.behaviour.latency = latency / 1000
            paths = [place.path for place in world.places.values()]
            # Being stopped is how a server ends well.
            with contextlib.suppress(KeyboardInterrupt):
                serve(world, host=host, port=port, control=control, anyone=anyone, on_bound=announce)
