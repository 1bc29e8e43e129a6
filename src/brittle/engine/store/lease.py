"""Who may carry out a run in an object store: whoever holds its lease, which ends by itself after its process does.

pyarrow offers no conditional put, and not every store knows one. What all of them promise is enough: a listing shows
every put that ended before it began. Each process puts a claim of its own, then lists all claims, and holds the run
only if nobody else's is there; otherwise it takes its own away again. Of two processes one has put its claim before the
other listed, so that both can't hold it. A claim is put again every `RENEWED` seconds. It has ended where the store
has not seen it renewed for `LEASE` seconds, by the store's own clock, or where its process is known to be gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import random
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from brittle.engine.store.connection import Connection, connection
from brittle.engine.store.place import Place
from brittle.errors import BrittleError, Failure
from brittle.progress import duration

CLAIMS = ".lock"
LEASE, RENEWED = 90.0, 15.0  # seconds
TIES = 5  # times that two processes may begin in the same second
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # goes on while a machine sleeps


class Claim(NamedTuple):
    path: str
    renewed: datetime  # by the store's clock
    said: dict[str, Any]

    def __str__(self) -> str:
        return f"process {self.said.get('process')} on {self.said.get('host')}"

    @property
    def holds(self) -> bool:
        return bool(self.said.get("holds"))

    def process_is_gone(self) -> bool:
        """Whether it was a process of this machine, and there is none such now."""
        here = machine()
        if any(self.said.get(key) != value for key, value in here.items()):
            return False
        pid = self.said.get("process")
        return not isinstance(pid, int) or started(pid) != self.said.get("started")


class Lease:
    """This process's claim on a run, once it holds it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._store = connection(place.scheme)
        self._path = f"{place.inside}/{CLAIMS}/{uuid.uuid4().hex}"
        self._renewed, self._end = 0.0, threading.Event()
        self._lost, self._lock = "", threading.Lock()  # why, if it is

    @contextmanager
    def held(self) -> Iterator[None]:
        self._acquire()
        renewal = threading.Thread(target=self._renew, name="lease", daemon=True)
        renewal.start()
        try:
            yield
        finally:
            self._end.set()
            renewal.join()
            with contextlib.suppress(BrittleError):  # it ends by itself
                self._store.remove(self._path)

    def check(self) -> None:
        """Raises where another process may hold the run by now; called before anything is removed."""
        with self._lock:
            if not self._lost and time.clock_gettime(_CLOCK) - self._renewed > LEASE:
                self._claim_again()
            if self._lost:
                raise Failure(
                    f"the lock of {self.place} was not renewed within {duration(LEASE)}: {self._lost}",
                    "Give the same command again when no other process works on it: it resumes.",
                )

    def _claim_again(self) -> None:
        """Renews the claim. Where that comes too late, as after a store was out of order, another process may have
        taken the run over, and has left a claim of its own."""
        before = self._renewed
        self._put(holds=True)
        if time.clock_gettime(_CLOCK) - before > LEASE and (rival := self._rival()) is not None:
            self._store.remove(self._path)
            self._lost = f"{rival} holds it by now"

    def _acquire(self) -> None:
        for _ in range(TIES):
            self._put(holds=False)
            try:
                rival = self._rival()
                if rival is None:
                    self._put(holds=True)
                    return
            except BaseException:
                self._store.remove(self._path)
                raise
            self._store.remove(self._path)
            if rival.holds:
                break
            time.sleep(random.uniform(0.2, 2.0))  # it has only just begun, too
        raise BrittleError(
            f"{self.place} is in use by another process ({rival})",
            f"Wait for it to end, or choose another place. A process that was killed on another machine holds it for "
            f"{duration(LEASE)} more.",
        )

    def _rival(self) -> Claim | None:
        """Another process that holds the run, or is about to; what has ended is removed."""
        found = claims(self._store, self.place)
        now = next((each.renewed for each in found if each.path == self._path), None)
        others = [each for each in found if each.path != self._path]
        for each in others:
            ended = now is not None and (now - each.renewed).total_seconds() > LEASE
            if not ended and not each.process_is_gone():
                return each
        for each in others:
            self._store.remove(each.path)
        return None

    def _put(self, *, holds: bool) -> None:
        begun = time.clock_gettime(_CLOCK)
        said = {"process": os.getpid(), "host": platform.node(), "started": started(os.getpid()), **machine()}
        self._store.write(self._path, json.dumps({**said, "holds": holds}).encode())
        self._renewed = begun

    def _renew(self) -> None:
        while not self._end.wait(RENEWED):
            with self._lock:
                try:
                    if not self._lost:
                        self._claim_again()
                except BrittleError as error:
                    self._lost = error.what


def claims(store: Connection, place: Place) -> list[Claim]:
    """All claims on a run; one that goes away meanwhile is none."""
    found = []
    for name, info in store.listed(f"{place.inside}/{CLAIMS}"):
        if info.is_file:
            path = f"{place.inside}/{CLAIMS}/{name}"
            with contextlib.suppress(FileNotFoundError):
                found.append(Claim(path, info.mtime, _said(store.read(path))))
    return found


def _said(content: bytes) -> dict[str, Any]:
    try:
        said = json.loads(content)
    except ValueError:
        said = {}
    return said if isinstance(said, dict) else {}


def machine() -> dict[str, str]:
    """What tells this machine, since it was last started, and this container from all others."""
    try:
        return {
            "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            "namespace": os.readlink("/proc/self/ns/pid"),
        }
    except OSError:
        return {"boot": uuid.uuid4().hex}


def started(pid: int) -> str:
    """When a process of this machine was started; "" where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
