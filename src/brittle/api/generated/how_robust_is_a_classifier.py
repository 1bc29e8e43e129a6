"""How robust is a classifier?

Made by `python -m brittle.api.generate`: change options where they are declared, not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.notices import ProgressOption
from brittle.api.running import COMMANDS, run_measure

if TYPE_CHECKING:
    from brittle.results import CleanResult, RobustnessResult


def clean(
    classifiers: Any,
    images: Any,
    *,
    confidence: float = 0.95,
    groups: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    count: int | None = None,
    where: str | Sequence[str] = (),
    columns: str | Path | None = None,
    ids: str | Sequence[int] | None = None,
    seed: int = 0,
    precision: Literal["float32", "tf32", "bf16"] = "float32",
    compile: Literal["auto", "yes", "onnx", "no"] = "auto",
    out: str | Path | None = None,
    device: str | None = None,
    batch: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> CleanResult:
    """Measure accuracy on untouched images, with an interval.

    Gives what `brittle clean --json` prints: `accuracy`, its interval and what stands beside them. Where there are
    several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    confidence: confidence of the interval [between 0 and 1 (exclusive)]
    groups: classifier → its group: several trainings of one model
    attributes: classifier → attributes, as in a study's entry
    count: how many images, drawn by the seed; all by default [at least 1]
    where: only images with column=value, or column>0.5
    columns: a CSV or Parquet file with id or name, and columns for conditions (where)
    ids: only images with these ids: 3/17/240, or those in this text file
    seed: the seed of every random draw
    precision: numbers that torch modules compute in; what others change is measured and printed
    compile: whether torch modules and nuisances are compiled, or modules exported to onnxruntime (onnx); auto: the
        former on a GPU, the latter on a CPU, for work that takes long enough
    out: keep the run and its report in this folder; the same again resumes it
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    batch: images classified at once [at least 1]
    engine: what carries it out: local (this process) or ray (several worker processes)
    address: the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine
    workers: how many workers ray starts; as many as there is room for by default [at least 1]
    time_limit: seconds that a unit may take on ray before another worker tries it; no limit by default [above 0]
    progress: shown in a terminal and a notebook; never with False
    """
    found: CleanResult = run_measure(COMMANDS["clean"], locals())
    return found


def robustness(
    classifiers: Any,
    images: Any,
    nuisances: Any = None,
    *,
    samples: int | None = None,
    tolerance: float | None = None,
    estimand: Literal["population", "set", "drawn"] = "population",
    design: Literal["independent", "antithetic", "sobol"] = "independent",
    confidence: float = 0.95,
    worst_of: int = 10,
    extra: Sequence[Literal["nll", "ece", "top5"]] = (),
    groups: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    count: int | None = None,
    where: str | Sequence[str] = (),
    columns: str | Path | None = None,
    ids: str | Sequence[int] | None = None,
    seed: int = 0,
    precision: Literal["float32", "tf32", "bf16"] = "float32",
    compile: Literal["auto", "yes", "onnx", "no"] = "auto",
    out: str | Path | None = None,
    device: str | None = None,
    batch: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> RobustnessResult:
    """Measure ρ of classifiers under nuisances, with intervals, and their paired differences.

    `brittle.measure` or `brittle.compare` is the same function. Gives what `brittle robustness --json` prints: `rho`,
    `interval`, `accuracy_nuisance` and what stands beside them, and paired     differences of classifiers as
    `comparisons`. Where there are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    nuisances: a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own
    samples: draws of θ per image; 100, or with a tolerance 10 (estimand set: at most 1000) [between 1 and 10000000]
    tolerance: stop as soon as the interval's half-width is this small [between 0 and 0.5 (exclusive)]
    estimand: what ρ is of: population, set (exactly these images) or drawn
    design: how the draws of one image lie: independent, antithetic (pairs on opposite sides) or sobol (four at a
        time, spread evenly)
    confidence: confidence of every interval [between 0 and 1 (exclusive)]
    worst_of: an image counts for worst-of-k accuracy if its first k draws are all right [between 1 and 10000000]
    extra: also report nll, ece, top5
    groups: classifier → its group: several trainings of one model
    attributes: classifier → attributes, as in a study's entry
    count: how many images, drawn by the seed; all by default [at least 1]
    where: only images with column=value, or column>0.5
    columns: a CSV or Parquet file with id or name, and columns for conditions (where)
    ids: only images with these ids: 3/17/240, or those in this text file
    seed: the seed of every random draw
    precision: numbers that torch modules compute in; what others change is measured and printed
    compile: whether torch modules and nuisances are compiled, or modules exported to onnxruntime (onnx); auto: the
        former on a GPU, the latter on a CPU, for work that takes long enough
    out: keep the run and its report in this folder; the same again resumes it
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    batch: images classified at once [at least 1]
    engine: what carries it out: local (this process) or ray (several worker processes)
    address: the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine
    workers: how many workers ray starts; as many as there is room for by default [at least 1]
    time_limit: seconds that a unit may take on ray before another worker tries it; no limit by default [above 0]
    progress: shown in a terminal and a notebook; never with False
    """
    found: RobustnessResult = run_measure(COMMANDS["robustness"], locals())
    return found
