"""What does it look at?

Made by `python -m brittle.api.generate`: change options where they are declared, not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.notices import ProgressOption
from brittle.api.running import COMMANDS, run_measure

if TYPE_CHECKING:
    from brittle.results import (
        AugmentationResult,
        CueConflictResult,
        InterferenceResult,
        OcclusionResult,
        ShufflingResult,
    )


def augmentation(
    classifiers: Any,
    images: Any,
    *,
    of: str | Sequence[str] = ("mixup", "cutmix", "fmix"),
    reference: str | None = None,
    samples: int = 1,
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
) -> AugmentationResult:
    """Measure how much accuracy a classifier loses on augmented images (affinity), with the augmentation's diversity.

    Gives what `brittle augmentation --json` prints: `affinity`, `accuracy_augmented`, a result per classifier and
    augmentation. Where there are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    of: augmentations: specs of mixes (mixup, fmix:alpha=2) and of nuisances
    reference: classifiers whose accuracy tells affinity, by name or group: trained without these; all by default
    samples: draws per image and augmentation [between 1 and 100000]
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
    found: AugmentationResult = run_measure(COMMANDS["augmentation"], locals())
    return found


def cue_conflict(
    classifiers: Any,
    images: Any,
    *,
    decisions: str | Sequence[str] = (),
    resamples: int = 2000,
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
) -> CueConflictResult:
    """Set shape against texture (cue-conflict:…), and tell which of them classifiers answer with.

    Gives what `brittle cue-conflict --json` prints: `shape_bias`, `shape_accuracy` and `texture_accuracy`, a result per
    classifier. Where there are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    decisions: a CSV file of decisions of people or models, as model-vs-human has them
    resamples: draws of the bootstrap for shape bias, at least: many differences take more [between 100 and 1000000]
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
    found: CueConflictResult = run_measure(COMMANDS["cue-conflict"], locals())
    return found


def interference(
    classifiers: Any,
    images: Any,
    nuisances: Any = None,
    *,
    simulations: int = 4000,
    confidence: float = 0.95,
    samples: int = 5,
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
) -> InterferenceResult:
    """Find whether the errors that a nuisance makes go to one class: the DI index.

    Gives what `brittle interference --json` prints: `di`, `top_class` and `chance_spread`, a result per model and
    nuisance. Where there are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    nuisances: a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own
    simulations: how often chance is simulated [between 100 and 1000000]
    confidence: confidence of the rough interval over runs [between 0 and 1 (exclusive)]
    samples: draws of θ per image [between 1 and 10000000]
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
    found: InterferenceResult = run_measure(COMMANDS["interference"], locals())
    return found


def occlusion(
    classifiers: Any,
    images: Any,
    nuisances: Any = None,
    *,
    shares: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    repeats: int = 1,
    confidence: float = 0.95,
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
) -> OcclusionResult:
    """Hide more and more of every image: accuracy by hidden share, and its gap between training and test images.

    Gives what `brittle occlusion --json` prints: `points`, one entry per hidden share, and what stands beside them.
    Where there are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    nuisances: a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own
    shares: the hidden shares, in place of that of a nuisance whose share is exact [above 0 and at most 1]
    repeats: masks per image [between 1 and 1000000]
    confidence: confidence of every interval [between 0 and 1 (exclusive)]
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
    found: OcclusionResult = run_measure(COMMANDS["occlusion"], locals())
    return found


def shuffling(
    classifiers: Any,
    images: Any,
    *,
    grids: Sequence[int] = (2, 4),
    samples: int = 4,
    moves: Literal["permutation", "cycle"] = "permutation",
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
) -> ShufflingResult:
    """Shuffle the patches of images, and tell what is left of accuracy.

    Gives what `brittle shuffling --json` prints: `shuffled`, an entry per grid, and what stands beside them. Where
    there are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    grids: patches across and down that are shuffled [between 2 and 64]
    samples: shuffles per image and grid [between 1 and 1000000]
    moves: by any permutation, the identity included, or in one cycle, so that no patch stays
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
    found: ShufflingResult = run_measure(COMMANDS["shuffling"], locals())
    return found
