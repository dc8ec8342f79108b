"""What was asked and answered, for tests to look at."""

from __future__ import annotations

from collections import Counter, deque

import msgspec

_KEPT = 100_000


class Request(msgspec.Struct, frozen=True, gc=False):
    """`path` and `query` as sent; status 0 is a connection broken on purpose."""

    method: str
    path: str
    query: str
    status: int


class RequestLog:
    """The latest requests in the order they were answered; the count goes on for ever."""

    def __init__(self) -> None:
        self.requests: deque[Request] = deque(maxlen=_KEPT)
        self.total = 0

    def add(self, request: Request) -> None:
        self.requests.append(request)
        self.total += 1

    def clear(self) -> None:
        self.requests.clear()
        self.total = 0

    def statuses(self) -> dict[int, int]:
        return dict(Counter(request.status for request in self.requests))

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]
