"""An S3 server on 127.0.0.1 for tests of run folders in object stores."""

from collections.abc import Iterator

import pytest
from benchmarks.faults.loopback_store import Proxy, environment, reset, served_store

from brittle.engine.store.connection import Connection, connection


@pytest.fixture(scope="session")
def served() -> Iterator[str]:
    with served_store() as address:
        yield address


@pytest.fixture
def proxy(served: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """What this process's requests go through, before an empty store with the bucket `runs`."""
    reset(served)
    found = Proxy(served)
    with found.serving() as address:
        for name, value in environment(address).items():
            monkeypatch.setenv(name, value)
        connection.cache_clear()
        yield found
    connection.cache_clear()


@pytest.fixture
def store(proxy: Proxy) -> Connection:
    return connection("s3")
