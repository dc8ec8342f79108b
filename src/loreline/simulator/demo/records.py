"""What GitLab keeps of a project's life: notes and events, each at its moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from loreline.simulator.demo.diffs import Line
from loreline.simulator.demo.story import Target


@dataclass(frozen=True, slots=True)
class Place:
    """Where a thread stands in a diff, with the three commits GitLab pins it to."""

    base: str
    start: str
    head: str
    line: Line


@dataclass(frozen=True, slots=True)
class NoteRecord:
    target: Target
    at: int
    by: str
    body: str
    thread: str
    kind: str | None = None
    system: bool = False
    internal: bool = False
    place: Place | None = None
    resolved: tuple[str, int] | None = None
    touches: bool = True


@dataclass(frozen=True, slots=True)
class StateRecord:
    target: Target
    at: int
    by: str
    state: str
    source: Target | None = None
    source_commit: str | None = None


@dataclass(frozen=True, slots=True)
class LabelRecord:
    target: Target
    at: int
    by: str
    label: str
    action: str


@dataclass(frozen=True, slots=True)
class MilestoneRecord:
    target: Target
    at: int
    by: str
    milestone: str
    action: str
    state: str


Record: TypeAlias = NoteRecord | StateRecord | LabelRecord | MilestoneRecord
