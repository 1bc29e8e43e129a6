"""Builds `shim.c` and arms it. It must be loaded before libc, so the campaign starts itself again with it."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

SOURCE = Path(__file__).with_name("shim.c")
BUILT = "BRITTLE_FAULTS_SHIM"
READS, WRITES, CONTENTS = 1, 2, 4
COUNT, KILL, KILL_HALFWAY, FAIL, FAIL_FROM_THEN_ON, CLOCK_BACK = range(6)


@dataclass(frozen=True)
class Fault:
    """What happens at the n-th event of some class under a folder; with COUNT nothing does."""

    what: int = COUNT
    at: int = 0
    classes: int = WRITES
    error: int = errno.EIO


UNDISTURBED = Fault()


class Shim:
    """The loaded library, with a counter in memory that children share."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ[BUILT])
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        self._counter = ctypes.c_long.from_buffer(self._memory)

    def arm(self, folder: Path, fault: Fault) -> None:
        """For this process, from now on; called in a child."""
        self._library.faults_arm(
            os.fsencode(folder),
            fault.classes,
            fault.what,
            ctypes.c_long(fault.at),
            fault.error,
            ctypes.byref(self._counter),
        )

    def keep_flushed(self, folder: Path) -> None:
        """Copies to a folder whatever this process flushes from now on; called in a child."""
        self._library.faults_keep_flushed(os.fsencode(folder))

    def reset(self) -> None:
        self._counter.value = 0

    @property
    def events(self) -> int:
        """How many events there were since `reset`."""
        return int(self._counter.value)


def start_again(folder: Path) -> NoReturn:
    """This program once more, with the shim loaded, one thread, and, where that is allowed, its own mounts."""
    built = folder / "shim.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O1", "-Wall", "-shared", "-fPIC", "-o", built, SOURCE, "-ldl"], check=True)
    settings = {BUILT: str(built), "LD_PRELOAD": str(built), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    own_mounts = ["unshare", "--map-root-user", "--mount", "--propagation", "private"]
    allowed = shutil.which("unshare") and subprocess.run([*own_mounts, "true"], check=False).returncode == 0
    command = [*(own_mounts if allowed else ()), sys.executable, "-m", "benchmarks.faults", *sys.argv[1:]]
    os.execvpe(command[0], command, os.environ | settings)
