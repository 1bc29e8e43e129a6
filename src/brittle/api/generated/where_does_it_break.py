"""Where does it break?

Made by `python -m brittle.api.generate`: change options where they are declared, not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.notices import ProgressOption
from brittle.api.running import COMMANDS, run_measure

if TYPE_CHECKING:
    from brittle.results import BreakingPointsResult, FailurePointsResult, PerturbationResult, WeakPointsResult


def breaking_points(
    classifiers: Any,
    images: Any,
    nuisances: Any = None,
    *,
    noise: Literal["path", "fresh"] = "path",
    search: Literal["first", "bisect"] = "first",
    step: float | None = None,
    limit: float | None = None,
    repeats: int = 1,
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
) -> BreakingPointsResult:
    """Find the severity at which predictions change: σ of Gaussian noise, or any nuisance's severity.

    Gives what `brittle breaking-points --json` prints: `mean`, `interval`, `unbroken` and what stands beside them.
    Where there are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    nuisances: a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own
    noise: θ drawn once per image and repeat and scaled by severity (path), or anew at each severity (fresh)
    search: the first severity at which the prediction changes (first), or one found by halving (bisect): far fewer
        answers, and the first unless the path comes back on the way
    step: severity rises by this: 1 of 255 under noise, a tenth of the level, otherwise 0.1 [above 0]
    limit: the highest severity: 255 under noise, ten times the level, otherwise 10 [above 0]
    repeats: paths per image [between 1 and 1000000]
    confidence: confidence of every interval [between 0 and 1 (exclusive)]
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
    found: BreakingPointsResult = run_measure(COMMANDS["breaking-points"], locals())
    return found


def failure_points(
    classifiers: Any,
    images: Any,
    nuisances: Any = None,
    *,
    severities: Sequence[float] = (),
    step: float | None = None,
    limit: float | None = None,
    only: Literal["first"] | None = None,
    tolerance: float | None = None,
    repeats: int = 1,
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
) -> FailurePointsResult:
    """Find the severity at which predictions become wrong, and accuracy at every severity on the way.

    `brittle.fail` is the same function. Gives what `brittle failure-points --json` prints: `mean`, `never`,
    `severities` and what stands beside them. Where there are several `results`, `found.of("mine", nuisance="fog")` is
    one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    nuisances: a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own
    severities: those above 0, rising; unless given: levels 1 to 5, σ = 10 to 100, all scales, or 0.5 to 2.5 [above
        0]
    step: in place of a list: severity rises by this [above 0]
    limit: the highest severity of such steps [above 0]
    only: first: a path is not followed past its first failure, and accuracy at higher severities is not known
    tolerance: narrow each failure point down to this, by bisection between two severities of the grid [above 0]
    repeats: paths per image [between 1 and 1000000]
    confidence: confidence of every interval [between 0 and 1 (exclusive)]
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
    found: FailurePointsResult = run_measure(COMMANDS["failure-points"], locals())
    return found


def perturbation(
    classifiers: Any,
    images: Any,
    *,
    method: Literal["adam", "fgsm", "t-fgsm", "i-fgsm"] = "adam",
    targets: str | Sequence[str] = ("all",),
    draw: int | None = None,
    share: float = 0.9,
    rate: float = 0.005,
    steps: int = 1000,
    iterations: int = 10,
    clip: bool = True,
    per_class: int | None = None,
    quality: int = 75,
    cap: float = 0.5,
    confidence: float = 0.95,
    groups: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    count: int | None = 100,
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
) -> PerturbationResult:
    """Find how far images must be changed for a classifier to see another class in them.

    `brittle.perturb` is the same function. Gives what `brittle perturbation --json` prints: `mean`, `failures`,
    `smallest` and what stands beside them. Where there are several `results`, `found.of("mine", nuisance="fog")` is one
    of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    method: how changes are found: adam, or as baselines fgsm (no target), t-fgsm, i-fgsm
    targets: classes to change images to: all, or names and numbers; none for i-fgsm away from the prediction
    draw: only so many targets per image, drawn by the seed; all of them by default [at least 1]
    share: the probability that the target must reach [between 0 and 1 (exclusive)]
    rate: Adam's step, on values in [0, 1] [above 0 and at most 1]
    steps: Adam's steps after which a search has failed [between 1 and 1000000]
    iterations: steps of i-fgsm [between 1 and 10000]
    clip: hold the changed image to [0, 1]; without, only the size of the change counts
    per_class: of these, only so many of each class, the first in planned order; for a perturbation matrix 1 [at
        least 1]
    quality: quality of the JPEG that changes are tried on [between 1 and 100]
    cap: in means a change counts as at most this, and a failure as this [above 0 and at most 1]
    confidence: confidence of every interval [between 0 and 1 (exclusive)]
    groups: classifier → its group: several trainings of one model
    attributes: classifier → attributes, as in a study's entry
    count: how many images, drawn by the seed; all with None
    where: only images with column=value, or column>0.5
    columns: a CSV or Parquet file with id or name, and columns for conditions (where)
    ids: only images with these ids: 3/17/240, or those in this text file
    seed: the seed of every random draw
    precision: numbers that torch modules compute in; what others change is measured and printed
    compile: whether torch modules and nuisances are compiled, or modules exported to onnxruntime (onnx); auto: the
        former on a GPU, the latter on a CPU, for work that takes long enough
    out: keep the run and a report with matrices, bubbles and pictures in this folder; the same again resumes it
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    batch: images classified at once [at least 1]
    engine: what carries it out: local (this process) or ray (several worker processes)
    address: the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine
    workers: how many workers ray starts; as many as there is room for by default [at least 1]
    time_limit: seconds that a unit may take on ray before another worker tries it; no limit by default [above 0]
    progress: shown in a terminal and a notebook; never with False
    """
    found: PerturbationResult = run_measure(COMMANDS["perturbation"], locals())
    return found


def weak_points(
    classifiers: Any,
    images: Any,
    nuisances: Any = None,
    *,
    sampler: str = "auto",
    budget: int = 2000,
    chains: int = 8,
    steps: int = 1000,
    burn_in: int = 500,
    start: Literal["prior", "worst"] = "worst",
    tries: int = 64,
    keep: int = 200,
    failing: bool = False,
    groups: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    count: int | None = 20,
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
) -> WeakPointsResult:
    """Sample where a classifier breaks: draws from p(θ | not the label, x).

    `brittle.sample` is the same function. Gives what `brittle weak-points --json` prints: what they say, a result per
    classifier, image set and nuisance, and the draws themselves. Where there are several `results`, `found.of("mine",
    nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    nuisances: a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own
    sampler: how to draw: the spec of a sampler
    budget: classifier calls per image, for samplers that draw populations [between 1 and 10000000]
    chains: chains per image, for samplers that walk [between 1 and 100000]
    steps: steps per chain after burn-in [between 1 and 10000000]
    burn_in: steps before, in which step sizes adapt [between 0 and 10000000]
    start: chains start at a prior draw, or at the worst of `tries`
    tries: prior draws that a chain looks at for its start [between 1 and 10000000]
    keep: draws kept per image, fewer where θ is long [between 1 and 10000000]
    failing: only θ at which the prediction is another label, where doubt alone is not enough
    groups: classifier → its group: several trainings of one model
    attributes: classifier → attributes, as in a study's entry
    count: how many images, drawn by the seed; all with None
    where: only images with column=value, or column>0.5
    columns: a CSV or Parquet file with id or name, and columns for conditions (where)
    ids: only images with these ids: 3/17/240, or those in this text file
    seed: the seed of every random draw
    precision: numbers that torch modules compute in; what others change is measured and printed
    compile: whether torch modules and nuisances are compiled, or modules exported to onnxruntime (onnx); auto: the
        former on a GPU, the latter on a CPU, for work that takes long enough
    out: keep the draws and a report with pictures in this folder; the same again resumes it
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    batch: images classified at once [at least 1]
    engine: what carries it out: local (this process) or ray (several worker processes)
    address: the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine
    workers: how many workers ray starts; as many as there is room for by default [at least 1]
    time_limit: seconds that a unit may take on ray before another worker tries it; no limit by default [above 0]
    progress: shown in a terminal and a notebook; never with False
    """
    found: WeakPointsResult = run_measure(COMMANDS["weak-points"], locals())
    return found
