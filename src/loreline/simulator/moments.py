"""Moments as the simulator keeps them: whole microseconds since the epoch, shown in milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

SECOND = 1_000_000


def parse_moment(text: str) -> int:
    """Read an ISO 8601 date or time; one without a zone is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def show_moment(microseconds: int) -> str:
    """Render as GitLab's JSON does: milliseconds, cut rather than rounded, and Z."""
    seconds, rest = divmod(microseconds, SECOND)
    moment = _EPOCH + timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest // 1000:03d}Z"
