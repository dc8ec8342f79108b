"""The merge request a commit came by: what GitLab says of it first, and then what the clone shows."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
from msgspec import Struct

from loreline.core import attribution
from loreline.core.attribution import Shown
from loreline.core.entities import Kind
from loreline.git import log
from loreline.git.repository import Repository
from loreline.services.mirror import browse
from loreline.store import commits

_PICKS = 5
"""A pick of a pick of a pick."""


class Attributed(Struct, frozen=True):
    merge_request_id: int
    shown: Shown
    by: str
    """The commit that shows it: itself, its merge, or the one it was picked from."""


def attribute(
    db: apsw.Connection, repository: Repository | None, sha: str, head: str | None, project_ids: Sequence[int] | None
) -> Attributed | None:
    """None where nothing shows it: never a guess."""
    found = commits.brought_by(db, sha, project_ids)
    if found is not None:
        return Attributed(*found, sha)
    if repository is None:
        return None
    return (
        _by_its_merge(db, repository, sha, head, project_ids)
        or _by_message(db, repository, sha, project_ids, sha)
        or _by_pick(db, repository, sha, project_ids)
    )


def _by_its_merge(
    db: apsw.Connection, repository: Repository, sha: str, head: str | None, project_ids: Sequence[int] | None
) -> Attributed | None:
    merge = log.brought_by(repository, sha, head) if head is not None else None
    if merge is None or merge == sha:
        return None
    found = commits.brought_by(db, merge, project_ids)
    if found is not None and found[1] is not Shown.OWN:
        return Attributed(found[0], Shown.CONTAINED, merge)
    return _by_message(db, repository, merge, project_ids, merge)


def _by_message(
    db: apsw.Connection, repository: Repository, sha: str, project_ids: Sequence[int] | None, by: str
) -> Attributed | None:
    told = log.commit(repository, sha)
    reference = attribution.named_request(told.message) if told is not None else None
    if reference is None:
        return None
    meant = [
        key
        for key in browse.meant(db, reference)
        if key.kind is Kind.MERGE_REQUEST and (project_ids is None or key.project_id in project_ids)
    ]
    return Attributed(meant[0].id, Shown.NAMED, by) if len(meant) == 1 else None


def _by_pick(
    db: apsw.Connection, repository: Repository, sha: str, project_ids: Sequence[int] | None
) -> Attributed | None:
    at = sha
    for _ in range(_PICKS):
        told = log.commit(repository, at)
        sources = attribution.picked_from(told.message) if told is not None else []
        for source in sources:
            found = commits.brought_by(db, source, project_ids)
            if found is not None:
                return Attributed(found[0], Shown.PICKED, source)
        if not sources:
            return None
        at = sources[0]
    return None
