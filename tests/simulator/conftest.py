import os
from pathlib import Path

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


@pytest.fixture(scope="session")
def shared():
    """The folder with contracts and histories beside the checkout."""
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("LORELINE_SHARED", root.parent / "shared"))
    if not (folder / "contract").is_dir():
        pytest.skip(f"no contracts and histories at {folder}; set LORELINE_SHARED")
    return folder
