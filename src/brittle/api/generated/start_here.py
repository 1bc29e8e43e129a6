"""Start here

Made by `python -m brittle.api.generate`: change options where they are declared, not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.notices import ProgressOption
from brittle.api.running import run_asked

if TYPE_CHECKING:
    from brittle.results import StudyResult


def run(
    classifiers: Any,
    images: Any = None,
    nuisances: Any = None,
    measures: Any = None,
    *,
    groups: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    train: Any = None,
    train_count: int | None = None,
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
) -> StudyResult:
    """Carry out measures of classifiers on images under nuisances, or a study alone: `brittle.run("study.toml")`.

    In place of things and measures there may be a study: a file, a `Study`, or a dictionary of what a study file holds,
    in which modules, functions, Datasets and the like may stand in place of specs. `found.of(measure)` is what one
    measure says, as the function of that name gives it.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary; or a study alone
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …, or several by name in a dictionary
    nuisances: a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own
    measures: dataclasses such as `brittle.measures.Robustness(samples=50)`, specs such as "weak-points:count=20",
        several in a list, or by name in a dictionary; robustness by default
    groups: classifier → its group: several trainings of one model
    attributes: classifier → attributes, as in a study's entry
    train: the image set that the classifiers were trained on, drawn from in the same way
    train_count: how many of these; as many as of the others by default [at least 1]
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
    return run_asked(locals())
