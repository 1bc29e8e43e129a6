"""Where a GPU's time goes, by kernel, and how long it had nothing to do; on a CPU, by what the main thread does."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from benchmarks.guard import profile

# The first of these words that a kernel's name holds.
KINDS = (
    ("convolutions and products", ("conv", "gemm", "gemv", "cudnn", "cutlass", "xmma", "wgrad", "sm90_", "sm80_")),
    ("attention", ("attention", "flash", "fmha", "sdpa")),
    ("resampling", ("grid_sampl", "upsample", "interpolat")),
    ("normalisation", ("batch_norm", "bn_fw", "layer_norm", "vectorized_layer")),
    ("pooling", ("pool",)),
    ("softmax", ("softmax", "logsumexp")),
    ("gathering", ("index", "gather", "scatter")),
    ("fused by the compiler", ("triton",)),
    ("copies", ("memcpy", "memset", "copy")),
    ("elementwise", ("elementwise", "vectorized", "reduce")),
)
IDLE = "nothing to do"


def shares(work: Callable[[], Any], device: torch.device) -> dict[str, float]:
    """Share of the clock's time per kind of kernel, the largest first; kernels that overlap count one after the
    other, so that idleness is a lower bound."""
    if device.type != "cuda":
        return profile.shares(work)
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as watched

    torch.cuda.synchronize()
    with watched(activities=[ProfilerActivity.CUDA]) as seen:
        begun = time.perf_counter()
        work()
        torch.cuda.synchronize()
        taken = time.perf_counter() - begun
    found: Counter[str] = Counter()
    for event in seen.key_averages():
        spent = getattr(event, "self_device_time_total", 0) or getattr(event, "self_cuda_time_total", 0)
        found[kind_of(event.key)] += spent / 1e6
    busy = sum(found.values())
    found[IDLE] = max(0.0, taken - busy)
    total = max(taken, busy)
    return {kind: spent / total for kind, spent in found.most_common() if spent}


def kind_of(kernel: str) -> str:
    name = kernel.lower()
    return next((kind for kind, words in KINDS if any(word in name for word in words)), "other kernels")
