"""A server of our own that speaks Ollama's and OpenAI's embedding protocols, and can be told to misbehave."""

import contextlib
import json
import re
import socket
import threading
import zlib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

MODEL = "nomic-embed-text"


def vector_of(text, dimensions, model=MODEL):
    """Its words, hashed: texts with words in common are near each other, and no two models agree."""
    vector = [0.0] * dimensions
    vector[0] = 0.01
    for word in re.findall(r"\w+", text.lower()):
        vector[zlib.crc32(f"{model.partition(':')[0]} {word}".encode()) % dimensions] += 1.0
    return vector


def cosine(one, other):
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@dataclass
class Asked:
    """One request as it came."""

    path: str
    headers: dict
    body: dict | None

    @property
    def texts(self):
        given = (self.body or {}).get("input", [])
        return [given] if isinstance(given, str) else given


@dataclass
class Behaviour:
    """What the server has and which faults it shows; all of it can be changed while it runs."""

    models: dict = field(default_factory=lambda: {f"{MODEL}:latest": 32})
    """Names and dimensions."""
    key: str | None = None
    """Asked for as a bearer."""
    longest: int | None = None
    """HTTP 500 where a text has more characters."""
    refused: str | None = None
    """HTTP 400 where a text holds this."""
    status: int | None = None
    """The answer to everything."""
    error: str = "something broke"
    """What an error says; {key} becomes the key that came."""
    poison: str | None = None
    """The vector of a text that holds "poison": JSON as it stands."""
    fewer: int = 0
    """So many vectors are missing from an answer to several texts."""
    extra: int = 0
    """So many vectors are too many in any answer."""
    numbers: list | None = None
    """The `index` of each vector, instead of its own."""
    backwards: bool = False
    """OpenAI's data in the wrong order, with the right index."""
    body: bytes | None = None
    """The answer, with HTTP 200."""
    seconds: float = 0.0
    """How long an answer takes."""
    held: str | None = None
    """This model answers its first question; all others wait until `server.go_on` is set."""
    hang_up: bool = False
    """The connection is closed after each answer, without a word before."""


class ModelServer:
    """Runs from `with` until its end."""

    def __init__(self):
        self.behaviour = Behaviour()
        self.asked = []
        self.most_at_once = 0
        self.go_on = threading.Event()
        self._at_once = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._connections = set()

    def __enter__(self):
        self._http = _Http(self)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        self.go_on.set()
        self._http.shutdown()
        self._thread.join()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    @property
    def texts(self):
        """All that were to be embedded."""
        return [text for asked in self.asked for text in asked.texts]

    def of_model(self, model):
        """The questions to one model."""
        return [asked for asked in self.asked if asked.body is not None and asked.body["model"] == model]

    def forget(self):
        self.asked.clear()
        self.most_at_once = 0

    # ── used by the handler ─────────────────────────────────────────────────────────────────────────────

    def opened(self, connection):
        with self._lock:
            self._connections.add(connection)

    def closed(self, connection):
        with self._lock:
            self._connections.discard(connection)

    @contextlib.contextmanager
    def recorded(self, asked):
        with self._lock:
            self.asked.append(asked)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield
        finally:
            with self._lock:
                self._at_once -= 1

    def answer(self, asked):
        """Status and body."""
        how = self.behaviour
        self._stopping.wait(how.seconds)
        if how.held is not None and len(self.of_model(how.held)) > 1 and asked in self.of_model(how.held):
            self.go_on.wait()
        bearer = asked.headers.get("authorization", "")
        told = how.error.replace("{key}", bearer.removeprefix("Bearer "))
        openai = not asked.path.startswith("/api/")
        if how.key is not None and bearer != f"Bearer {how.key}":
            return 401, _error("the key is wrong: " + told, openai=openai)
        if how.status is not None:
            return how.status, _error(told, openai=openai)
        if how.body is not None:
            return 200, how.body
        if asked.path == "/api/tags":
            return 200, _json({"models": [{"name": name, "model": name, "size": 1} for name in how.models]})
        if asked.path not in {"/api/embed", "/v1/embeddings"}:
            return 404, b"404 page not found"
        return self._embedded(asked, told, openai=openai)

    def _embedded(self, asked, told, *, openai):
        how = self.behaviour
        model = asked.body["model"]
        dimensions = how.models.get(model) or how.models.get(f"{model}:latest")
        if dimensions is None and not openai:
            return 404, _error(f'model "{model}" not found, try pulling it first', openai=False)
        dimensions = dimensions or 32
        if how.longest is not None and any(len(text) > how.longest for text in asked.texts):
            return 500, _error("input is too large to process: " + told, openai=openai)
        if how.refused is not None and any(how.refused in text for text in asked.texts):
            return 400, _error("the input length exceeds the context length: " + told, openai=openai)
        made = [
            how.poison if how.poison and "poison" in text else json.dumps(vector_of(text, dimensions, model))
            for text in asked.texts
        ]
        if len(made) > 1:
            made = made[: len(made) - how.fewer]
        made += ["[1.0]"] * how.extra
        if not openai:
            return 200, f'{{"model": {json.dumps(model)}, "embeddings": [{", ".join(made)}]}}'.encode()
        numbers = how.numbers or list(range(len(made)))
        data = [
            f'{{"object": "embedding", "index": {json.dumps(number)}, "embedding": {vector}}}'
            for number, vector in zip(numbers, made, strict=False)
        ]
        if how.backwards:
            data.reverse()
        return 200, f'{{"object": "list", "data": [{", ".join(data)}]}}'.encode()


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 64

    def __init__(self, owner):
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request, client_address):
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    """Head and body go together: apart, the second would wait for the client's delayed acknowledgement."""

    def setup(self):
        super().setup()
        self.server.owner.opened(self.connection)

    def finish(self):
        self.server.owner.closed(self.connection)
        super().finish()

    def do_GET(self):
        self._answer(None)

    def do_POST(self):
        self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def _answer(self, body):
        owner = self.server.owner
        asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        with owner.recorded(asked):
            status, content = owner.answer(asked)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = self.close_connection or owner.behaviour.hang_up

    def log_message(self, *_):
        """Silence: what was asked is recorded."""


def _json(value):
    return json.dumps(value).encode()


def _error(told, *, openai):
    return _json({"error": {"message": told, "type": "invalid_request_error"} if openai else told})


@contextlib.contextmanager
def nobody_there():
    """An address where connections are refused: the port is taken, and nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
