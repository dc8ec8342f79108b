"""Who may ask, and for what."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

TokenKind = Literal["personal", "group", "project", "oauth"]

DEFAULT_TOKEN = "glpat-simulator"


class Token(msgspec.Struct, frozen=True):
    """An access token; `expires` is in microseconds since the epoch.

    `insider` sees confidential issues and internal notes, as a project member does.
    """

    value: str
    user: dict[str, Any]
    scopes: tuple[str, ...] = ("read_api",)
    expires: int | None = None
    kind: TokenKind = "personal"
    revoked: bool = False
    insider: bool = True
    created: int = 0
    id: int = 1
    name: str = "simulator"

    def may_read(self) -> bool:
        return "api" in self.scopes or "read_api" in self.scopes
