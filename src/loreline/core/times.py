"""Times as Loreline keeps them: milliseconds since the epoch, UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AGO = re.compile(r"(\d{1,6})\s*(h|d|w|m|y)(?:\s+ago)?\Z", re.IGNORECASE)
_STEPS = {"h": HOUR, "d": DAY, "w": 7 * DAY, "m": 30 * DAY, "y": 365 * DAY}


def from_datetime(moment: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def to_datetime(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def to_iso(ms: int) -> str:
    """`2024-03-15T10:00:00.123Z`: what GitLab takes and robots read."""
    return to_datetime(ms).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % SECOND:03d}Z"


def parse_when(text: str, now: int) -> int | None:
    """A moment as people give it: `2024-01-31`, ISO 8601, `6m`, `2w`, `today`, `yesterday`; None if it is none."""
    text = text.strip()
    today = now - now % DAY
    if text.lower() in {"today", "yesterday"}:
        return today if text.lower() == "today" else today - DAY
    ago = _AGO.match(text)
    if ago:
        return now - int(ago[1]) * _STEPS[ago[2].lower()]
    try:
        return from_datetime(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


_AGES = (
    (365 * DAY, "year"),
    (30 * DAY, "month"),
    (7 * DAY, "week"),
    (DAY, "day"),
    (HOUR, "hour"),
    (MINUTE, "minute"),
)


def age(ms: int, now: int) -> str:
    """`3 days ago`, as people say it."""
    passed = now - ms
    if passed < 0:
        return "in the future"
    for step, word in _AGES:
        if passed >= step:
            count = passed // step
            return f"{count} {word}{'s' if count != 1 else ''} ago"
    return "just now"


def duration(ms: int) -> str:
    """`820 ms`, `3.4 s`, `2 min 05 s`, `1 h 12 min`."""
    if ms < SECOND:
        return f"{ms} ms"
    if ms < MINUTE - 50:  # above, a tenth of a second rounds up to the minute
        return f"{ms / SECOND:.1f} s"
    seconds = (ms + SECOND // 2) // SECOND
    if seconds < HOUR // SECOND:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"
