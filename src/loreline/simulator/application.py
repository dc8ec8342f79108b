"""The ASGI application: every request passes here, so it does little and does it flatly."""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from loreline.simulator.api.exchange import Answer
from loreline.simulator.api.router import respond
from loreline.simulator.log import Request
from loreline.simulator.moments import SECOND
from loreline.simulator.wire import UNANSWERED, cut, drip, faulty, hang, reset, send_answer

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from loreline.simulator.faults import Fault
    from loreline.simulator.world import World

CONTROL_PREFIX = "/_simulator"


class Application:
    """Answers the API itself and hands `/_simulator` to the control application, where there is one."""

    def __init__(self, world: World, control: ASGIApp | None) -> None:
        self._world = world
        self._control = control
        self._date = (-1, b"")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if self._control is not None and scope["path"].startswith(CONTROL_PREFIX):
            await self._control(scope, receive, send)
            return
        # The raw path, because %2F inside a project's path must not become a slash.
        path = scope["raw_path"].partition(b"?")[0].decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        method = scope["method"]
        world = self._world
        if world.behaviour.latency:
            await asyncio.sleep(world.behaviour.latency)
        headers = dict(scope["headers"])
        base = f"http://{headers.get(b'host', b'localhost').decode('latin-1')}"
        with world.lock:
            fault = world.faults.strike(method, f"{path}?{query}" if query else path) if world.faults else None
            answer = respond(world, method, path, query, headers, base)
            if fault is not None:
                answer = faulty(fault, answer)
            status = 0 if fault is not None and fault.action in UNANSWERED else answer.status
            world.log.add(Request(method, path, query, status))
            date = self._http_date(world.clock.now() // SECOND)
        if fault is not None:
            await _send_faulty(scope, receive, send, fault, answer, date)
        else:
            await send_answer(send, answer, date, head=method == "HEAD")

    def _http_date(self, second: int) -> bytes:
        if self._date[0] != second:
            self._date = (second, formatdate(second, usegmt=True).encode())
        return self._date[1]


async def _send_faulty(scope: Scope, receive: Receive, send: Send, fault: Fault, answer: Answer, date: bytes) -> None:
    match fault.action:
        case "reset":
            await reset(scope)
        case "reset_midway":
            await cut(scope, receive, send, answer, by_reset=True)
        case "cut":
            await cut(scope, receive, send, answer, by_reset=False)
        case "hang":
            await hang(scope, receive, fault.seconds)
        case "drip":
            await drip(send, answer, date, fault.seconds)
        case "slow":
            await asyncio.sleep(fault.seconds)
            await send_answer(send, answer, date)
        case _:
            await send_answer(send, answer, date)
