"""Questions of our own to the demo project, with the answers a person who knows it would give."""

from __future__ import annotations

import tomllib
from pathlib import Path

from msgspec import Struct

from loreline.core.documents import SourceType
from loreline.core.query import TYPES

_FILE = Path(__file__).with_name("golden.toml")


class Golden(Struct, frozen=True):
    kind: str
    query: str
    """As it is typed, filters and all."""
    answers: frozenset[tuple[SourceType, str]]
    source_type: SourceType | None
    """What `--type` is given."""


def questions() -> list[Golden]:
    found = tomllib.loads(_FILE.read_text("utf-8"))["question"]
    return [
        Golden(
            one["kind"],
            one["query"],
            frozenset((_type(answer), answer) for answer in one["answers"]),
            TYPES[one["type"]] if "type" in one else None,
        )
        for one in found
    ]


def _type(reference: str) -> SourceType:
    return SourceType.ISSUE if "#" in reference else SourceType.MERGE_REQUEST
