"""Runs by the engine alone: no report is written, and nothing but what is measured asks a classifier anything."""

from pathlib import Path
from typing import Any

from brittle.commands import ExecutionOptions
from brittle.engine import run as engine
from brittle.engine.open import open_inputs
from brittle.engine.run import FinishedRun
from brittle.progress import Progress


def run_study(study: Any, out: Path | None = None, *, progress: Progress | None = None, **how: Any) -> FinishedRun:
    """A study, or its values, carried out."""
    return engine.run(open_inputs(study), out, ExecutionOptions(**how), progress)


def run(study: Any, out: Path | None = None, *, progress: Progress | None = None, **how: Any) -> dict[str, Any]:
    """What it says."""
    return run_study(study, out, progress=progress, **how).summary
