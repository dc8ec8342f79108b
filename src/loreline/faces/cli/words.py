"""Small things in people's words: ages, counts, states. Everything is safe for a terminal."""

from __future__ import annotations

from loreline.core.times import age, to_datetime
from loreline.core.untrusted import neutralise_line

STATE_STYLES = {
    "opened": "green",
    "merged": "magenta",
    "closed": "red",
    "locked": "yellow",
}


def count(number: int, word: str, plural: str | None = None) -> str:
    """`1 issue`, `1,204 issues`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def size(number: float) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} GB"


def when(ms: int | None, now: int) -> str:
    """`3 days ago`."""
    return age(ms, now) if ms is not None else "never"


def day(ms: int) -> str:
    return to_datetime(ms).strftime("%Y-%m-%d")


def minute(ms: int) -> str:
    return to_datetime(ms).strftime("%Y-%m-%d %H:%M UTC")


def line(text: str | None) -> str:
    return neutralise_line(text) if text else ""
