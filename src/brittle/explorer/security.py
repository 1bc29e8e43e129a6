"""Who may ask the server, and how much: a token, the page's own address, and limits on sizes and rates.

The server's own page, scripts and styles are the same on every machine, so they are given to whoever is at the right
address. Everything about the run needs the token, which a page of another origin does not know.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 16 << 20  # of a body
RATE, BURST = 200.0, 400.0  # requests per second and address, and at once
MOST_ADDRESSES = 1024  # that are remembered
REPORTS = "/report/"  # what follows is a ticket, which is the token of that one page
TOKEN_HEADER = "x-brittle-token"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refused(Exception):
    """A request that is not answered: an HTTP status and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


def new_token() -> str:
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def hosts_of(host: str, port: int) -> frozenset[str] | None:
    """What the Host header may say; None where the server listens to a whole network, whose names for it are not
    known."""
    names = [host] if not is_loopback(host) else [*LOOPBACK, host]
    if host in ("0.0.0.0", "::", ""):
        return None
    return frozenset(f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names)


@dataclass
class Buckets:
    """How many requests each address may still make."""

    rate: float = RATE
    burst: float = BURST
    clock: Callable[[], float] = time.monotonic
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, address: str) -> bool:
        now = self.clock()
        left, last = self._left.pop(address, (self.burst, now))
        left = min(self.burst, left + (now - last) * self.rate)
        while len(self._left) >= MOST_ADDRESSES:
            self._left.pop(next(iter(self._left)))
        self._left[address] = (left - 1 if left >= 1 else left, now)
        return left >= 1


class Guard:
    """Stands before the app and lets through what may pass."""

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        hosts: frozenset[str] | None,
        open_paths: Iterable[str],
        buckets: Buckets,
        command: str,
    ) -> None:
        self.app, self.token, self.hosts, self.buckets, self.command = app, token, hosts, buckets, command
        self.open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        try:
            self._check(scope)
        except Refused as refused:
            answer = JSONResponse({"error": refused.why}, refused.status, headers={**HEADERS, "Connection": "close"})
            await answer(scope, receive, send)
            return
        await self.app(scope, _limited(receive), _with_headers(send))

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        client = scope.get("client")
        if not self.buckets.take(client[0] if client else ""):
            raise Refused(429, "Too many requests: wait a moment.")
        host = headers.get("host", "")
        if self.hosts is not None and host.lower() not in self.hosts:
            raise Refused(403, "This server does not answer to that name.")
        origin = headers.get("origin")
        if origin is not None and (urlsplit(origin).netloc.lower() != host.lower() or not origin.startswith("http")):
            raise Refused(403, "This server answers its own page only.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Refused(403, "This server answers its own page only.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            raise Refused(413, f"That is more than {MOST_BYTES >> 20} MB.")
        path = scope["path"]
        if (
            path not in self.open_paths
            and not path.startswith(REPORTS)
            and not hmac.compare_digest(headers.get(TOKEN_HEADER, "").encode(), self.token.encode())
        ):
            said = f"The token is missing or wrong: open the address that `brittle {self.command}` has printed."
            raise Refused(401, said)


def _limited(receive: Receive) -> Receive:
    """A body that does not say how long it is ends where it is too long."""
    seen = 0

    async def call() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BYTES:
            raise Refused(413, f"That is more than {MOST_BYTES >> 20} MB.")
        return message

    return call


def _with_headers(send: Send) -> Send:
    async def call(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", ())}
            if b"content-security-policy" in own:  # the report, which the page shows in a frame
                own.add(b"x-frame-options")
            added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = {
                **message,
                "headers": [*message.get("headers", ()), *(each for each in added if each[0] not in own)],
            }
        await send(message)

    return call
