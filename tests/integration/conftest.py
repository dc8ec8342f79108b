import os
from pathlib import Path

import pytest

from loreline.simulator import World, edits, running
from loreline.simulator.demo.corpus import build_demo


@pytest.fixture
def world():
    """One empty project, team/app, at a known moment."""
    with World() as world:
        world.clock.set("2025-03-01T12:00:00Z")
        edits.create_project(world, "team/app")
        yield world


@pytest.fixture
def served(world):
    with running(world) as handle:
        yield handle


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The folder of the demo project's corpora."""
    return build_demo(tmp_path_factory.mktemp("demo") / "demo").corpus / "northwind"


@pytest.fixture(scope="session")
def shared():
    """The folder with the histories beside the checkout."""
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("LORELINE_SHARED", root.parent / "shared"))
    if not (folder / "history" / "small").is_dir():
        pytest.skip(f"no histories at {folder}; set LORELINE_SHARED")
    return folder


@pytest.fixture(scope="session")
def history(request, demo):
    """The small real history where it is there, else the demo."""
    root = Path(__file__).resolve().parents[2]
    small = Path(os.environ.get("LORELINE_SHARED", root.parent / "shared")) / "history" / "small"
    return small if small.is_dir() else demo
