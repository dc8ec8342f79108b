"""One question and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from loreline.simulator.moments import parse_moment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loreline.simulator.place import Place
    from loreline.simulator.tokens import Token
    from loreline.simulator.world import World

T = TypeVar("T")

Headers = list[tuple[bytes, bytes]]

JSON = (b"content-type", b"application/json")
TEXT = (b"content-type", b"text/plain")


class Answer(msgspec.Struct):
    status: int
    body: bytes
    headers: Headers
    content_type: tuple[bytes, bytes] = JSON


class Refused(Exception):
    """A handler's way to end with an error answer."""

    def __init__(self, status: int, body: Any, headers: Headers | None = None) -> None:
        super().__init__(status, body)
        self.answer = Answer(status, msgspec.json.encode(body), headers or [])


def not_found(what: str = "") -> Refused:
    """`404 Not found` where a record is missing, `404 Project Not Found` where GitLab names it."""
    return Refused(404, {"message": f"404 {what} Not Found" if what else "404 Not found"})


def forbidden() -> Refused:
    return Refused(403, {"message": "403 Forbidden"})


def bad_request(error: str) -> Refused:
    return Refused(400, {"error": error})


class Question:
    """A request whose token has been accepted."""

    __slots__ = ("base", "params", "path", "segments", "token", "world")

    def __init__(self, world: World, token: Token, base: str, path: str, segments: Sequence[str], query: str) -> None:
        self.world = world
        self.token = token
        self.base = base
        self.path = path
        self.segments = segments
        self.params: list[tuple[str, str]] = parse_qsl(query, keep_blank_values=True) if query else []

    def get(self, name: str) -> str | None:
        """The last value of a parameter; an empty one counts as absent."""
        for key, value in reversed(self.params):
            if key == name:
                return value or None
        return None

    def all(self, name: str) -> list[str]:
        """Every value of a list parameter, given as name[]=a&name[]=b or name=a,b."""
        values = [value for key, value in self.params if key == f"{name}[]"]
        values.extend(part for key, value in self.params if key == name for part in value.split(",") if part)
        return values

    def number(self, name: str, default: int) -> int:
        text = self.get(name)
        if text is None:
            return default
        return self._converted(name, text, int)

    def flag(self, name: str, *, default: bool = False) -> bool:
        text = self.get(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false", "1", "0", "t", "f", "yes", "no", "on", "off"):
            raise bad_request(f"{name} is invalid")
        return text.lower() in ("true", "1", "t", "yes", "on")

    def moment(self, name: str) -> int | None:
        text = self.get(name)
        return None if text is None else self._converted(name, text, parse_moment)

    def choice(self, name: str, values: Sequence[str], default: str) -> str:
        text = self.get(name)
        if text is None:
            return default
        if text not in values:
            raise bad_request(f"{name} does not have a valid value")
        return text

    def place(self) -> Place:
        """The project that the path names, if the token may see it."""
        key = self.segments[1]
        places = self.world.places
        if key.isdigit():
            place = places.get(int(key))
        else:
            lower = key.lower()
            place = next((one for one in places.values() if one.path.lower() == lower), None)
            if place is None:
                self._redirect_from_old(lower)
        if place is None or place.hidden:
            raise not_found("Project")
        return place

    def _redirect_from_old(self, path: str) -> None:
        for place in self.world.places.values():
            if any(old.lower() == path for old in place.old_paths) and not place.hidden:
                rest = "/".join(self.segments[2:])
                where = f"{self.base}/api/v4/projects/{place.id}{'/' + rest if rest else ''}"
                raise Refused(
                    301,
                    {"message": f"This resource has been moved permanently to {where}"},
                    [(b"location", where.encode())],
                )

    def _converted(self, name: str, text: str, convert: Callable[[str], T]) -> T:
        try:
            return convert(text)
        except ValueError:
            raise bad_request(f"{name} is invalid") from None


def answer(value: Any, headers: Headers | None = None) -> Answer:
    return Answer(200, msgspec.json.encode(value), headers or [])
