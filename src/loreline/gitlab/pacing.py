"""How fast we ask: so many requests in flight, fewer when GitLab groans, more again when all is well."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Mapping

from loreline.core.times import SECOND

_SCARCE = 0.1
"""Below this share of its quota, what remains is spread over the time until the quota is renewed."""


class Pacer:
    """Additive increase, multiplicative decrease of the requests in flight, under an optional rate cap.

    One pacer serves one instance; it belongs to one event loop.
    """

    def __init__(
        self, concurrency: int, requests_per_second: float = 0, *, clock: Callable[[], float] | None = None
    ) -> None:
        self._most = concurrency
        self._allowed = float(concurrency)
        self._in_flight = 0
        self._interval = 1 / requests_per_second if requests_per_second > 0 else 0.0
        self._scarcity_interval = 0.0
        self._scarce_until = 0.0
        self._next_start = 0.0
        self._paused_until = 0.0
        self._last_backoff = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._clock = clock

    @property
    def allowed(self) -> int:
        return max(1, int(self._allowed))

    async def acquire(self) -> None:
        if self._in_flight >= self.allowed or self._waiting:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self.release()
                raise
        else:
            self._in_flight += 1
        if self._paused_until or self._interval or self._scarcity_interval:
            try:
                await self._wait_for_start()
            except asyncio.CancelledError:
                self.release()
                raise

    def release(self) -> None:
        self._in_flight -= 1
        while self._waiting and self._in_flight < self.allowed:
            turn = self._waiting.popleft()
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)

    def went_well(self, headers: Mapping[str, str]) -> None:
        if self._allowed < self._most:
            self._allowed = min(self._most, self._allowed + 1 / self._allowed)
        if "ratelimit-remaining" in headers:
            self._heed_quota(headers)

    def slow_down(self, pause: float = 0) -> None:
        """After a 429, a 5xx or a broken connection: half as many at once, and none for `pause` seconds."""
        now = self._now()
        if now - self._last_backoff > 1:  # one burst of failures is one sign, not eight
            self._allowed = max(1.0, self._allowed / 2)
            self._last_backoff = now
        self._paused_until = max(self._paused_until, now + pause)

    def _heed_quota(self, headers: Mapping[str, str]) -> None:
        limit, remaining, reset = (
            _number(headers.get(name)) for name in ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")
        )
        self._scarcity_interval = 0.0
        if not limit or remaining is None or reset is None or remaining > limit * _SCARCE:
            return
        server_now = http_date(headers.get("date"))
        if server_now is None:
            return
        seconds_left = min(max(reset - server_now / SECOND, 0.0), 3_600.0)
        self._scarcity_interval = seconds_left / max(remaining, 1.0)
        self._scarce_until = self._now() + seconds_left

    async def _wait_for_start(self) -> None:
        while (now := self._now()) < self._paused_until:  # noqa: ASYNC110 - others may move it on
            await asyncio.sleep(self._paused_until - now)
        self._paused_until = 0.0
        if self._interval or self._scarcity_interval:
            start = max(now, self._next_start)
            # What remains is spread up to the renewal; whoever would start later starts with the new quota.
            spread = min(start + self._scarcity_interval, self._scarce_until)
            self._next_start = max(start + self._interval, spread)
            if start > now:
                await asyncio.sleep(start - now)

    def _now(self) -> float:
        return self._clock() if self._clock else asyncio.get_running_loop().time()


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is not None and math.isfinite(number) else None


def http_date(text: str | None) -> int | None:
    """The milliseconds of an HTTP date such as the `Date` header."""
    if not text:
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - the email package is heavy and seldom needed

    try:
        return int(parsedate_to_datetime(text).timestamp() * SECOND)
    except (ValueError, OverflowError):
        return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds GitLab asks us to wait: a number or an HTTP date."""
    text = headers.get("retry-after")
    if text is None:
        return None
    seconds = _number(text)
    if seconds is not None:
        return max(seconds, 0.0)
    moment, now = http_date(text), http_date(headers.get("date"))
    return max((moment - now) / SECOND, 0.0) if moment is not None and now is not None else None
