"""The server: one process, one port of this machine, and an address with a token in it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from brittle.errors import BrittleError
from brittle.explorer.app import make_app, page_files
from brittle.explorer.opened import OpenedRun
from brittle.explorer.security import Buckets, Guard, hosts_of, is_loopback, new_token

MOST_CONNECTIONS = 200
BACKLOG = 128


@dataclass(frozen=True)
class LocalServer:
    """A server that listens, and answers once it runs."""

    host: str
    token: str
    listening: socket.socket
    server: uvicorn.Server

    @property
    def origin(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.listening.getsockname()[1]}"

    @property
    def address(self) -> str:
        """What the reader opens."""
        return f"{self.origin}/?token={self.token}"

    def run(self) -> None:
        """Answers until it is interrupted."""
        self.server.run([self.listening])

    def stop(self) -> None:
        self.server.should_exit = True


def explorer_server(run: OpenedRun, cases: Path, host: str = "127.0.0.1", port: int = 0) -> LocalServer:
    """A server for an opened run, which saves named cases in one file; port 0 is any that is free."""
    return guarded_server(make_app(run, cases), page_files(), "explore", host, port)


def guarded_server(app: ASGIApp, open_paths: Iterable[str], command: str, host: str, port: int) -> LocalServer:
    """A server that answers those who have its token, which the command has printed; anybody may have what lies at
    the open paths."""
    listening, token = _listening(host, port), new_token()
    hosts = hosts_of(host, listening.getsockname()[1])
    config = uvicorn.Config(
        Guard(app, token, hosts, open_paths, Buckets(), command),
        log_level="error",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=1 << 16,
        lifespan="off",
        ws="none",
    )
    return LocalServer(host, token, listening, uvicorn.Server(config))


def serve(
    folder: Path, cases: Path, host: str, port: int, say: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Opens a run, prints the address, and answers until it is interrupted."""
    found = explorer_server(OpenedRun(folder), cases, host, port)
    if not is_loopback(host):
        warn(f"{host} can be reached from other machines, and whoever has the address can ask this run anything")
    say(f"explorer: {found.address}")
    with suppress(KeyboardInterrupt):  # which is how it is ended
        found.run()


def _listening(host: str, port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(BACKLOG)  # whoever comes before the server runs, waits
    except OSError as error:
        found.close()
        why = error.strerror or str(error)
        raise BrittleError(f"{host}:{port} can't be listened on: {why}", "Give another --port or --host.") from error
    return found
