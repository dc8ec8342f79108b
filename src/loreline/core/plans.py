"""What to do with what GitLab shows: decided here, from what is known and what is told, and done elsewhere."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct

from loreline.core.entities import Entity, MergeRequest
from loreline.core.times import DAY, MINUTE, SECOND

OVERLAP_MS = 2 * MINUTE
"""A listing starts this much before its cursor: what was saved in a long transaction shows up late."""

TOUCH_MS = 65 * SECOND
"""GitLab moves updated_at at most once a minute; a note saved sooner is invisible in lists. (And some slack.)"""


class Known(Struct, frozen=True):
    """What the mirror holds of an entity, as far as a listing is compared with it."""

    id: int
    iid: int
    activity_key: bytes
    code_key: bytes | None
    payload_hash: bytes | None
    discussions_fetched_at: int | None


class Listed(Struct, frozen=True):
    """An entity as a list shows it."""

    iid: int
    activity_key: bytes
    code_key: bytes | None
    payload_hash: bytes


class Decision(Struct, frozen=True):
    """Whether to write the row, and which dependents to fetch again."""

    write: bool
    talk: bool
    """Threads and events."""
    code: bool
    """Commits, diffs, details and closed issues."""

    @property
    def nothing(self) -> bool:
        return not (self.write or self.talk or self.code)


def decide(known: Known | None, listed: Listed) -> Decision:
    """New: everything. The same bytes: nothing. Else what the changed fields can have brought along."""
    if known is None:
        return Decision(write=True, talk=True, code=listed.code_key is not None)
    if known.payload_hash == listed.payload_hash and known.iid == listed.iid:
        return Decision(write=False, talk=False, code=False)
    return Decision(
        write=True,
        talk=known.activity_key != listed.activity_key,
        code=known.code_key != listed.code_key,
    )


def activity_key(entity: Entity) -> bytes:
    """Moves whenever a thread or an event may have come, as far as a list can tell."""
    request = entity if isinstance(entity, MergeRequest) else None
    return _key(
        entity.updated_at,
        entity.user_notes_count,
        entity.state,
        sorted(entity.labels),
        entity.milestone.gitlab_id if entity.milestone else None,
        request.head_sha if request else None,
    )


def code_key(entity: Entity) -> bytes | None:
    """Moves whenever commits, diffs or the closed issues may have changed; None for an issue."""
    if not isinstance(entity, MergeRequest):
        return None
    return _key(
        entity.head_sha,
        entity.target_branch,
        entity.state,
        entity.merge_commit_sha,
        entity.squash_commit_sha,
        entity.prepared_at,
        entity.title,
        entity.description,
    )


def _key(*fields: object) -> bytes:
    return hashlib.blake2b(msgspec.msgpack.encode(fields), digest_size=8).digest()


def listing_start(cursor_updated_at: int | None) -> int | None:
    """From which moment on to list; None is from the beginning."""
    return None if cursor_updated_at is None else cursor_updated_at - OVERLAP_MS


def sweep_share(count: int, swept_at: int, now: int, sweep_days: int) -> tuple[int, int]:
    """How many of `count` entities are due, so that all are looked at within `sweep_days`, and what that pays for.

    Whole entities only: the rest of the time since stays owed, so that many small shares make up whole ones.
    """
    period = sweep_days * DAY
    elapsed = max(now - swept_at, 0)
    if count == 0 or elapsed >= period:
        return count, now
    share = count * elapsed // period
    return share, swept_at + -(-share * period // count)


def looks_like_lost_access(vanished: int, looked_at: int) -> bool:
    """When most of many vanish at once, a permission is a likelier reason than deletion."""
    return vanished >= 20 and vanished * 2 > looked_at
