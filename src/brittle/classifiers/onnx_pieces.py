"""How many images onnxruntime is given at a time on a CPU: as many as leave what convolutions give in the caches,
whatever the size of the batch that is transformed and summarised at once (benchmarks/README.md)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

CACHED_NUMBERS = 1 << 16  # of images, for each thread
LEAST_IMAGES = 32


def pieces(session: Any, images: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Images (B, …) in batches of a power of two, which divides the engine's; as they are for another device."""
    if session.get_providers()[0] != "CPUExecutionProvider":
        return [images]
    threads = max(1, session.get_session_options().intra_op_num_threads)
    fitting = max(LEAST_IMAGES, threads * CACHED_NUMBERS // max(1, math.prod(images.shape[1:])))
    size = 1 << fitting.bit_length() - 1
    return [images[start : start + size] for start in range(0, max(1, len(images)), size)]
