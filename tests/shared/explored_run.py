"""A small run, and the explorer's server on it, for tests that ask it and tests that look at it."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import brittle
from brittle.explorer.opened import OpenedRun
from brittle.explorer.serve import LocalServer, explorer_server

STUDY = {
    "classifiers": {"plain": "bundled:plain", "augmented": "bundled:augmented"},
    "images": {"sample": {"spec": "sample", "count": 30}},
    "nuisances": {"affine": "affine:alpha=50", "turned": "rotation:sigma=30", "noisy": "noise:sigma=0.2"},
    "robustness": {"samples": 10},
    "weak-points": {"count": 3, "budget": 200, "keep": 40},
}


def explored_run(out: Path) -> Path:
    """Carries the study out into a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", brittle.BrittleWarning)
        brittle.run(STUDY, out=out)
    return out


@contextmanager
def serving(folder: Path) -> Iterator[LocalServer]:
    """The explorer's server in a thread of its own; cases go beside the run."""
    found = explorer_server(OpenedRun(folder), folder.parent / "cases.toml")
    thread = threading.Thread(target=found.run, daemon=True)
    thread.start()
    yield found
    found.stop()
    thread.join(10)
