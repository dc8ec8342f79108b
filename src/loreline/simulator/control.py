"""Control over HTTP, for tests that run the simulator as another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from loreline.errors import LoreError
from loreline.simulator.edits import apply_edit
from loreline.simulator.faults import Fault
from loreline.simulator.limits import RateLimit
from loreline.simulator.state import state_lines
from loreline.simulator.world import Behaviour

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from loreline.simulator.world import World


def control_app(world: World) -> Starlette:
    """The application under `/_simulator`; it asks for no token."""
    return Starlette(
        routes=[
            Route(f"/_simulator/{name}", _bound(world, handler), methods=methods)
            for name, (handler, methods) in _HANDLERS.items()
        ]
    )


async def _edit(world: World, request: Request) -> Response:
    wanted: dict[str, Any] = msgspec.json.decode(await request.body(), type=dict[str, Any])
    operation = wanted.pop("op", None)
    # An operation's arguments may stand beside `op` or in `args`.
    arguments = {**wanted.pop("args", {}), **wanted}
    return _json(apply_edit(world, str(operation), arguments))


async def _faults(world: World, request: Request) -> Response:
    if request.method == "DELETE":
        world.faults.clear()
        return _json(None)
    body = await request.body()
    added = msgspec.json.decode(body, type=Fault | list[Fault])
    world.faults.add(*(added if isinstance(added, list) else [added]))
    return _json(None)


async def _clock(world: World, request: Request) -> Response:
    if request.method == "POST":
        wanted = msgspec.json.decode(await request.body(), type=_ClockChange)
        with world.lock:
            if wanted.run:
                world.clock.run()
            if wanted.set is not None:
                world.clock.set(wanted.set)
            world.clock.advance(wanted.advance)
    return _json({"now": world.now()})


async def _behaviour(world: World, request: Request) -> Response:
    wanted: dict[str, Any] = msgspec.json.decode(await request.body(), type=dict[str, Any])
    with world.lock:
        fields = {**msgspec.to_builtins(world.behaviour), **wanted}
        world.behaviour = msgspec.convert(fields, Behaviour)
    return _json(world.behaviour)


async def _rate_limit(world: World, request: Request) -> Response:
    world.limit_rate(msgspec.json.decode(await request.body(), type=RateLimit | None))
    return _json(None)


async def _tokens(world: World, request: Request) -> Response:
    wanted: dict[str, Any] = msgspec.json.decode(await request.body(), type=dict[str, Any])
    if request.method == "DELETE":
        world.remove_token(wanted["value"])
        return _json(None)
    return _json(world.add_token(**wanted))


async def _log(world: World, request: Request) -> Response:
    if request.method == "DELETE":
        world.log.clear()
        return _json(None)
    with world.lock:
        shown = {
            "total": world.log.total,
            "statuses": world.log.statuses(),
            "faults": world.faults.struck,
            "requests": list(world.log.requests) if request.query_params.get("counts") is None else [],
        }
    return _json(shown)


async def _state(world: World, request: Request) -> Response:
    project = request.query_params.get("project", "")
    token = request.query_params.get("token")
    return StreamingResponse(state_lines(world, project, token), media_type="application/x-ndjson")


_HANDLERS = {
    "edit": (_edit, ["POST"]),
    "faults": (_faults, ["POST", "DELETE"]),
    "clock": (_clock, ["GET", "POST"]),
    "behaviour": (_behaviour, ["POST"]),
    "rate_limit": (_rate_limit, ["POST"]),
    "tokens": (_tokens, ["POST", "DELETE"]),
    "log": (_log, ["GET", "DELETE"]),
    "state": (_state, ["GET"]),
}


class _ClockChange(msgspec.Struct, forbid_unknown_fields=True):
    set: str | None = None
    advance: float = 0.0
    run: bool = False


def _bound(
    world: World, handler: Callable[[World, Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """Give a handler its world, and turn what a test got wrong into an answer that says so."""

    async def bound(request: Request) -> Response:
        try:
            return await handler(world, request)
        except (LoreError, msgspec.MsgspecError, TypeError, ValueError, KeyError) as error:
            return _json({"error": str(error)}, 400)

    return bound


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
