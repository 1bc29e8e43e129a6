"""Serves the labelling page to this machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from brittle.explorer.security import is_loopback
from brittle.explorer.serve import LocalServer, guarded_server
from brittle.labelling.app import make_app, page_files
from brittle.labelling.session import LabellingSession


def labelling_server(session: LabellingSession, host: str = "127.0.0.1", port: int = 0) -> LocalServer:
    """A server for one folder of labels; port 0 is any that is free."""
    return guarded_server(make_app(session), page_files(), "label", host, port)


def serve(
    session: LabellingSession, host: str, port: int, say: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Prints the address, and answers until it is interrupted."""
    found = labelling_server(session, host, port)
    if not is_loopback(host):
        warn(f"{host} can be reached from other machines, and whoever has the address can label")
    say(f"labelling: {found.address}")
    try:
        with suppress(KeyboardInterrupt):  # which is how it is ended
            found.run()
    finally:
        session.close()
