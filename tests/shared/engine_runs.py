"""Runs by the engine alone."""

from pathlib import Path
from typing import Any

from brittle.commands import ExecutionOptions
from brittle.engine.open import open_inputs
from brittle.engine.run import FinishedRun, run
from brittle.progress import Progress


def run_study(study: Any, out: Path | None = None, *, progress: Progress | None = None, **how: Any) -> FinishedRun:
    """A study, or its values, carried out."""
    return run(open_inputs(study), out, ExecutionOptions(**how), progress)
