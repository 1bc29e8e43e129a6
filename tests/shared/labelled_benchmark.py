"""A small benchmark to label, and the labelling page's server on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from brittle.explorer.serve import LocalServer
from brittle.generation.stored import stored_images
from brittle.labelling.serve import labelling_server
from brittle.labelling.session import LabellingSession


@contextmanager
def labelling(benchmark: Path, labels: Path, people: int = 2, ask_shift: bool = True) -> Iterator[LocalServer]:
    """The server in a thread of its own; class 1 has a real example, class 4 has none."""
    examples = {1: torch.full((3, 8, 8), 0.5)}
    session = LabellingSession(stored_images(str(benchmark)), labels, examples, people, ask_shift)
    found = labelling_server(session)
    thread = threading.Thread(target=found.run, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.stop()
        thread.join(10)
        session.close()
