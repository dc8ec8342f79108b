"""Rate limits as GitLab applies them: a fixed window per token, told in headers."""

from __future__ import annotations

from email.utils import formatdate
from typing import TYPE_CHECKING

import msgspec

from loreline.simulator.moments import SECOND

if TYPE_CHECKING:
    from loreline.simulator.clock import Clock

Headers = list[tuple[bytes, bytes]]


class RateLimit(msgspec.Struct, frozen=True):
    limit: int
    period: int = 60
    name: str = "throttle_authenticated_api"


class Throttle:
    """Counts requests by the world's clock, so a clock that stands still never opens a new window."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.limit: RateLimit | None = None
        self._window = 0
        self._seen: dict[str, int] = {}

    def start(self, limit: RateLimit | None) -> None:
        self.limit = limit
        self._seen.clear()

    def count(self, client: str) -> tuple[bool, Headers]:
        """Whether a request may pass, and the headers its answer carries."""
        limit = self.limit
        if limit is None:
            return True, []
        now = self._clock.now() // SECOND
        window = now // limit.period
        if window != self._window:
            self._window = window
            self._seen.clear()
        observed = self._seen[client] = self._seen.get(client, 0) + 1
        reset = (window + 1) * limit.period
        headers = [
            (b"ratelimit-limit", b"%d" % limit.limit),
            (b"ratelimit-name", limit.name.encode()),
            (b"ratelimit-observed", b"%d" % observed),
            (b"ratelimit-remaining", b"%d" % max(0, limit.limit - observed)),
            (b"ratelimit-reset", b"%d" % reset),
        ]
        if observed <= limit.limit:
            return True, headers
        headers.append((b"ratelimit-resettime", formatdate(reset, usegmt=True).encode()))
        headers.append((b"retry-after", b"%d" % max(1, reset - now)))
        return False, headers
