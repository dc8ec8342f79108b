"""What a text refers to, and what it promises to close."""

from __future__ import annotations

import re

from loreline.simulator.demo.story import Kind, Target

WEB = "https://gitlab.example.com"

_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_REFERENCE = re.compile(
    rf"{re.escape(WEB)}/(?P<url>[\w.-]+/[\w.-]+)/-/(?P<kind>issues|merge_requests)/(?P<number>\d+)"
    r"|(?<![\w/&%#!])(?P<project>[\w.-]+(?:/[\w.-]+)?)?(?P<sign>[#!])(?P<iid>\d+)\b"
)
_CLOSING = re.compile(
    r"\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?):?\s+"
    r"(#\d+(?:(?:,\s*|\s+and\s+|,\s*and\s+)#\d+)*)",
    re.IGNORECASE,
)


def references(text: str, project: str) -> tuple[Target, ...]:
    """Issues and merge requests a text mentions outside of code, each once, in order."""
    found: dict[Target, None] = {}
    for match in _REFERENCE.finditer(_CODE.sub(" ", text)):
        if match["url"] is not None:
            kind: Kind = "issues" if match["kind"] == "issues" else "merge_requests"
            found[Target(match["url"], kind, int(match["number"]))] = None
        else:
            path = match["project"] or project
            if "/" not in path:
                path = f"{project.partition('/')[0]}/{path}"
            found[Target(path, "issues" if match["sign"] == "#" else "merge_requests", int(match["iid"]))] = None
    return tuple(found)


def closed_issues(text: str) -> tuple[int, ...]:
    """Numbers of the same project's issues that merging closes, ascending as GitLab lists them."""
    numbers = {
        int(number) for group in _CLOSING.findall(_CODE.sub(" ", text)) for number in re.findall(r"#(\d+)", group)
    }
    return tuple(sorted(numbers))
