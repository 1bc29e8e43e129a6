"""Where a service is, checked before anything is sent there, and the secret that it asks for."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from brittle.errors import BrittleError
from brittle.files import printable

PREFIX = "BRITTLE_"
VARIABLE = re.compile(PREFIX + r"[A-Z0-9_]+")
HEADER = re.compile(r"[A-Za-z0-9-]+")
VISIBLE = re.compile(r"[!-~]+")  # what a header may hold and nobody can read two ways
EXAMPLE = "Write http:https://host/path or http:http://127.0.0.1:8000."
LONGEST_QUOTE = 300


@dataclass(frozen=True)
class Address:
    """The parts of a URL that say where a service is."""

    scheme: str
    host: str
    port: int
    path: str  # without the slash at its end

    @classmethod
    def of(cls, url: str) -> Address:
        """An address without a password, a query or a fragment: it is written into studies and reports."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise BrittleError(f"{printable(url)} is not an address: {error}", EXAMPLE) from None
        if "@" in parts.netloc:
            # Not quoted: it may hold a password.
            raise BrittleError(
                "an address with a user or a password in it would be written into studies and reports",
                "Leave them out, and give token-env=… with the name of an environment variable.",
            )
        if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\x00-\x20\x7f-\uffff]", url):
            raise BrittleError(f"{printable(url)!r} is not the address of a service", EXAMPLE)
        if parts.query or parts.fragment or url.endswith(("?", "#")):
            raise BrittleError(
                f"the address of a service has no query and no fragment: {printable(url.partition('?')[0])}…",
                "Leave them out; a secret belongs into an environment variable, token-env=….",
            )
        return cls(
            parts.scheme, parts.hostname, port or {"http": 80, "https": 443}[parts.scheme], parts.path.rstrip("/")
        )

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme] == self.port
        return f"{self.scheme}://{host}{'' if usual else f':{self.port}'}{self.path}"

    @property
    def is_this_machine(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class Secret:
    """What an environment variable holds, sent with every request and shown nowhere."""

    def __init__(self, variable: str, header: str, address: Address) -> None:
        if not VARIABLE.fullmatch(variable):
            # Otherwise somebody else's study could send any variable, such as a key of a cloud, wherever it likes.
            raise BrittleError(
                f"token-env={printable(variable)} is not the name of a variable that may be sent to a service",
                f"Its name must begin with {PREFIX}, as in {PREFIX}TOKEN: {PREFIX}TOKEN=$OTHER brittle ….",
            )
        if not HEADER.fullmatch(header):
            raise BrittleError(f"token-header={printable(header)} is not the name of a header", "Write X-API-Key, say.")
        if address.scheme == "http" and not address.is_this_machine:
            raise BrittleError(
                f"the secret in {variable} would travel to {address.host} for all to read", "Use an https:// address."
            )
        self._value = os.environ.get(variable, "").strip()
        if not self._value:
            raise BrittleError(
                f"the environment variable {variable} is not set, and {address} asks for its secret",
                f"Set it where Brittle runs, and where its workers do: export {variable}=….",
            )
        if not VISIBLE.fullmatch(self._value):
            raise BrittleError(
                f"what {variable} holds can't be sent: it has a space or a character besides ASCII's",
                "Set it to the secret alone.",
            )
        self.variable, self._header = variable, header

    def __repr__(self) -> str:
        return f"<what {self.variable} holds>"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")

    def header(self) -> tuple[str, str]:
        bearer = self._header.lower() == "authorization"
        return self._header, f"Bearer {self._value}" if bearer else self._value

    def hidden_in(self, text: str) -> str:
        """The text without the secret, in case that a service repeats it."""
        return text.replace(self._value, "…")

    def is_in(self, body: bytes) -> bool:
        return self._value.encode() in body


def quotable(text: str, secret: Secret | None) -> str:
    """What a service said, in one short line that can be shown anywhere."""
    text = text if secret is None else secret.hidden_in(text)
    said = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return said if len(said) <= LONGEST_QUOTE else said[: LONGEST_QUOTE - 1] + "…"
