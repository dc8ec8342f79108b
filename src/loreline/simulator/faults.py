"""Ways in which a server or the road to it fails, on demand."""

from __future__ import annotations

import random
import re
from typing import Literal

import msgspec

Action = Literal[
    "rate_limited",  # 429, with Retry-After where `retry_after` is set
    "error",  # `status`: 502 comes with the HTML page of a proxy, others with JSON
    "reset",  # the connection is reset before any answer
    "reset_midway",  # the connection is reset in the middle of the body
    "hang",  # no answer for `seconds`, then the connection closes
    "cut",  # the body is shorter than content-length says, then the connection closes
    "slow",  # the answer waits `seconds`
    "drip",  # the body trickles out over `seconds`
    "html",  # an HTML page with status 200
    "truncated_json",  # 200 with half a JSON document of the right content-length
    "wrong_type",  # 200 with an object where a list belongs, or a list where an object does
    "empty_list",  # 200 with [] and no further page
]


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule: which requests fail, how often and how.

    `path` is a regular expression searched in path and query as sent. The first `skip` matching requests
    pass; then each fails with `probability`, `count` times in all (None: without end).
    """

    action: Action
    path: str = ""
    method: str | None = None
    skip: int = 0
    count: int | None = 1
    probability: float = 1.0
    status: int = 500
    retry_after: int | None = None
    seconds: float = 30.0


class _Armed:
    def __init__(self, fault: Fault, chance: random.Random) -> None:
        self.fault = fault
        self.pattern = re.compile(fault.path)
        self.chance = chance
        self.matched = 0
        self.struck = 0

    def strikes(self, method: str, target: str) -> bool:
        fault = self.fault
        if fault.count is not None and self.struck >= fault.count:
            return False
        if fault.method is not None and fault.method != method:
            return False
        if not self.pattern.search(target):
            return False
        self.matched += 1
        if self.matched <= fault.skip or self.chance.random() >= fault.probability:
            return False
        self.struck += 1
        return True


class Faults:
    """The rules in force; the first that strikes decides a request."""

    def __init__(self, seed: int = 0) -> None:
        self._chance = random.Random(seed)
        self._armed: list[_Armed] = []
        self.struck = 0

    def __bool__(self) -> bool:
        return bool(self._armed)

    def add(self, *faults: Fault) -> None:
        self._armed.extend(_Armed(fault, self._chance) for fault in faults)

    def clear(self) -> None:
        self._armed.clear()

    def seed(self, seed: int) -> None:
        self._chance.seed(seed)

    def strike(self, method: str, target: str) -> Fault | None:
        for armed in self._armed:
            if armed.strikes(method, target):
                self.struck += 1
                return armed.fault
        return None
