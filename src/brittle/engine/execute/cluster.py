"""The cluster that workers run on: one that is started here, on 127.0.0.1 alone, and ends with the run; or one that
people have, by its address.
"""

from __future__ import annotations

import logging
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

from brittle.engine.execute.shipping import stage
from brittle.errors import Failure, MissingPackage
from brittle.study import Study

CONNECTING = 10.0  # seconds
OBJECT_STORE = 128 << 20  # bytes: rows never travel through Ray


def import_ray() -> ModuleType:
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")  # else Ray prints a worker's death on standard output
    try:
        import ray
    except ImportError:
        raise MissingPackage("ray", "ray", "the engine 'ray'") from None
    return ray


@contextmanager
def cluster(ray: ModuleType, address: str | None = None, study: Study | None = None) -> Iterator[None]:
    """The cluster at an address, which is sent Brittle's own code and the files that a study names by relative paths;
    without an address one on this machine. The one that this process is connected to already is used as it is."""
    if ray.is_initialized():
        yield
        return
    logging.getLogger("ray").setLevel(logging.ERROR)  # it announces its settings before it looks at logging_level
    with tempfile.TemporaryDirectory(prefix="brittle-sent-") as sent:
        if address is None:
            _start(ray)
        else:
            _connect(ray, address, stage(study, Path(sent)) if study is not None else Path(sent))
        try:
            yield
        finally:
            ray.shutdown()


def _start(ray: ModuleType) -> None:
    with _loopback(ray):
        try:
            ray.init(
                address="local",
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                object_store_memory=OBJECT_STORE,
            )
        except Exception as error:
            raise Failure(f"Ray could not be started: {_first_line(error)}", "Or use --engine local.") from error


def _connect(ray: ModuleType, address: str, sent: Path) -> None:
    about: dict[str, Any] = {"working_dir": str(sent), "py_modules": [str(Path(__file__).parents[2])]}
    try:
        with _loopback(ray) if _listens_here_alone(ray, address) else nullcontext():
            ray.init(address=address, runtime_env=about, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        raise Failure(
            f"there is no connection to the Ray cluster {address!r}: {_first_line(error)}",
            "Check that it runs, and that this process has its token (RAY_AUTH_MODE, RAY_AUTH_TOKEN_PATH).",
        ) from error


def _listens_here_alone(ray: ModuleType, address: str) -> bool:
    """Whether a cluster listens on 127.0.0.1 and not on the machine's own address, which Ray would take it for. One
    that listens on neither is an error at once, for which Ray itself takes minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():  # auto
        return False
    with socket.create_connection((host, int(port)), CONNECTING):
        pass
    if address.startswith("ray://") or host not in ("127.0.0.1", "localhost"):
        return False
    try:
        with socket.create_connection((ray.util.get_node_ip_address(), int(port)), CONNECTING):
            return False
    except OSError:
        return True


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")


@contextmanager
def _loopback(ray: ModuleType) -> Iterator[None]:
    """A cluster that is started within it listens on 127.0.0.1, as everywhere but on Linux: there Ray has no argument
    for that, and takes an address of 127.0.0.1 for the machine's own."""
    constants = ray._private.ray_constants
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
