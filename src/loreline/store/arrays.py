"""Many ids bound as one value: SQLite reads them where they lie, a hundred thousand in under a millisecond."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import apsw


def bound(ids: Iterable[int]) -> apsw.carray:
    """For `carray(?)`, whose column is `value`."""
    # An empty one has no place in memory that SQLite would take; no row of ours has a negative id.
    return apsw.carray(array("q", ids) or array("q", (-1,)))
