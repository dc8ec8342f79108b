"""One GitLab instance over HTTP: paced, retried, its answers checked and its failures named."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Generic, NoReturn, Self, TypeVar
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import stamina
import stamina.instrumentation
from msgspec import Struct

from loreline import __version__
from loreline.errors import ConfigInvalid, LoreError
from loreline.gitlab import failures, paging
from loreline.gitlab.decode import Undecodable, repaired
from loreline.gitlab.pacing import Pacer, http_date, retry_after

T = TypeVar("T")

_LONGEST_WAIT = 300.0
"""Seconds of Retry-After we are willing to sit out; a longer one is for the next sync."""


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


class Traffic:
    """What a run cost: counted here, kept in its audit row."""

    def __init__(self) -> None:
        self.requests = 0
        self.bytes_received = 0
        self.retries = 0
        self.rate_limited = 0


class Answer(Struct, Generic[T], frozen=True):
    """One decoded answer, with its bytes as they came."""

    value: T
    body: bytes
    server_time: int | None
    """GitLab's own clock when it answered, in ms."""
    next_target: str | None = None
    total: int | None = None


class GitLab:
    """The client. It follows no link to another address, so the token stays with the instance."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.traffic = Traffic()
        self.pacer = Pacer(connection.concurrency, connection.requests_per_second)
        self._base = connection.url.rstrip("/")
        self._origin = "{0.scheme}://{0.netloc}".format(urlsplit(self._base))
        # Retries are counted in `traffic`; stamina's own log lines would only repeat them on stderr.
        stamina.instrumentation.set_on_retry_hooks([])
        token = connection.token
        timeout = httpx2.Timeout(connection.timeout_seconds, connect=min(connection.timeout_seconds, 15), pool=None)
        self._extensions = {"timeout": timeout.as_dict()}
        self._headers = httpx2.Headers(
            {
                **({"authorization": f"Bearer {token}"} if connection.bearer else {"private-token": token}),
                "accept": "application/json",
                "accept-encoding": "gzip, deflate",
                "user-agent": f"loreline/{__version__}",
            }
        )
        # The transport and not httpx2's client: cookies, redirects and auth flows are none of ours, and without
        # them a request costs a tenth less.
        self._http = httpx2.AsyncHTTPTransport(
            verify=_ssl_context(connection),
            proxy=_proxy(connection),
            limits=httpx2.Limits(
                max_connections=connection.concurrency, max_keepalive_connections=connection.concurrency
            ),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def get(self, target: str, decode: Callable[[bytes], T]) -> Answer[T]:
        """One GET of `target`, a path below `/api/v4/` with its query, decoded; transient failures retried."""
        first: failures.Transient | None
        try:
            return await self._attempt(target, decode)
        except failures.Transient as transient:
            first = transient
        # Most requests never come here, and stamina's machinery costs as much as a small request. So it
        # starts at the first failure, which its first round only repeats.
        try:
            async for attempt in stamina.retry_context(
                on=_backoff,
                attempts=self.connection.attempts,
                timeout=None,
                wait_initial=self.connection.retry_seconds,
                wait_max=max(30.0, self.connection.retry_seconds),
                wait_jitter=self.connection.retry_seconds / 2,
            ):
                with attempt:
                    if first is not None:
                        known, first = first, None
                        raise known
                    self.traffic.retries += 1
                    return await self._attempt(target, decode)
        except failures.Transient as failure:
            raise failure.error from failure
        raise AssertionError("stamina neither returned nor raised")

    async def pages(self, target: str, decode: Callable[[bytes], T]) -> AsyncIterator[Answer[T]]:
        """Every page of a list, as far as GitLab's own links go; a page may be short or empty."""
        following: str | None = target
        while following is not None:
            answer = await self.get(following, decode)
            yield answer
            following = answer.next_target

    def where(self, target: str) -> str:
        """The address people are told: without the query's noise."""
        return f"{self._base}/api/v4/{target.partition('?')[0]}"

    async def _attempt(self, target: str, decode: Callable[[bytes], T]) -> Answer[T]:
        await self.pacer.acquire()
        try:
            self.traffic.requests += 1
            response = await self._send(f"{self._base}/api/v4/{target}", target)
            headers = response.headers
            body = response.content
            self.traffic.bytes_received += len(body)
            if response.status_code != 200:
                self._refuse(response, target)
            try:
                value = _decode(decode, body)
            except Undecodable as error:
                self.pacer.slow_down()
                raise failures.from_garbage(_kind_of(body, error), self.where(target)) from error
            self.pacer.went_well(headers)
            return Answer(
                value,
                body,
                _server_time(headers.get("date")),
                paging.next_target(target, headers),
                paging.total(headers),
            )
        finally:
            self.pacer.release()

    async def _send(self, url: str, target: str, redirects: int = 3) -> httpx2.Response:
        try:
            request = httpx2.Request("GET", url, headers=self._headers, extensions=self._extensions)
            response = await self._http.handle_async_request(request)
            await response.aread()
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            told = failures.from_transport(error, self.where(target))
            if isinstance(told, failures.Transient):
                self.pacer.slow_down()
            raise told from error
        location = response.headers.get("location")
        if response.is_redirect and location and redirects:
            # GitLab redirects a renamed project to its id, on its own host.
            onward = location if "://" in location else f"{self._origin}{location}"
            if onward.startswith(f"{self._base}/"):
                return await self._send(onward, target, redirects - 1)
        return response

    def _refuse(self, response: httpx2.Response, target: str) -> NoReturn:
        status, headers = response.status_code, response.headers
        if status == 429 or status >= 500 or status == 408:
            wait = retry_after(headers)
            self.traffic.rate_limited += status == 429
            self.pacer.slow_down(min(wait or 0.0, _LONGEST_WAIT))
            raise failures.from_overload(status, self.where(target), wait)
        if status == 405 and "pagination=keyset" in target:
            raise failures.KeysetRefused(self.where(target))
        raise failures.from_status(status, response.content, headers, self.where(target))


def target(path: str, **query: object) -> str:
    """`projects/7/issues?per_page=100`; a None is left out, a list repeats its key."""
    pairs = [(name, value) for name, value in query.items() if value is not None]
    return f"{path}?{urlencode(pairs, doseq=True)}" if pairs else path


def _backoff(error: Exception) -> bool | float:
    """stamina's hook: whether to try again, and after how long if GitLab said so."""
    if not isinstance(error, failures.Transient):
        return False
    if error.wait is None:
        return True
    return error.wait if error.wait <= _LONGEST_WAIT else False


def _decode(decode: Callable[[bytes], T], body: bytes) -> T:
    try:
        return decode(body)
    except Undecodable:
        # Text that no Unicode decoder takes is mended; what still fails is not GitLab's JSON.
        return decode(repaired(body))


def _kind_of(body: bytes, error: Undecodable) -> str:
    start = body.lstrip()[:1]
    if start == b"<":
        return "an HTML page"
    return "an empty body" if not start else str(error)[:160]


_last_date: tuple[str, int | None] = ("", None)


def _server_time(text: str | None) -> int | None:
    """`Date` changes once a second, answers come by the hundred: the last parse is kept."""
    global _last_date  # noqa: PLW0603 - a one-entry cache of a pure function
    if text is None:
        return None
    if _last_date[0] != text:
        _last_date = (text, http_date(text))
    return _last_date[1]


def _ssl_context(connection: Connection) -> ssl.SSLContext | bool:
    if connection.ca_bundle is None and connection.client_cert is None:
        return True
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


def _proxy(connection: Connection) -> httpx2.Proxy | None:
    """The proxy the settings name, else the environment's HTTP(S)_PROXY as far as NO_PROXY lets it."""
    address = connection.proxy or _environment_proxy(connection.url)
    if address is None:
        return None
    try:
        return httpx2.Proxy(address if "://" in address else f"http://{address}")
    except (ValueError, httpx2.InvalidURL) as error:
        raise ConfigInvalid(
            f"the proxy for {connection.url} is no usable address", hint="it looks like http://proxy.example.com:3128"
        ) from error


def _environment_proxy(url: str) -> str | None:
    parts = urlsplit(url)
    proxies = getproxies()
    if parts.hostname is None or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "not PEM"
    return getattr(error, "strerror", None) or type(error).__name__


__all__ = ["Answer", "Connection", "GitLab", "LoreError", "Traffic", "target"]
