"""JSON over HTTP to an embedding server, in plain blocking calls; every failure as one of our error kinds."""

from __future__ import annotations

import ssl
from typing import Any
from urllib.parse import urlsplit

import httpcore2
import msgspec

from loreline import __version__
from loreline.errors import ConfigInvalid, EmbedderUnavailable, EmbeddingFailed, LoreError, ModelNotFound

_LONGEST_SAID = 200


class ServerFailed(EmbedderUnavailable):
    """It answered that it failed: perhaps on this text, perhaps on all."""


class Unreachable(EmbedderUnavailable):
    """Nobody answers there."""


class Server:
    """One server, kept connected. `repr` and messages never show the key."""

    def __init__(self, url: str, *, key: str | None, timeout_seconds: float, connections: int) -> None:
        if not _is_address(url):
            # It is not shown: a password may stand in it.
            raise ConfigInvalid("embedding.url is no address", hint='it looks like "http://localhost:11434"')
        if key is not None and not (key.isascii() and key.isprintable()):
            raise ConfigInvalid(
                "the key of the embedding server holds characters that no header can carry",
                hint="check what embedding.api_key_env names",
            )
        parts = urlsplit(url)
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._url = url.rstrip("/")
        self._key = key
        connect = min(timeout_seconds, 10)
        self._timeouts = {
            "connect": connect,
            "read": timeout_seconds,
            "write": timeout_seconds,
            "pool": timeout_seconds,
        }
        self._pool = httpcore2.ConnectionPool(
            ssl_context=ssl.create_default_context() if parts.scheme == "https" else None,
            max_connections=connections,
        )

    def ask(self, method: str, path: str, question: object = None) -> Any:
        """The decoded answer to one request."""
        headers = [("user-agent", f"loreline/{__version__}"), ("accept", "application/json")]
        content = None
        if question is not None:
            content = msgspec.json.encode(question)
            headers.append(("content-type", "application/json"))
        if self._key:
            headers.append(("authorization", f"Bearer {self._key}"))
        try:
            response = self._response(method, f"{self._url}{path}", headers, content)
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, OSError) as error:
            raise Unreachable(
                f"the embedding server {self.address} can't be reached ({_reason(error)})",
                hint="check embedding.url, and that the server runs",
            ) from error
        if response.status != 200:
            raise self._refusal(response.status, response.content)
        try:
            return msgspec.json.decode(response.content)
        except msgspec.DecodeError as error:
            raise EmbeddingFailed(
                f"{self.address} answered with something that is no JSON", hint="check embedding.url"
            ) from error

    def _response(
        self, method: str, url: str, headers: list[tuple[str, str]], content: bytes | None
    ) -> httpcore2.Response:
        extensions = {"timeout": self._timeouts}
        try:
            return self._pool.request(method, url, headers=headers, content=content, extensions=extensions)
        except (httpcore2.RemoteProtocolError, httpcore2.ReadError):
            # A kept connection may be closed at the very moment it is used again. To ask twice does no harm.
            return self._pool.request(method, url, headers=headers, content=content, extensions=extensions)

    def _refusal(self, status: int, body: bytes) -> LoreError:
        said = _said(body)
        if self._key:
            said = said.replace(self._key, "[key]")
        said = said[:_LONGEST_SAID]  # only now: half a key would not be known for one
        if status in {401, 403}:
            return EmbedderUnavailable(
                f"{self.address} refuses the key (HTTP {status})", hint="check embedding.api_key_env"
            )
        if status == 404:
            return ModelNotFound(
                f"{self.address} knows no such model or address ({said or 'HTTP 404'})",
                hint="check embedding.model and embedding.url",
            )
        if status in {400, 413, 422}:
            return EmbeddingFailed(f"{self.address} does not take the text ({said or f'HTTP {status}'})")
        return ServerFailed(
            f"{self.address} answered HTTP {status}" + (f" ({said})" if said else ""), hint="see the server's log"
        )

    def close(self) -> None:
        self._pool.close()


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__


def _said(body: bytes) -> str:
    """The server's own words in an error body, if there are any."""
    try:
        answer = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return ""
    error = answer.get("error") if isinstance(answer, dict) else None
    told = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(told).split()) if told else ""


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and url.isascii()
    except ValueError:
        return False
