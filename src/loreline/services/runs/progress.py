"""What a long run tells while it runs. A face turns it into a bar, a line or nothing."""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Work(Enum):
    """What there may be much of; the value is what people read."""

    DEPENDENTS = "threads, events and diffs"
    DOCUMENTS = "documents"
    VECTORS = "vectors"


class Progress(Protocol):
    def stage(self, text: str) -> None:
        """Something else begins: 'group/project: listing issues'."""

    def listed(self, count: int) -> None:
        """So many more entities have been looked at."""

    def waiting(self, work: Work, count: int) -> None:
        """So many of these are still to be done."""

    def done(self, work: Work, count: int) -> None:
        """So many more of these are done."""


class Silent:
    """No one is looking."""

    def stage(self, text: str) -> None: ...

    def listed(self, count: int) -> None: ...

    def waiting(self, work: Work, count: int) -> None: ...

    def done(self, work: Work, count: int) -> None: ...
