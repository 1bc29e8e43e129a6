"""Looking after run folders: how far a run is, whether its rows can be computed again, and joining several."""

from __future__ import annotations

from pathlib import Path

from brittle.api.notices import ProgressOption, progress_shown
from brittle.engine.merge import MergedRun, merge_runs
from brittle.engine.status import RunStatus, status_of
from brittle.engine.store.run_folder import folder_path
from brittle.engine.verify import Verification, verified
from brittle.errors import BrittleError


def status(run: str | Path) -> RunStatus:
    """How far a run is: units done and planned, their rate, what failed and why, and who carries it out. Of a run that
    another machine carries out, too: nothing is loaded or locked, and only its folder is read."""
    return status_of(folder_path(run))


def verify(
    run: str | Path,
    *,
    units: int = 20,
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    progress: ProgressOption = None,
) -> Verification:
    """Recomputes that many units of a run, drawn by the seed, and compares them with its rows: keys, θ, predictions and
    words exactly, other numbers to 1e-5. Loads what the study names. Nothing in the folder changes."""
    if units < 1:
        raise BrittleError(f"{units} units say nothing", "Verify one at least.")
    with progress_shown(progress) as seen:
        return verified(folder_path(run), units, seed, device, batch, seen)


def merge(*runs: str | Path, out: str | Path) -> MergedRun:
    """Joins runs of one study, made in different places, into a new folder. What does not fit is refused, and units
    that several runs have must hold equal rows. Giving `brittle.run` the study in the new folder sums it up."""
    return merge_runs([folder_path(each) for each in runs], folder_path(out))
