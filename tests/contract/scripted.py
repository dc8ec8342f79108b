"""A server that says exactly what a test wants: for what no GitLab says, and for the roads to it."""

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Said(NamedTuple):
    status: int = 200
    body: bytes = b"[]"
    headers: tuple = ()


class Scripted:
    """`answers` are given in turn, the last one for ever; `requests` are (method, target, headers)."""

    def __init__(self, server, scheme, answers):
        self.port = server.server_address[1]
        self.host = "localhost" if scheme == "https" else "127.0.0.1"
        self.url = f"{scheme}://{self.host}:{self.port}"
        self.answers = list(answers)
        self.requests = []
        self.lock = threading.Lock()

    def next(self):
        with self.lock:
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextlib.contextmanager
def scripted(*answers, tls=None):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            handle.requests.append(
                (self.command, self.path, {key.lower(): value for key, value in self.headers.items()})
            )
            said = handle.next()
            self.send_response(said.status)
            for name, value in said.headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        do_GET = do_CONNECT = answer  # noqa: N815 - the names http.server looks for

        def log_message(self, *args):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, client_address):
            """A client that refuses our certificate is no event."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        handle = Scripted(server, "https" if tls is not None else "http", answers or [Said()])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield handle
        finally:
            server.shutdown()
            thread.join(5)
