"""Serving a world: in this process until told to stop, or on a thread beside a test."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import threading
from typing import TYPE_CHECKING

import uvicorn

from loreline.errors import InvalidValue, NetworkFailed
from loreline.simulator.application import Application
from loreline.simulator.control import control_app
from loreline.simulator.wire import OpenProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

    from loreline.simulator.log import RequestLog
    from loreline.simulator.world import World

_BACKLOG = 2048
_STOP_SECONDS = 10
_TICK_SECONDS = 0.1


def create_app(world: World, *, control: bool = False) -> ASGIApp:
    """The ASGI application; with `control`, whoever reaches it may edit the world."""
    return Application(world, control_app(world) if control else None)


class _Server(uvicorn.Server):
    """uvicorn, but it ends as soon as it is told to, and drops its connections: a client may be hanging on purpose."""

    _loop: asyncio.AbstractEventLoop | None = None
    _told: asyncio.Event

    def stop(self) -> None:
        """To be called from another thread."""
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._told.set)

    async def main_loop(self) -> None:
        self._told = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        await self.on_tick(0)
        while not self.should_exit:
            # Signals only set `should_exit`: they are looked for.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for bound in sockets or []:
            bound.close()
        for connection in list(self.server_state.connections):
            transport = getattr(connection, "transport", None)
            if transport is not None:
                transport.abort()


def serve(
    world: World,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    control: bool = False,
    anyone: bool = False,
    on_bound: Callable[[int], None] | None = None,
) -> None:
    """Serve until the process is told to stop; `on_bound` learns the port.

    Anything but a loopback address must be asked for with `anyone`: the simulator checks tokens, but
    it is no server to put on a network.
    """
    if not anyone and not _is_loopback(host):
        raise InvalidValue(
            f"The simulator would be reachable from elsewhere at {host}.",
            hint="Bind 127.0.0.1, or ask for it explicitly.",
        )
    with contextlib.closing(_bound(host, port)) as bound:
        if on_bound is not None:
            on_bound(bound.getsockname()[1])
        _Server(_config(world, control=control)).run(sockets=[bound])


class Running:
    """A simulator that serves on a thread of this process."""

    def __init__(self, world: World, url: str) -> None:
        self.world = world
        self.url = url

    @property
    def requests(self) -> RequestLog:
        return self.world.log


@contextlib.contextmanager
def running(world: World, *, control: bool = False) -> Iterator[Running]:
    """Serve on a free loopback port for as long as the block lasts."""
    with contextlib.closing(_bound("127.0.0.1", 0)) as bound:
        server = _Server(_config(world, control=control))
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [bound]}, name="loreline-simulator", daemon=True
        )
        thread.start()
        try:
            # The socket listens already: a request made before the loop runs waits in its backlog.
            yield Running(world, f"http://127.0.0.1:{bound.getsockname()[1]}")
        finally:
            server.stop()
            thread.join(_STOP_SECONDS)


def _config(world: World, *, control: bool) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(world, control=control),
        http=OpenProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=60,
    )


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise NetworkFailed(
            f"Port {port} of {host} cannot be used: {error}", hint="Choose another port, or 0 for any."
        ) from error
    return bound


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
