"""From a commit to the merge request it came by: what shows it, and how sure that is."""

from __future__ import annotations

import re
from enum import StrEnum

from loreline.core.entities import Kind
from loreline.core.references import EntityRef, parse_reference


class Shown(StrEnum):
    """What shows that a commit came by a merge request, the surest first."""

    SQUASH = "squash_commit"
    """GitLab says it is what the merge request was squashed to."""
    MERGE = "merge_commit"
    """GitLab says it is the merge."""
    OWN = "own_commit"
    """GitLab lists it among the merge request's commits."""
    CONTAINED = "first_parent"
    """It came into the branch by the merge request's merge."""
    NAMED = "message"
    """The message of its merge, or its own, names the merge request."""
    PICKED = "cherry_pick"
    """It was picked from a commit that came by it."""


_SEE = re.compile(r"^See merge request (\S+)\s*$", re.MULTILINE)
_PICKED = re.compile(r"^\(cherry picked from commit ([0-9a-f]{40,64})\)\s*$", re.MULTILINE)


def named_request(message: str) -> EntityRef | None:
    """The merge request that GitLab writes into the message of a merge."""
    found = _SEE.findall(message)
    if not found:
        return None
    reference = parse_reference(found[-1])
    return reference if reference is not None and reference.kind is Kind.MERGE_REQUEST else None


def picked_from(message: str) -> list[str]:
    """The commits it was picked from, the last one first."""
    return _PICKED.findall(message)[::-1]
