"""Whether what is elsewhere can be asked for: libraries try an unknown host for most of a minute."""

from __future__ import annotations

import os


def reachable(address: str) -> bool:
    """Whether the host of an address is known, or there is a proxy that may know it."""
    import socket
    from urllib.parse import urlparse
    from urllib.request import getproxies

    if getproxies():
        return True
    try:
        socket.getaddrinfo(urlparse(address).hostname, 443)
    except OSError:
        return False
    return True


def hugging_face_hub() -> str:
    """Where models and datasets of Hugging Face are fetched from."""
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co")
