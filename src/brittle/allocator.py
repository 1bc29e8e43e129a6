"""glibc's allocator, tuned for whole processes that are Brittle's own: the command line and workers. A library call
leaves the allocator of the process that it is called from alone."""

from __future__ import annotations

import ctypes
import functools
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


@functools.cache
def keep_mapped() -> None:
    """Makes glibc keep freed memory instead of returning it to the kernel.

    By default every large activation is mapped anew for each batch, and small networks on a CPU then spend much of
    their time in page faults.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 1 << 30)
        mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
