"""The time a simulated GitLab believes it is."""

from __future__ import annotations

import time

from loreline.simulator.moments import SECOND, parse_moment


class Clock:
    """Real time until it is set; then it stands still but for `advance`, so that runs repeat exactly."""

    def __init__(self) -> None:
        self._fixed: int | None = None
        self._ahead = 0

    def now(self) -> int:
        """Microseconds since the epoch."""
        if self._fixed is not None:
            return self._fixed
        return time.time_ns() // 1000 + self._ahead

    def set(self, moment: str | int) -> None:
        self._fixed = parse_moment(moment) if isinstance(moment, str) else moment

    def advance(self, seconds: float) -> None:
        step = round(seconds * SECOND)
        if self._fixed is None:
            self._ahead += step
        else:
            self._fixed += step

    def run(self) -> None:
        """Return to real time."""
        self._fixed = None
        self._ahead = 0
