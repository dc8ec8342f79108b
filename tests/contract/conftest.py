import asyncio
import traceback

import pytest
from tests.simulator import building

from loreline.gitlab.client import GitLab
from loreline.gitlab.connection import Connection
from loreline.simulator import DEFAULT_TOKEN, World

LONGEST = 20
"""Seconds after which a test has hung."""


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def world(tmp_path):
    """250 issues, three threads on the first, in a world whose clock stands at a known moment."""
    with World.open(building.small(tmp_path / "corpus", issues=250)) as world:
        world.clock.set("2024-06-01T12:00:00Z")
        yield world


@pytest.fixture
def ask(served):
    """Run `work(client)` against the simulator, or against `url`."""

    def asked(work, *, url=served.url, **options):
        return run(work, url=url, **options)

    return asked


def run(work, *, url, **options):
    options = {"token": DEFAULT_TOKEN, "retry_seconds": 0.01, "attempts": 2, "timeout_seconds": 10} | options

    async def main():
        async with asyncio.timeout(LONGEST):
            async with GitLab(Connection(url=url, **options)) as client:
                return await work(client)

    return asyncio.run(main())


def everything_told(error):
    """All that a log, a terminal or a robot could show of an error."""
    return "\n".join(
        [
            *traceback.format_exception(error),
            repr(error),
            str(error),
            repr(vars(error)),
            str(getattr(error, "hint", "")),
        ]
    )
