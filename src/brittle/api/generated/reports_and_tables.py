"""Reports and tables

Made by `python -m brittle.api.generate`: change options where they are declared, not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.check import check_asked
from brittle.api.notices import ProgressOption

if TYPE_CHECKING:
    from brittle.results import GateResult


def check(
    study: Any,
    *,
    out: str | Path | None = None,
    against: str | Path | None = None,
    allow: float = 0.01,
    on: Sequence[Literal["rho", "accuracy", "clean"]] = ("rho", "accuracy"),
    require: str | Sequence[str] = (),
    cases: str | Path | None = None,
    pair: str | Sequence[str] = (),
    confidence: float = 0.95,
    unsure: Literal["stop", "pass", "fail"] = "stop",
    worst: int = 5,
    device: str | None = None,
    batch: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> GateResult:
    """Carry out a study and judge it: beside the run of an earlier release, by conditions and by named cases.

    The verdict has a `state`, "passed", "failed" or "unsure", and an `exit_status`; it prints as on the command line,
    and `values` are plain.

    Parameters
    ----------
    study: a study file, the folder of a finished run, or the result of a call
    out: keep the run and its report in this folder; the same again resumes it
    against: the run of an earlier release, a run folder
    allow: by how much robustness may fall [at least 0 and below 1]
    on: which numbers may not fall: rho, accuracy (under nuisances), clean (without)
    require: a condition on a number of the summary, such as 'rho>=0.6' or 'rho.low>=0.6'
    cases: a file of named cases; cases.toml beside the study by default, if it is there
    pair: NEW=OLD: classifiers that have other names in the baseline
    confidence: confidence of all intervals together [between 0 and 1 (exclusive)]
    unsure: what it comes to that it can't be told yet: stop (exit status 4), pass (0) or fail (3)
    worst: how many of the new weak points are named [at least 0]
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    batch: images classified at once [at least 1]
    engine: what carries it out: local (this process) or ray (several worker processes)
    address: the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine
    workers: how many workers ray starts; as many as there is room for by default [at least 1]
    time_limit: seconds that a unit may take on ray before another worker tries it; no limit by default [above 0]
    progress: shown in a terminal and a notebook; never with False
    """
    return check_asked(locals())
