"""The demo project as commands are tried on it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lore import Lore

from loreline.simulator import Running
from loreline.simulator.demo.corpus import Demo


@pytest.fixture
def ready(lore: Lore, gitlab: Running, demo: Demo) -> Lore:
    """Configured for the demo's projects."""
    lore.configure(gitlab.url, list(demo.projects))
    return lore


@pytest.fixture
def in_hostile_folder(ready: Lore) -> Lore:
    """`lore` as it is installed, run inside a repository whose files would pass for our modules."""
    for name in ("apsw", "msgspec", "loreline", "pickle", "zstandard", "click", "numpy"):
        (ready.folder / f"{name}.py").write_text("open('pwned', 'w').close()\nraise SystemExit(1)\n")
    return replace(ready, program=(str(Path(sys.executable).parent / "lore"),))
