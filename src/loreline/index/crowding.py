"""How crowded it is where a vector stands: what is near to everything answers nothing in particular.

Some texts are near to every question, short and general ones above all. They are told by how near they are to their
own nearest neighbours, and so much is taken from what a question finds. (The literature calls such points hubs, and
this correction CSLS; theirs goes by all vectors, ours by a sample.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Rows = NDArray[np.float32]
Places = NDArray[np.int64]

SAMPLE = 4_096
"""Of all vectors: which are the nearest of more than that is told as well by so many."""

SAMPLE_BESIDE = 1_024
"""For the few that came since: theirs is worked out whenever a process starts."""

_ONE_IN = 128
"""A neighbour is who belongs to the nearest one in so many."""

_LEAST = 100
"""Among fewer vectors there are no crowds."""

_GROUPS = 512
_AT_ONCE = 1_000

WEIGHT = np.float32(0.4)


def penalties(crowding: Scores, usual: float) -> Scores:
    """What is taken from each vector's cosine; nothing, on the average."""
    return np.asarray(WEIGHT * (crowding - np.float32(usual)), np.float32)


def sampled(count: int, size: int) -> Places:
    """Places spread evenly over so many rows."""
    if not count:
        return np.empty(0, np.int64)
    return np.unique(np.linspace(0, count - 1, min(count, size)).astype(np.int64))


def crowding(count: int, rows: Callable[[slice], Rows], sample: Rows, own: Places | None = None) -> Scores:
    """The mean cosine of each of so many rows with its nearest in a sample.

    `own` says of each in the sample which row it is, or -1: nobody is their own neighbour.
    """
    made = np.zeros(count, np.float32)
    if len(sample) < _LEAST:
        return made
    nearest = -(-len(sample) // _ONE_IN)
    # The best of each small group first: sorting these alone is many times faster, and hardly ever loses a neighbour.
    size = max(1, len(sample) // _GROUPS)
    whole = len(sample) // size * size
    for start in range(0, count, _AT_ONCE):
        stop = min(start + _AT_ONCE, count)
        cosines = sample @ rows(slice(start, stop)).T
        if own is not None:
            inside = np.flatnonzero((own >= start) & (own < stop))
            cosines[inside, own[inside] - start] = -1.0
        groups = cosines[:whole].reshape(-1, size, stop - start).max(axis=1)
        groups.partition(len(groups) - nearest, axis=0)
        made[start:stop] = groups[-nearest:].mean(axis=0)
    return made
