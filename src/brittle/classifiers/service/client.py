"""Requests to a service: several on their way at a time, each within a time limit, tried again where that may help.

Only the standard library is used. Redirects are not followed, so that neither images nor the secret go to a host that
nobody named; proxies are not used; certificates are verified; and no more is read of an answer than it can need.
"""

from __future__ import annotations

import email.utils
import http
import http.client
import json
import queue
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import NamedTuple

from brittle.classifiers.service.address import Address, Secret, quotable
from brittle.errors import BrittleError, BrittleWarning, Failure

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds before the second try, doubled from one to the next
LONGEST_ASKED = 600.0  # seconds that a service may ask to wait
WORTH_SAYING = 4.0  # seconds of waiting that a person wonders about
PIECE = 1 << 16  # bytes that are read of an answer about an error
METADATA = 16 << 20  # bytes of what a service says of itself, the names of its classes included
AGAIN = "See whether it is running. What is finished is kept: the same command goes on from there."


class Request(NamedTuple):
    """What a service is asked."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    most: int  # bytes that an answer may have


class Reply(NamedTuple):
    """What it answered, with status 200."""

    headers: Mapping[str, str]  # by name in lower case
    body: bytes


class NoReply(Exception):
    """A try that came to nothing and may be repeated: why, and how long the service asks to wait."""

    def __init__(self, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.why, self.wait = why, wait


class Dropped(NoReply):
    """The service closed the connection before it answered anything."""


class Deadline:
    """Ends an exchange that takes too long, however steadily a few bytes at a time arrive."""

    def __init__(self, connection: http.client.HTTPConnection, seconds: float) -> None:
        self.connection, self.passed = connection, False
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _cut(self) -> None:
        self.passed = True
        if (sock := self.connection.sock) is not None:
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # a TLS socket's own would pull its state away


class ServiceClient:
    """Asks one service, over connections that are kept."""

    def __init__(
        self, address: Address, secret: Secret | None, *, timeout: float, retries: int, concurrency: int
    ) -> None:
        self.address, self.secret = address, secret
        self.timeout, self.retries = timeout, retries
        self._slots = threading.BoundedSemaphore(concurrency)
        self._idle: queue.LifoQueue[http.client.HTTPConnection] = queue.LifoQueue()
        self._tls = ssl.create_default_context() if address.scheme == "https" else None
        self._closed_until, self._told = 0.0, False  # until when the service has asked to be left alone

    def about(self, path: str, retries: int) -> Reply:
        """What the service says of itself."""
        reply = self.ask(Request("GET", path, {"Accept": "application/json"}, b"", METADATA), retries)
        if self.secret is not None and self.secret.is_in(reply.body):
            raise Failure(
                f"the service {self.address} repeats its secret, and what it says of itself is written into reports",
                "Have it keep the secret to itself.",
            )
        return reply

    def submit(self, request: Request) -> Callable[[], Reply]:
        """The request is on its way; what is returned waits for the answer. Blocks while too many are."""
        self._slots.acquire()
        answer: Future[Reply] = Future()
        # A thread that is not waited for when the program is to end.
        threading.Thread(target=self._answer, args=(request, answer), daemon=True).start()
        return answer.result

    def _answer(self, request: Request, answer: Future[Reply]) -> None:
        try:
            answer.set_result(self.ask(request, self.retries))
        except BaseException as error:
            answer.set_exception(error)
        finally:
            self._slots.release()

    def ask(self, request: Request, retries: int) -> Reply:
        """The answer, once it is there: after so many further tries at most."""
        for attempt in range(retries + 1):
            self._leave_alone()
            try:
                return self._tried(request)
            except NoReply as error:
                if attempt == retries or error.wait > LONGEST_ASKED:
                    asked = f", and asks to wait {error.wait:,.0f} s" if error.wait > LONGEST_ASKED else ""
                    tried = f" (tried {attempt + 1} times)" if attempt else ""
                    raise Failure(f"the service {self.address} {error.why}{asked}{tried}", AGAIN) from None
                if error.wait:
                    self._closed_until = max(self._closed_until, time.monotonic() + error.wait)
                else:
                    self._wait(min(LONGEST_WAIT, FIRST_WAIT * 2**attempt), error.why)
        raise AssertionError("the last try returns or raises")

    def _leave_alone(self) -> None:
        """Waits as long as the service has asked to, whoever was told."""
        while (left := self._closed_until - time.monotonic()) > 0:
            self._wait(left, "asks to wait")

    def _wait(self, seconds: float, why: str) -> None:
        if seconds >= WORTH_SAYING and not self._told:
            self._told = True
            warnings.warn(f"the service {self.address} {why}; it is asked again", BrittleWarning, stacklevel=2)
        time.sleep(seconds)

    def _tried(self, request: Request) -> Reply:
        """One try. A kept connection that the service has closed meanwhile does not count as one."""
        try:
            connection, kept = self._idle.get_nowait(), True
        except queue.Empty:
            connection, kept = self._connection(), False
        try:
            return self._exchanged(connection, request)
        except BaseException as error:
            connection.close()
            if not (kept and isinstance(error, Dropped)):
                raise
        return self._tried(request)

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self.address.host, self.address.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=self.timeout)
        return http.client.HTTPSConnection(host, port, timeout=self.timeout, context=self._tls)

    def _exchanged(self, connection: http.client.HTTPConnection, request: Request) -> Reply:
        headers = {"User-Agent": "brittle", **request.headers}
        if self.secret is not None:
            name, value = self.secret.header()
            headers[name] = value
        with Deadline(connection, self.timeout) as deadline:
            try:
                path = self.address.path + request.path or "/"
                connection.request(request.method, path, request.body or None, headers)
                response = connection.getresponse()
                body = self._body(response, request.most if response.status == http.HTTPStatus.OK else PIECE)
            except (OSError, http.client.HTTPException) as error:
                raise self._no_reply(error, deadline.passed) from None
        if deadline.passed:
            raise self._no_reply(TimeoutError(), True)
        if response.status != http.HTTPStatus.OK:
            raise self._refusal(response, body)
        if response.isclosed():
            self._idle.put(connection)
        else:
            connection.close()
        return Reply({name.lower(): value for name, value in response.getheaders()}, body)

    def _body(self, response: http.client.HTTPResponse, most: int) -> bytes:
        encoding = response.getheader("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise Failure(
                f"the service {self.address} answers in an encoding that nobody asked for "
                f"({quotable(encoding, self.secret)})",
                "Have it send its answers uncompressed.",
            )
        body = response.read(most + 1)
        if len(body) > most and response.status == http.HTTPStatus.OK:
            raise Failure(
                f"the service {self.address} answers with more than {most:,} bytes, which no scores of what it was "
                "asked about take",
                "See whether this is the address of a classifier.",
            )
        if response.length and len(body) <= most:
            raise http.client.IncompleteRead(b"", response.length)
        return body

    def _no_reply(self, error: Exception, late: bool) -> NoReply | BrittleError:
        """What an error of a connection means."""
        if late or isinstance(error, TimeoutError):
            return NoReply(f"did not answer within {self.timeout:g} s")
        if isinstance(error, ssl.SSLCertVerificationError):
            return BrittleError(
                f"the certificate of {self.address} can't be verified: {quotable(error.verify_message, self.secret)}",
                "Have the service show a valid one; SSL_CERT_FILE names a file with the certificates of an authority "
                "of your own.",
            )
        if isinstance(error, (ConnectionResetError, BrokenPipeError)):
            return Dropped("closed the connection before it had answered")
        if isinstance(error, http.client.IncompleteRead):
            return NoReply("closed the connection in the middle of an answer")
        if isinstance(error, http.client.HTTPException):
            return NoReply("answered with something that is not HTTP")
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return NoReply(f"can't be reached ({quotable(why, self.secret)})")

    def _refusal(self, response: http.client.HTTPResponse, body: bytes) -> NoReply | BrittleError:
        """What another status than 200 means."""
        status, who = response.status, f"the service {self.address}"
        said = quotable(_error_text(body), self.secret)
        answers = f"answers {status}{f' ({said})' if said else ''}"
        if status == http.HTTPStatus.TOO_MANY_REQUESTS or status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            return NoReply(answers, _seconds(response.getheader("retry-after", "")))
        if 300 <= status < 400:
            where = quotable(response.getheader("location", "nowhere"), self.secret)
            return BrittleError(f"{who} sends requests on to {where}", "Give that address if you trust it.")
        if status in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN):
            held = "give token-env=…" if self.secret is None else f"see what {self.secret.variable} holds"
            return BrittleError(f"{who} {answers}", f"It asks for a secret: {held}.")
        if status == http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return BrittleError(f"{who} {answers}", "Send fewer images at once: batch=….")
        remedy = "See whether its address is right." if status == http.HTTPStatus.NOT_FOUND else "See what it expects."
        return BrittleError(f"{who} {answers}", remedy)


def _error_text(body: bytes) -> str:
    """What is said of an error: the `error` of a JSON object, or the text."""
    with suppress(ValueError, RecursionError):
        found = json.loads(body)
        if isinstance(found, dict):
            return next((str(found[key]) for key in ("error", "detail", "message") if key in found), "")
    text = body.decode("utf-8", "replace")
    return "" if text.lstrip().startswith("<") else text  # a page for people


def _seconds(text: str) -> float:
    """Retry-After: seconds, or the time of day at which to come again."""
    with suppress(ValueError):
        return max(0.0, float(text))
    with suppress(ValueError, TypeError):
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    return 0.0
