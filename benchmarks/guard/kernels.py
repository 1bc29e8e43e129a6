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
IDLE = "nothing to do"  # and whether that is before the first kernel, after the last, or between two


def shares(work: Callable[[], Any], device: torch.device) -> dict[str, float]:
    """Share of the clock's time per kind of kernel, the largest first; kernels that overlap count one after the
    other."""
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
    spans = []
    for event in seen.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            spans.append((event.time_range.start / 1e6, event.time_range.end / 1e6))
            found[kind_of(event.name)] += spans[-1][1] - spans[-1][0]
    busy = sum(found.values())
    for when, idle in idleness(spans, taken).items():
        found[f"{IDLE} {when}"] = idle
    total = max(taken, busy)
    return {kind: spent / total for kind, spent in found.most_common() if spent}


def idleness(spans: list[tuple[float, float]], taken: float) -> dict[str, float]:
    """Seconds without any kernel, of kernels from when to when, since the clock began to run."""
    if not spans:
        return {"at all": taken}
    between, latest = 0.0, min(spans)[0]
    for start, end in sorted(spans):
        between += max(0.0, start - latest)
        latest = max(latest, end)
    return {"at first": max(0.0, min(spans)[0]), "in between": between, "at last": max(0.0, taken - latest)}


def kind_of(kernel: str) -> str:
    name = kernel.lower()
    return next((kind for kind, words in KINDS if any(word in name for word in words)), "other kernels")
