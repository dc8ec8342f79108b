"""Opaque cursors: where a listing goes on. Robots hand them back; nobody reads them."""

from __future__ import annotations

import base64
import binascii

import msgspec
from msgspec import Struct


class Position(Struct, frozen=True):
    """The last row shown: the order it was shown in, its value there and its id."""

    order: str
    value: int | str | None
    id: int


def encode(position: Position) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(position)).decode().rstrip("=")


def decode(text: str) -> Position | None:
    """None for a text that is no cursor of ours."""
    try:
        return msgspec.msgpack.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Position)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return None
