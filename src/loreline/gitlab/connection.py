"""The connections to one instance: TLS, proxy and bytes, over httpx2's own engine.

httpcore2 is what httpx2 sends its requests with. What httpx2 adds (cookies, redirects, auth flows, URL merging)
is none of ours here, and without it a request costs a quarter less, which is what a first sync is made of.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import zlib
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2
from msgspec import Struct

from loreline import __version__
from loreline.errors import ConfigInvalid


class Connection(Struct, frozen=True, kw_only=True):
    """How to reach an instance. `repr` never shows the token."""

    url: str
    token: str
    bearer: bool = False
    ca_bundle: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    proxy: str | None = None
    concurrency: int = 8
    requests_per_second: float = 0
    timeout_seconds: float = 60
    attempts: int = 6
    retry_seconds: float = 0.5

    def __repr__(self) -> str:
        return f"Connection({self.url})"


_DRIPPING = 10
"""An answer that goes on coming may take so many times as long as silence would."""


class Reply(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    """By lower-case name."""
    body: bytes


class Channel:
    """Sends GET requests to one origin, and to no other."""

    def __init__(self, connection: Connection) -> None:
        parts = urlsplit(connection.url)
        self._scheme = parts.scheme.encode()
        self._host = (parts.hostname or "").encode("idna")
        self._port = parts.port
        connect = min(connection.timeout_seconds, 15)
        read = connection.timeout_seconds
        self._extensions = {"timeout": {"connect": connect, "read": read, "write": read, "pool": None}}
        self._longest = connection.timeout_seconds * _DRIPPING
        token = connection.token.encode()
        self._headers = [
            (b"host", parts.netloc.encode("idna")),
            (b"authorization", b"Bearer " + token) if connection.bearer else (b"private-token", token),
            (b"accept", b"application/json"),
            (b"accept-encoding", b"gzip"),
            (b"user-agent", f"loreline/{__version__}".encode()),
        ]
        address = connection.proxy or _environment_proxy(connection.url)
        self.proxy = _without_secrets(address) if address else None
        """Through which proxy, for messages."""
        self._pool = _pool(connection, address)

    async def get(self, path_and_query: str) -> Reply:
        """The answer, whatever its status; httpcore2's errors pass through."""
        url = httpcore2.URL(scheme=self._scheme, host=self._host, port=self._port, target=path_and_query.encode())
        # Each read has its own limit, which an answer that drips in never reaches; the whole has one too.
        async with asyncio.timeout(self._longest):
            response = await self._pool.request(b"GET", url, headers=self._headers, extensions=self._extensions)
        headers = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
        body = response.content
        if headers.get("content-encoding", "identity") != "identity":
            body = _unpacked(body, headers["content-encoding"])
        return Reply(response.status, headers, body)

    async def close(self) -> None:
        await self._pool.aclose()


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding.lower() not in {"gzip", "x-gzip", "deflate"}:
        raise httpcore2.RemoteProtocolError(f"the answer is encoded as {encoding}, which nobody asked for")
    try:
        return zlib.decompress(body, wbits=47)  # gzip or zlib, as its header says
    except zlib.error as error:
        raise httpcore2.RemoteProtocolError(f"the compressed answer is broken: {error}") from error


def _without_secrets(address: str) -> str:
    return address.rpartition("@")[2].rpartition("://")[2].partition("/")[0]


def _pool(connection: Connection, address: str | None) -> httpcore2.AsyncConnectionPool:
    tls = _ssl_context(connection)
    most = connection.concurrency
    if address is None:
        return httpcore2.AsyncConnectionPool(ssl_context=tls, max_connections=most, max_keepalive_connections=most)
    try:
        proxy = urlsplit(address if "://" in address else f"http://{address}")
        host, port = proxy.hostname, proxy.port
    except ValueError:  # a port or host name that is none
        proxy, host, port = urlsplit(""), None, None
    if proxy.scheme not in {"http", "https"} or not host:
        raise ConfigInvalid(
            f"the proxy for {connection.url} is no usable address", hint="it looks like http://proxy.example.com:3128"
        )
    auth = (unquote(proxy.username), unquote(proxy.password or "")) if proxy.username else None
    return httpcore2.AsyncHTTPProxy(
        proxy_url=httpcore2.URL(scheme=proxy.scheme, host=host, port=port, target="/"),
        proxy_auth=auth,
        ssl_context=tls,
        max_connections=most,
        max_keepalive_connections=most,
    )


def _environment_proxy(url: str) -> str | None:
    """HTTP(S)_PROXY, as far as NO_PROXY lets it."""
    parts = urlsplit(url)
    proxies = getproxies()
    if parts.hostname is None or _is_loopback(parts.hostname) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")


def _is_loopback(host: str) -> bool:
    """This very machine, which no proxy can reach for us."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _ssl_context(connection: Connection) -> ssl.SSLContext | None:
    if not connection.url.startswith("https:"):
        return None
    if connection.ca_bundle is None and connection.client_cert is None:
        return httpcore2.default_ssl_context()
    context = ssl.create_default_context()
    try:
        if connection.ca_bundle is not None:
            context.load_verify_locations(cafile=connection.ca_bundle)
    except (OSError, ssl.SSLError) as error:
        raise ConfigInvalid(
            f"the ca_bundle {connection.ca_bundle} of {connection.url} cannot be read ({_reason(error)})",
            hint="it is a PEM file with the certificate authority's certificates",
        ) from error
    try:
        if connection.client_cert is not None:
            context.load_cert_chain(connection.client_cert, connection.client_key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigInvalid(
            f"the client certificate {connection.client_cert} of {connection.url} cannot be used ({_reason(error)})",
            hint="client_cert is a PEM file, client_key its unencrypted key if that stands in another file",
        ) from error
    return context


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "not PEM"
    return getattr(error, "strerror", None) or type(error).__name__
