"""Faults that happen below HTTP: connections that reset, hang or end too early."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from loreline.simulator.api.exchange import JSON, TEXT, Answer

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from loreline.simulator.faults import Fault

TRANSPORT = "loreline.transport"
UNANSWERED = frozenset(("reset", "reset_midway", "hang", "cut"))
"""The actions after which the client holds no whole answer."""
_DRIPS = 10
_HTML = b"<!DOCTYPE html>\n<html><head><title>%b</title></head><body><h1>%b</h1></body></html>\n"


class OpenProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with the transport within reach of the application."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        scope = cast("dict[str, Any]", self.scope)
        scope["extensions"] = {TRANSPORT: self.transport}


def html_page(title: str) -> bytes:
    text = title.encode()
    return _HTML % (text, text)


async def send_answer(send: Send, answer: Answer, date: bytes, *, head: bool = False) -> None:
    headers = [
        answer.content_type,
        (b"content-length", b"%d" % len(answer.body)),
        (b"date", date),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else answer.body})


async def reset(scope: Scope) -> None:
    """Break the connection so that the peer's kernel sees RST, not an orderly end."""
    transport = _transport(scope)
    connection = transport.get_extra_info("socket")
    if connection is not None:
        # Lingering for no time turns close into a reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def hang(scope: Scope, receive: Receive, seconds: float) -> None:
    """Stay silent until the peer gives up or the time is over."""
    try:
        async with asyncio.timeout(seconds):
            await _until_gone(receive)
    except TimeoutError:
        _transport(scope).abort()


async def cut(scope: Scope, receive: Receive, send: Send, answer: Answer, *, by_reset: bool) -> None:
    """Promise the whole body, send half of it, and end the connection."""
    headers = [answer.content_type, (b"content-length", b"%d" % (len(answer.body) + 1)), *answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    half = answer.body[: len(answer.body) // 2]
    await send({"type": "http.response.body", "body": half, "more_body": True})
    if by_reset:
        # A reset throws away what has not been read, so the peer gets a moment to read it.
        await asyncio.sleep(0.05)
        await reset(scope)
    else:
        _transport(scope).close()
    await _until_gone(receive)


async def drip(send: Send, answer: Answer, date: bytes, seconds: float) -> None:
    headers = [
        answer.content_type,
        (b"content-length", b"%d" % len(answer.body)),
        (b"date", date),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    step = max(1, -(-len(answer.body) // _DRIPS))
    for start in range(0, len(answer.body), step):
        await asyncio.sleep(seconds / _DRIPS)
        await send({"type": "http.response.body", "body": answer.body[start : start + step], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def faulty(fault: Fault, answer: Answer) -> Answer:
    """The answer a fault puts in place of the right one, where HTTP itself stays sound."""
    html = (b"content-type", b"text/html; charset=utf-8")
    match fault.action:
        case "rate_limited":
            headers = [] if fault.retry_after is None else [(b"retry-after", b"%d" % fault.retry_after)]
            return Answer(429, b"Retry later\n", headers, TEXT)
        case "error" if fault.status == 502:
            return Answer(502, html_page("GitLab is not responding"), [], html)
        case "error" if fault.status == 500:
            return Answer(500, b'{"message":"500 Internal Server Error"}', [], JSON)
        case "error" if fault.status == 503:
            return Answer(503, html_page("503 Service Unavailable"), [], html)
        case "error":
            return Answer(fault.status, b'{"message":"%d"}' % fault.status, [], JSON)
        case "html":
            return Answer(200, html_page("Sign in"), [], html)
        case "truncated_json":
            return Answer(200, answer.body[: max(1, len(answer.body) // 2)], answer.headers, JSON)
        case "wrong_type":
            body = b'{"message":"not a list"}' if answer.body.startswith(b"[") else b"[]"
            return Answer(200, body, answer.headers, JSON)
        case "empty_list":
            headers = [(name, value) for name, value in answer.headers if name not in (b"link", b"x-next-page")]
            return Answer(200, b"[]", [*headers, (b"x-next-page", b"")], JSON)
        case _:
            return answer


def _transport(scope: Scope) -> Any:
    return scope["extensions"][TRANSPORT]


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
