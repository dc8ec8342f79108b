"""How calls travel between the writer's handle and its process."""

from __future__ import annotations

import struct
from enum import Enum

import apsw

HEADER = struct.Struct("!QQ")
"""Before each message, both ways: the number of the call and the length of the pickle behind it."""

OPENED = 0
"""The number of the writer's first message: whether the database could be opened."""


class Pace(Enum):
    """When a call's result comes back."""

    COMMITTED = 0
    """Committed at once, and then told."""
    LAZY = 1
    """Told when it is committed, which may be together with much that follows."""
    EARLY = 2
    """Told before it is committed: for what may as well be done again."""


def nothing(_db: apsw.Connection) -> None:
    """A call for the sake of its pace."""
