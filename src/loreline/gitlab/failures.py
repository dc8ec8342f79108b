"""What can go wrong between us and GitLab, told as our own error kinds. No message ever holds a token."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping

import httpcore2
import msgspec

from loreline.errors import (
    AuthenticationFailed,
    GitLabForbidden,
    GitLabNotFound,
    LoreError,
    NetworkFailed,
    RateLimited,
)

TRANSPORT_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
    httpcore2.ConnectionNotAvailable,
    OSError,
    UnicodeError,  # a host name that is none
)


class Transient(Exception):
    """A failure that may pass: retried, and told as `error` when it doesn't pass."""

    def __init__(self, error: LoreError, *, wait: float | None = None, lasting: bool = False) -> None:
        super().__init__(error.message)
        self.error = error
        self.wait = wait
        self.lasting = lasting
        """Nobody listens: worth another try or two, not minutes of patience."""


class KeysetRefused(Exception):
    """This release of GitLab has no keyset pagination for that list."""


def from_status(status: int, body: bytes, headers: Mapping[str, str], where: str) -> LoreError:
    """The error for an answer that is none of 2xx, 429 and 5xx."""
    said = _said(body)
    if status == 401:
        expired = "expired" in said.lower()
        return AuthenticationFailed(
            f"GitLab refuses the token{' (it has expired)' if expired else ''}: {where}",
            hint="make a new personal access token with the scope read_api and give it to Loreline"
            if expired
            else "check that the token is whole, belongs to this instance and has not been revoked",
            status=status,
        )
    if status == 403 and "insufficient_scope" in said:
        return AuthenticationFailed(
            f"the token's scopes do not allow this: {where}",
            hint="give the token the scope read_api (or api)",
            status=status,
        )
    if status == 403:
        return GitLabForbidden(
            f"GitLab forbids this: {where}",
            hint="the feature may be switched off for the project, or the token's user has too low a role",
            status=status,
        )
    if status == 404:
        return GitLabNotFound(
            f"GitLab shows nothing there: {where}",
            hint="check the path; GitLab also answers 404 for what the token's user may not see",
            status=status,
        )
    if 300 <= status < 400:
        return NetworkFailed(
            f"GitLab redirects elsewhere (HTTP {status}): {where}",
            hint="set the instance's url to the address it redirects to"
            + (f", it says {_origin(headers.get('location', ''))}" if headers.get("location") else ""),
            status=status,
        )
    return NetworkFailed(
        f"GitLab answered HTTP {status}: {where}" + (f" ({said[:200]})" if said else ""),
        hint="see the GitLab server's log for that path",
        status=status,
    )


def from_overload(status: int, where: str, wait: float | None) -> Transient:
    if status == 429:
        error: LoreError = RateLimited(
            f"GitLab's rate limit holds us back: {where}",
            hint="run again later, or lower sync.concurrency or set sync.requests_per_second",
            status=status,
        )
    else:
        error = NetworkFailed(
            f"GitLab answered HTTP {status}: {where}",
            hint="the server or a proxy before it is in trouble; what is missing is fetched by the next sync",
            status=status,
        )
    return Transient(error, wait=wait)


def from_garbage(reason: str, where: str) -> Transient:
    return Transient(
        NetworkFailed(
            f"the answer is not what GitLab's API sends ({reason}): {where}",
            hint="a proxy or login page may stand before GitLab; check the instance's url",
        )
    )


def circling(where: str) -> LoreError:
    return NetworkFailed(
        f"the pages of a list lead in a circle: {where}", hint="a proxy before GitLab may drop the query of addresses"
    )


def from_transport(error: Exception, where: str, proxy: str | None = None) -> LoreError | Transient:
    """Name resolution, certificates and refused proxies don't pass by waiting; a broken connection may.

    Whoever can't be reached is the `proxy`, where there is one.
    """
    causes = list(_causes(error))
    host = where.split("/")[2] if "://" in where else where
    nearest = f"the proxy {proxy}" if proxy else host
    proxy_hint = "check the instance's proxy, or HTTP(S)_PROXY and NO_PROXY in the environment"
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return NetworkFailed(
                f"the name {proxy or host} was not found: {where}",
                hint=proxy_hint if proxy else "check the instance's url, the network and the DNS",
            )
        if isinstance(cause, ssl.SSLCertVerificationError):
            return NetworkFailed(
                f"the certificate of {host} is not trusted ({cause.verify_message}): {where}",
                hint="for a private certificate authority name its PEM file as the instance's ca_bundle",
            )
        if isinstance(cause, ssl.SSLError):
            return NetworkFailed(
                f"no secure connection to {host} ({cause.reason or 'TLS error'}): {where}",
                hint="check that the instance's url says https where it should, and the client certificate",
            )
    if isinstance(error, httpcore2.ProxyError):
        return NetworkFailed(
            f"the proxy refuses ({_one_line(error)}): {where}",
            hint=proxy_hint,
        )
    if isinstance(error, httpcore2.UnsupportedProtocol | UnicodeError):
        return NetworkFailed(f"that is no usable address: {where}", hint="the instance's url starts with https://")
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return Transient(
            NetworkFailed(
                f"{nearest} refuses the connection: {where}",
                hint=proxy_hint if proxy else "check the instance's url and port, and that GitLab runs",
            ),
            lasting=True,
        )
    if isinstance(error, httpcore2.TimeoutException | TimeoutError):
        return Transient(
            NetworkFailed(f"no answer in time: {where}", hint="raise sync.timeout_seconds if GitLab is just slow")
        )
    return Transient(
        NetworkFailed(
            f"the connection broke ({_one_line(error) or type(error).__name__}): {where}",
            hint="run the command again: it goes on where it stopped",
        )
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                yield from _causes(inner)
        error = error.__cause__ or error.__context__


def _said(body: bytes) -> str:
    """GitLab's own words in an error body, if there are any."""
    try:
        answer = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return ""
    if isinstance(answer, dict):
        words = [str(answer[key]) for key in ("error", "error_description", "message") if answer.get(key)]
        return _one_line(" ".join(words))
    return ""


def _one_line(said: object) -> str:
    return " ".join(str(said).split())


def _origin(url: str) -> str:
    parts = url.split("/")
    return "/".join(parts[:3]).rpartition("@")[2] if "://" in url else "another path"
