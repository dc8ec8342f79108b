"""From a method, a path and a token to an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from loreline.simulator.api import entities, instance, planning, projects, subjects
from loreline.simulator.api.exchange import TEXT, Answer, Question, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from loreline.simulator.tokens import Token
    from loreline.simulator.world import World

PREFIX = "/api/v4/"

ROUTES: dict[str, Callable[[Question], Answer]] = {
    **instance.ROUTES,
    **projects.ROUTES,
    **planning.ROUTES,
    **entities.ROUTES,
    **subjects.ROUTES,
}
_ANY_SCOPE = frozenset(("personal_access_tokens/self",))
_USER_SCOPE = frozenset(("user",))


def respond(world: World, method: str, path: str, query: str, headers: Mapping[bytes, bytes], base: str) -> Answer:
    """Answer an API request; call with the world's lock held."""
    value = _token_value(headers)
    passed, limits = world.throttle.count(value or "")
    if not passed:
        return Answer(429, b"Retry later\n", limits, TEXT)
    try:
        answer = _answer(world, method, path, query, value, base)
    except Refused as refused:
        answer = refused.answer
    answer.headers.extend(limits)
    return answer


def _answer(world: World, method: str, path: str, query: str, value: str | None, base: str) -> Answer:
    handler, name, segments = _route(path)
    if handler is None:
        raise Refused(404, {"error": "404 Not Found"})
    token = _accepted(world, value)
    _check_scope(token, name, method)
    if method not in ("GET", "HEAD"):
        raise Refused(405, {"error": "405 Not Allowed"})
    return handler(Question(world, token, base, path, segments, query))


def _route(path: str) -> tuple[Callable[[Question], Answer] | None, str, list[str]]:
    if not path.startswith(PREFIX):
        return None, "", []
    rest = path[len(PREFIX) :].rstrip("/")
    handler = ROUTES.get(rest)
    segments = rest.split("/")
    if handler is not None:
        return handler, rest, segments
    # Every second segment of a GitLab path is a name or number.
    for index in range(1, len(segments), 2):
        if "%" in segments[index]:
            segments[index] = unquote(segments[index])
    name = "/".join(":" if index % 2 else segment for index, segment in enumerate(segments))
    return ROUTES.get(name), name, segments


def _token_value(headers: Mapping[bytes, bytes]) -> str | None:
    value = headers.get(b"private-token")
    if value is None:
        scheme, _, credentials = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        value = credentials.strip()
    return value.decode("latin-1")


def _accepted(world: World, value: str | None) -> Token:
    token = world.tokens.get(value) if value else None
    if token is None:
        raise Refused(401, {"message": "401 Unauthorized"})
    if token.revoked:
        raise _invalid_token("Token was revoked. You have to re-authorize from the user.")
    if token.expires is not None and token.expires <= world.clock.now():
        raise _invalid_token("Token is expired. You can either do re-authorization or token refresh.")
    return token


def _invalid_token(description: str) -> Refused:
    return Refused(
        401,
        {"error": "invalid_token", "error_description": description},
        [
            (
                b"www-authenticate",
                f'Bearer realm="Protected by OAuth 2.0", error="invalid_token", '
                f'error_description="{description}"'.encode(),
            )
        ],
    )


def _check_scope(token: Token, name: str, method: str) -> None:
    if method in ("GET", "HEAD"):
        enough = token.may_read() or name in _ANY_SCOPE or (name in _USER_SCOPE and "read_user" in token.scopes)
        needed = "api read_api read_user" if name in _USER_SCOPE else "api read_api"
    else:
        enough = "api" in token.scopes
        needed = "api"
    if enough:
        return
    raise Refused(
        403,
        {
            "error": "insufficient_scope",
            "error_description": "The request requires higher privileges than provided by the access token.",
            "scope": needed,
        },
    )
