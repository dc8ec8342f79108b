"""What talking to an instance has cost."""

from __future__ import annotations


class Traffic:
    """What a run cost: counted by the client, kept in its audit row."""

    def __init__(self) -> None:
        self.requests = 0
        self.bytes_received = 0
        self.retries = 0
        self.rate_limited = 0
