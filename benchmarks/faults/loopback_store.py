"""An S3 server on 127.0.0.1 (moto's), and a proxy before it that refuses requests or loses them halfway."""

from __future__ import annotations

import http.client
import logging
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from moto.server import ThreadedMotoServer

HOST, BUCKET = "127.0.0.1", "runs"
SECRET = "a-secret-that-nobody-may-see"
# What a request meets: an answer of 503; a connection that ends before the store hears of it, when it has heard half of
# it, or when it has done what it was asked.
Trouble = Literal["", "refused", "lost before", "lost halfway", "lost after"]


def environment(address: str) -> dict[str, str]:
    """What a client of the store at this address needs, and nothing that would lead it anywhere else."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def served_store() -> Iterator[str]:
    """The address of a store with one empty bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(HOST, 0, verbose=False)
    server.start()
    try:
        address = "http://{}:{}".format(*server.get_host_and_port())
        reset(address)
        yield address
    finally:
        server.stop()


def reset(address: str) -> None:
    """An empty store again."""
    for method, path in (("POST", "moto-api/reset"), ("PUT", BUCKET)):
        with urllib.request.urlopen(urllib.request.Request(f"{address}/{path}", method=method)):
            pass


@dataclass
class Proxy:
    """Passes requests on; `trouble`, given the method and the path, says what becomes of each."""

    upstream: str
    trouble: Callable[[str, str], Trouble] = lambda method, path: ""
    asked: list[str] = field(default_factory=list)  # method and path of every request

    @contextmanager
    def serving(self) -> Iterator[str]:
        server = ThreadingHTTPServer((HOST, 0), self._handler())
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()

    def _handler(proxy) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def passed_on(self) -> None:
                proxy.asked.append(f"{self.command} {self.path}")
                trouble = proxy.trouble(self.command, self.path)
                if trouble == "lost before":
                    self.rfile.read(1)
                    self._hang_up()
                    return
                body = self._body()
                if trouble == "refused":
                    self._answer(503, {}, b"<Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>")
                    return
                there = http.client.HTTPConnection(proxy.upstream.removeprefix("http://"), timeout=60)
                with suppress(OSError, http.client.HTTPException):
                    there.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                    for key, value in self.headers.items():
                        if key.lower() not in ("connection", "expect", "transfer-encoding", "content-length"):
                            there.putheader(key, value)
                    there.putheader("Content-Length", str(len(body)))
                    there.endheaders(body[: len(body) // 2] if trouble == "lost halfway" else body)
                    if trouble == "lost halfway":
                        there.close()
                        self._hang_up()
                        return
                    answer = there.getresponse()
                    content = answer.read()
                    if trouble == "lost after":
                        self._hang_up()
                        return
                    self._answer(answer.status, dict(answer.getheaders()), content)
                there.close()

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = passed_on

            def _body(self) -> bytes:
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                found = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    found.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(found)

            def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
                self.send_response_only(status)
                given = {key.lower() for key in headers}
                for key, value in headers.items():
                    if key.lower() not in ("connection", "transfer-encoding", "content-length"):
                        self.send_header(key, value)
                length = headers.get("Content-Length", len(content)) if self.command == "HEAD" else len(content)
                if self.command != "HEAD" or "content-length" in given:
                    self.send_header("Content-Length", str(length))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            def _hang_up(self) -> None:
                self.close_connection = True
                with suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)

            def log_message(self, *_: object) -> None: ...

        return Handler
