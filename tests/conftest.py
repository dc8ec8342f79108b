"""What tests of every part stand on: the demo project, a simulated GitLab, and `lore` as a process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lore import Lore, synced

from loreline.simulator import DEFAULT_TOKEN, Running, World, edits, running
from loreline.simulator.demo.corpus import Demo, build_demo


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return build_demo(tmp_path_factory.mktemp("demo") / "world")


@pytest.fixture
def gitlab(demo: Demo) -> Iterator[Running]:
    """The demo project, served."""
    with World.open(*demo.projects.values()) as world, running(world) as server:
        yield server


@pytest.fixture
def world() -> Iterator[World]:
    """One empty project, team/app, at a known moment."""
    with World() as world:
        world.clock.set("2025-03-01T12:00:00Z")
        edits.create_project(world, "team/app")
        yield world


@pytest.fixture
def served(world: World) -> Iterator[Running]:
    with running(world) as handle:
        yield handle


@pytest.fixture
def lore(tmp_path: Path) -> Lore:
    return Lore(tmp_path, {"GITLAB_TOKEN": DEFAULT_TOKEN})


@pytest.fixture(scope="session")
def mirrored(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Lore:
    """The demo project synced once, documents and vectors included, and only read from: its GitLab is gone."""
    return synced(tmp_path_factory.mktemp("mirrored"), demo, list(demo.projects))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with contracts and histories beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("LORELINE_SHARED", beside))
    if not (folder / "contract").is_dir():
        pytest.skip(f"no contracts and histories at {folder}; set LORELINE_SHARED")
    return folder


@pytest.fixture(scope="session")
def history(request: pytest.FixtureRequest, demo: Demo) -> Path:
    """The small real history where it is there, else the demo."""
    try:
        small: Path = request.getfixturevalue("shared") / "history" / "small"
    except pytest.skip.Exception:
        return demo.corpus / "northwind"
    return small
