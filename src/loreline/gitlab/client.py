"""One GitLab instance over HTTP: paced, retried, its answers checked and its failures named."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Generic, NoReturn, Self, TypeVar
from urllib.parse import urlencode, urlsplit

import stamina
import stamina.instrumentation
from msgspec import Struct

from loreline.errors import LoreError
from loreline.gitlab import failures, paging
from loreline.gitlab.connection import Channel, Connection, Reply
from loreline.gitlab.decode import Undecodable, repaired
from loreline.gitlab.pacing import Pacer, http_date, retry_after
from loreline.gitlab.traffic import Traffic

T = TypeVar("T")

_REDIRECTS = frozenset({301, 302, 303, 307, 308})

_LONGEST_WAIT = 300.0
"""Seconds of Retry-After we are willing to sit out; a longer one is for the next sync."""


class Answer(Struct, Generic[T], frozen=True):
    """One decoded answer, with its bytes as they came (mended where no decoder would take them)."""

    value: T
    body: bytes
    server_time: int | None
    """GitLab's own clock when it answered, in ms."""
    next_target: str | None = None
    total: int | None = None
    by_offset: bool = False
    """GitLab numbered the page: it did not heed a wish for keyset pagination."""


class GitLab:
    """The client. It follows no link to another address, so the token stays with the instance."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.traffic = Traffic()
        self.pacer = Pacer(connection.concurrency, connection.requests_per_second)
        self._base = connection.url.rstrip("/")
        parts = urlsplit(self._base)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._path = parts.path
        # Retries are counted in `traffic`; stamina's own log lines would only repeat them on stderr.
        stamina.instrumentation.set_on_retry_hooks([])
        self._channel = Channel(connection)
        self._barred: LoreError | None = None
        self.on_wait: Callable[[float], None] | None = None
        """Told when GitLab asks us to wait a second or more."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._channel.close()

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
                attempts=min(self.connection.attempts, 3) if first.lasting else self.connection.attempts,
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
        seen = set()
        while following is not None:
            if following in seen:
                raise failures.circling(self.where(target))
            seen.add(following)
            answer = await self.get(following, decode)
            yield answer
            following = answer.next_target

    def where(self, target: str) -> str:
        """The address people are told: without the query's noise."""
        return f"{self._base}/api/v4/{target.partition('?')[0]}"

    async def _attempt(self, target: str, decode: Callable[[bytes], T]) -> Answer[T]:
        if self._barred is not None:
            raise self._barred
        await self.pacer.acquire()
        try:
            self.traffic.requests += 1
            reply = await self._send(f"{self._path}/api/v4/{target}", target)
            headers, body = reply.headers, reply.body
            self.traffic.bytes_received += len(body)
            if reply.status != 200:
                self._refuse(reply, target)
            try:
                value, body = _decode(decode, body)
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
                paging.by_offset(headers),
            )
        finally:
            self.pacer.release()

    async def _send(self, path: str, target: str, redirects: int = 3) -> Reply:
        try:
            reply = await self._channel.get(path)
        except failures.TRANSPORT_ERRORS as error:
            told = failures.from_transport(error, self.where(target), self._channel.proxy)
            if isinstance(told, failures.Transient):
                self.pacer.slow_down()
            raise told from error
        if reply.status in _REDIRECTS and redirects:
            # GitLab redirects a renamed project to its id, on its own host.
            try:
                onward = urlsplit(reply.headers.get("location", ""))
            except ValueError:  # no address at all
                return reply
            here = not onward.netloc or f"{onward.scheme}://{onward.netloc}" == self._origin
            if here and onward.path.startswith(f"{self._path}/api/"):
                query = f"?{onward.query}" if onward.query else ""
                return await self._send(f"{onward.path}{query}", target, redirects - 1)
        return reply

    def _refuse(self, reply: Reply, target: str) -> NoReturn:
        status, headers = reply.status, reply.headers
        # A server or proxy may quote the request that it refuses.
        body = reply.body.replace(self.connection.token.encode(), b"[token]")
        if status == 429 or status >= 500 or status == 408:
            wait = retry_after(headers)
            self.traffic.rate_limited += status == 429
            if wait is not None and wait > _LONGEST_WAIT:
                # Asking on would only make it longer: all that follows fails at once, until then.
                self._barred = failures.from_overload(status, self.where(target), wait).error
                raise self._barred
            self.pacer.slow_down(wait or 0.0)
            if wait is not None and wait >= 1 and self.on_wait is not None:
                self.on_wait(wait)
            raise failures.from_overload(status, self.where(target), wait)
        if status == 405 and "pagination=keyset" in target:
            raise failures.KeysetRefused(self.where(target))
        raise failures.from_status(status, body, headers, self.where(target))


def target(path: str, **query: object) -> str:
    """`projects/7/issues?per_page=100`; a None is left out, a list repeats its key."""
    pairs = [(name, value) for name, value in query.items() if value is not None]
    return f"{path}?{urlencode(pairs, doseq=True)}" if pairs else path


def _backoff(error: Exception) -> bool | float:
    """stamina's hook: whether to try again, and after how long if GitLab said so."""
    if not isinstance(error, failures.Transient):
        return False
    return True if error.wait is None else error.wait


def _decode(decode: Callable[[bytes], T], body: bytes) -> tuple[T, bytes]:
    """The value, and the bytes it was read from: whoever keeps them can decode them again."""
    try:
        return decode(body), body
    except Undecodable:
        # Text that no Unicode decoder takes is mended; what still fails is not GitLab's JSON.
        mended = repaired(body)
        return decode(mended), mended


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
