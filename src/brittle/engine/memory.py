"""Memory under the hot loop: allocations that stay mapped, and running out of it."""

from __future__ import annotations

import ctypes
import functools
import sys

import torch

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


@functools.cache
def keep_mapped() -> None:
    """Has glibc keep freed memory instead of handing it back to the kernel.

    By default every activation of more than 32 MB is mapped anew for each batch, and small networks on a CPU then
    spend a third of their time in page faults (benchmarks/README.md).
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 1 << 30)
        mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out: on a GPU, on the CPU, or in another library."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and ("can't allocate memory" in text or "out of memory" in text.lower())
