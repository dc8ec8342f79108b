"""What a text refers to, and what it promises to close. Code and HTML comments are no text, as on GitLab."""

from __future__ import annotations

import re
from typing import NamedTuple

from loreline.simulator.corpus import Kind

WEB = "https://gitlab.example.com"

_NO_TEXT = re.compile(r"```.*?```|`[^`\n]*`|<!--.*?-->", re.DOTALL)
_REFERENCE = re.compile(
    rf"{re.escape(WEB)}/(?P<url>(?:[\w.-]+/)+[\w.-]+)/-/(?P<kind>issues|merge_requests)/(?P<number>\d+)"
    r"|(?<![\w/&%#!])(?P<path>[\w.-]+(?:/[\w.-]+)*)?(?P<sign>[#!])(?P<iid>\d+)\b"
)
_CLOSING = re.compile(
    r"\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?):?\s+"
    r"(#\d+(?:(?:,\s*|\s+and\s+|,\s*and\s+|\s+)#\d+)*)",
    re.IGNORECASE,
)


class Named(NamedTuple):
    """An issue or merge request as a text names it."""

    path: str
    kind: Kind
    iid: int


def references(text: str, home: str) -> tuple[Named, ...]:
    """Issues and merge requests a text in the project `home` mentions, each once, in order."""
    found: dict[Named, None] = {}
    for match in _REFERENCE.finditer(_NO_TEXT.sub(" ", text)):
        if match["url"] is not None:
            found[
                Named(match["url"], "issues" if match["kind"] == "issues" else "merge_requests", int(match["number"]))
            ] = None
        else:
            path = match["path"] or home
            if "/" not in path:
                path = f"{home.rpartition('/')[0]}/{path}"
            found[Named(path, "issues" if match["sign"] == "#" else "merge_requests", int(match["iid"]))] = None
    return tuple(found)


def closed_issues(text: str) -> tuple[int, ...]:
    """Numbers of the same project's issues that merging closes, ascending as GitLab lists them."""
    groups = _CLOSING.findall(_NO_TEXT.sub(" ", text))
    return tuple(sorted({int(number) for group in groups for number in re.findall(r"#(\d+)", group)}))
