"""How do several compare?

Made by `python -m brittle.api.generate`: change options where they are declared, not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.notices import ProgressOption
from brittle.api.running import COMMANDS, run_measure

if TYPE_CHECKING:
    from brittle.results import CorruptionErrorResult, ErrorConsistencyResult, LineResult, RankingResult


def corruption_error(
    classifiers: Any,
    images: Any,
    nuisances: Any = None,
    *,
    reference: str = "",
    confidence: float = 0.95,
    resamples: int = 2000,
    severities: Sequence[float] = (),
    step: float | None = None,
    limit: float | None = None,
    repeats: int = 1,
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
) -> CorruptionErrorResult:
    """Set errors under shifts against those of a reference classifier: CE, rCE, and their means over shifts.

    Gives what `brittle corruption-error --json` prints: `mce`, `mean_rce` and `shifts`, a result per classifier. Where
    there are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    nuisances: a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own
    reference: the classifier whose errors divide, the first unless given; imagenet-c:alexnet: AlexNet's published
        errors, for image sets in ImageNet-C's layout
    confidence: confidence of every interval [between 0 and 1 (exclusive)]
    resamples: resamplings of the images, for the intervals [between 100 and 100000]
    severities: those above 0, rising; unless given: levels 1 to 5, σ = 10 to 100, all scales, or 0.5 to 2.5 [above
        0]
    step: in place of a list: severity rises by this [above 0]
    limit: the highest severity of such steps [above 0]
    repeats: paths per image [between 1 and 1000000]
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
    found: CorruptionErrorResult = run_measure(COMMANDS["corruption-error"], locals())
    return found


def error_consistency(
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
) -> ErrorConsistencyResult:
    """Tell whether classifiers, and people whose decisions are given, are wrong on the same images.

    Gives what `brittle error-consistency --json` prints: `kappa`, a result per pair, `people` and `deciders`. Where
    there are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    decisions: a CSV file of decisions of people or models, as model-vs-human has them
    resamples: draws of the bootstrap [between 100 and 1000000]
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
    found: ErrorConsistencyResult = run_measure(COMMANDS["error-consistency"], locals())
    return found


def line(
    classifiers: Any,
    images: Any,
    nuisances: Any = None,
    *,
    id: Any = "",
    baseline: str | Sequence[str] = (),
    covariates: str | Sequence[str] = (),
    family: str = "architecture",
    confidence: float = 0.95,
    severities: Sequence[float] = (),
    step: float | None = None,
    limit: float | None = None,
    repeats: int = 1,
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
) -> LineResult:
    """Set accuracy under shifts against accuracy without, over at least five classifiers.

    Gives what `brittle line --json` prints: `lines`, `points`, `partial` and `shifts`. Where there are several
    `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    nuisances: a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own
    id: the image set whose clean accuracy is in-distribution, best of other images than those that are shifted; the
        shifted set's own unless given
    baseline: the classifiers that the line of gains is drawn through; all unless given
    covariates: attributes of classifiers whose partial correlation is given; all that are numbers unless given
    family: the attribute that names what sizes are of
    confidence: confidence of every interval, of gains for all models at once [between 0 and 1 (exclusive)]
    severities: those above 0, rising; unless given: levels 1 to 5, σ = 10 to 100, all scales, or 0.5 to 2.5 [above
        0]
    step: in place of a list: severity rises by this [above 0]
    limit: the highest severity of such steps [above 0]
    repeats: paths per image [between 1 and 1000000]
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
    found: LineResult = run_measure(COMMANDS["line"], locals())
    return found


def ranking(
    classifiers: Any,
    images: Any,
    nuisances: Any = None,
    *,
    sigma: float = 1.0,
    confidence: float = 0.95,
    severities: Sequence[float] = (),
    step: float | None = None,
    limit: float | None = None,
    repeats: int = 1,
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
) -> RankingResult:
    """Rank classifiers at every severity of a nuisance, with ties, and find those that change places.

    Gives what `brittle ranking --json` prints: `classifiers`, `pairs` and `swaps` of each shift. Where there are
    several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    nuisances: a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own
    sigma: ties by overlap: intervals are this many standard errors to each side [above 0]
    confidence: ties by paired tests: probability that no difference is false, over all comparisons [between 0 and 1
        (exclusive)]
    severities: those above 0, rising; unless given: levels 1 to 5, σ = 10 to 100, all scales, or 0.5 to 2.5 [above
        0]
    step: in place of a list: severity rises by this [above 0]
    limit: the highest severity of such steps [above 0]
    repeats: paths per image [between 1 and 1000000]
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
    found: RankingResult = run_measure(COMMANDS["ranking"], locals())
    return found
