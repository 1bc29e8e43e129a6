"""Where the time of a piece of work goes, by looking every few milliseconds at what the main thread is doing.

What is seen is attributed to the innermost frame of Brittle's own, and named by what that part of Brittle is for: a
convolution counts for the classifier that asked for it. Nothing in Brittle is changed for this.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

EVERY = 0.002  # seconds
# The first that a frame's module and function begin with.
PARTS = (
    ("brittle.classifiers", "classify"),
    ("brittle.measures.draws", "draw θ"),
    ("brittle.nuisances", "transform images"),
    ("brittle.random", "draw θ"),
    ("brittle.types:Batch.take", "gather images"),
    ("brittle.types:in_numbers", "gather images"),
    ("brittle.images", "read images"),
    ("brittle.measures.outcomes", "read off outcomes"),
    ("brittle.measures.graphs", "run compiled graphs"),
    ("brittle.engine.execute.local", "wait for rows to be stored"),
    ("brittle.engine.check", "trials beforehand"),
    ("brittle.statistics", "intervals"),
    ("brittle.measures.robustness", "summary"),
    ("brittle.engine.view", "summary"),
)
BEFORE = "brittle.engine.check"  # whatever it asks
REST = "the rest"


def shares(work: Callable[[], Any]) -> dict[str, float]:
    """Share of the time per part, the largest first."""
    seen: Counter[str] = Counter()
    main, over = threading.get_ident(), threading.Event()

    def look() -> None:
        while not over.wait(EVERY):
            frame = sys._current_frames().get(main)
            if frame is not None:
                seen[part_of(frame)] += 1

    watcher = threading.Thread(target=look, daemon=True)
    before = sys.getswitchinterval()
    sys.setswitchinterval(EVERY / 4)
    watcher.start()
    try:
        work()
    finally:
        over.set()
        watcher.join()
        sys.setswitchinterval(before)
    total = max(1, sum(seen.values()))
    return {part: count / total for part, count in seen.most_common()}


def part_of(frame: FrameType | None) -> str:
    """What the innermost frame of Brittle's own is for; trials count as such, whatever they try."""
    own = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("brittle."):
            own.append(f"{module}:{frame.f_code.co_qualname}")
        frame = frame.f_back
    if any(name.startswith(BEFORE) for name in own):
        return "trials beforehand"
    return next((part for beginning, part in PARTS if own and own[0].startswith(beginning)), REST)
