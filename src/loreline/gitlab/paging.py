"""Where a list goes on: GitLab's `Link` and `X-Next-Page`, and nothing guessed from counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

_NEXT = re.compile(r'<([^<>]*)>\s*;[^,<]*\brel="?next"?')


def next_target(target: str, headers: Mapping[str, str]) -> str | None:
    """The path and query of the page after `target`, or None on the last one.

    Only the query of a link is taken: behind a reverse proxy its host and prefix can be GitLab's own idea of
    itself, and a token goes to no address but the configured one.
    """
    path, _, query = target.partition("?")
    link = headers.get("link")
    if link:
        match = _NEXT.search(link)
        if match:
            return f"{path}?{match[1].partition('#')[0].partition('?')[2]}"
        if "rel=" in link:
            return None
    page = headers.get("x-next-page", "").strip()
    if not page:
        return None
    pairs = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "page"]
    return f"{path}?{urlencode([*pairs, ('page', page)])}"


def by_offset(headers: Mapping[str, str]) -> bool:
    """Whether this is a numbered page; keyset pages have no number."""
    return bool(headers.get("x-page", "").strip())


def total(headers: Mapping[str, str]) -> int | None:
    """How many there are in all; GitLab stops counting at 10,000."""
    text = headers.get("x-total", "")
    return int(text) if text.isdigit() else None
