import httpx2
import pytest
from tests.simulator import building

from loreline.simulator import DEFAULT_TOKEN, World, running


@pytest.fixture
def world(tmp_path):
    """A small world whose clock stands at a known moment."""
    with World.open(building.small(tmp_path / "corpus")) as world:
        world.clock.set("2024-06-01T12:00:00Z")
        yield world


@pytest.fixture
def served(world):
    with running(world, control=True) as handle:
        yield handle


@pytest.fixture
def client(served):
    with httpx2.Client(
        base_url=served.url, headers={"PRIVATE-TOKEN": DEFAULT_TOKEN}, timeout=10, trust_env=False
    ) as client:
        yield client
