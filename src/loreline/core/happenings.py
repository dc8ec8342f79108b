"""What happened to issues and merge requests, of whatever kind, in the order of time."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from loreline.core.walk import Node


class Happened(StrEnum):
    """In the order in which they are told where they happened at one moment."""

    CREATED = "created"
    MILESTONE_SET = "milestone_set"
    MILESTONE_REMOVED = "milestone_removed"
    LABEL_ADDED = "label_added"
    LABEL_REMOVED = "label_removed"
    NOTE = "note_evidence"
    MERGED = "merged"
    STATE = "state_changed"


_ORDER = {kind: at for at, kind in enumerate(Happened)}


class Event(Struct, frozen=True, kw_only=True):
    node: Node
    at: int
    """In ms."""
    type: Happened
    actor: str | None = None
    what: str | None = None
    """The label, the milestone, the new state, or what a note says."""
    cause: Node | None = None
    """The merge request that closed it."""
    commit: str | None = None
    """The commit that closed it."""
    note_id: int | None = None
    thread_id: str | None = None
    path: str | None = None
    line: int | None = None
    labels: tuple[str, ...] = ()
    """Those it has; of a creation."""


def interleave(events: Iterable[Event], since: int | None = None, until: int | None = None) -> list[Event]:
    """All of them from `since` on and before `until`, each once, oldest first."""
    chosen = [
        event
        for event in without_repeats(events)
        if (since is None or event.at >= since) and (until is None or event.at < until)
    ]
    return sorted(chosen, key=_place)


def _place(event: Event) -> tuple[object, ...]:
    """Of several at one moment the order is always the same."""
    node = event.node
    return (
        event.at,
        _ORDER[event.type],
        node.kind.value,
        node.id,
        event.note_id or 0,
        event.what or "",
        event.actor or "",
    )


def without_repeats(events: Iterable[Event]) -> list[Event]:
    """GitLab tells a merge twice: as an event of the state, and as a field of the merge request."""
    several = list(events)
    merged = {event.node for event in several if event.type is Happened.MERGED}
    return [
        event
        for event in several
        if not (event.type is Happened.STATE and event.what == "merged" and event.node in merged)
    ]
