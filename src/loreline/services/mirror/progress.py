"""What a long run tells while it runs. A face turns it into a bar, a line or nothing."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    def stage(self, text: str) -> None:
        """Something else begins: 'group/project: listing issues'."""

    def listed(self, count: int) -> None:
        """So many more entities have been looked at."""

    def queued(self, waiting: int) -> None:
        """So many dependents are still to be fetched."""

    def fetched(self, count: int) -> None:
        """So many more dependents have been stored."""


class Silent:
    """No one is looking."""

    def stage(self, text: str) -> None: ...

    def listed(self, count: int) -> None: ...

    def queued(self, waiting: int) -> None: ...

    def fetched(self, count: int) -> None: ...
