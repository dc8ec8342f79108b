"""`python -m loreline.simulator`: serve histories from disk."""

from __future__ import annotations

from pathlib import Path

import click

from loreline.errors import LoreError
from loreline.simulator import RateLimit, World, serve


@click.command()
@click.option(
    "--corpus",
    "corpora",
    type=click.Path(path_type=Path),
    multiple=True,
    required=True,
    help="A corpus, or a folder of corpora. May be given several times.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--anyone", is_flag=True, help="Allow an address that others can reach.")
@click.option("--port", default=0, show_default=True, help="The port to listen on; 0 takes a free one.")
@click.option("--token", default=None, help="Accept this token beside the usual one.")
@click.option("--control", is_flag=True, help="Let tests edit the world under /_simulator.")
@click.option("--rate-limit", type=int, default=None, help="Requests a minute for each token.")
@click.option("--latency", type=int, default=0, show_default=True, help="Milliseconds before each answer.")
@click.option("--copies", type=click.IntRange(min=1), default=1, help="Serve each history this many times over.")
def main(
    corpora: tuple[Path, ...],
    host: str,
    port: int,
    token: str | None,
    rate_limit: int | None,
    latency: int,
    copies: int,
    *,
    anyone: bool,
    control: bool,
) -> None:
    """Serve corpora as a GitLab would."""
    try:
        with World.open(*corpora, copies=copies) as world:
            if token is not None:
                world.add_token(token)
            if rate_limit is not None:
                world.limit_rate(RateLimit(limit=rate_limit))
            world.behaviour.latency = latency / 1000

            def announce(bound: int) -> None:
                click.echo(f"http://{host}:{bound}")

            serve(world, host=host, port=port, control=control, anyone=anyone, on_bound=announce)
    except LoreError as error:
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
        raise SystemExit(error.exit_code) from error


if __name__ == "__main__":
    main()
