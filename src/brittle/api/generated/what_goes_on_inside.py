"""What goes on inside?

Made by `python -m brittle.api.generate`: change options where they are declared, not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.notices import ProgressOption
from brittle.api.running import COMMANDS, run_measure

if TYPE_CHECKING:
    from brittle.results import ConnectednessResult, LayerChangesResult, LayerNoiseResult


def connectedness(
    classifiers: Any,
    images: Any,
    *,
    per_class: int = 100,
    method: Literal["auto", "ida", "torch"] = "auto",
    tries: int = 5,
    steps: int = 64,
    kappa: float = 10.0,
    until: float = 0.99,
    points: int = 128,
    pictures: int = 1,
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
) -> ConnectednessResult:
    """Find the bubbles of each class: which images lie in one region that the classifier gives their class.

    Gives what `brittle connectedness --json` prints: `classes`, an entry each, `straight_share` and what stands beside
    them. Where there are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    per_class: images of each class, the first in planned order [between 2 and 100000]
    method: how a curved path is found: by SUNDIALS IDA, pair by pair, or by a batched projected method; auto: ida
        for images of at most 64 numbers
    tries: pairs that a component tries in vain before it rests [between 1 and 100000]
    steps: steps of a curved path, at least [between 4 and 10000]
    kappa: κ, the rate at which IDA's path is drawn back to its level [at least 0]
    until: t at which a curved path is closed by a straight segment [between 0 and 1 (exclusive)]
    points: points of a straight segment that are checked; a curved step has 8 [between 8 and 100000]
    pictures: connecting paths per class whose images are kept [between 0 and 100]
    confidence: confidence of the interval of the straight share [between 0 and 1 (exclusive)]
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
    found: ConnectednessResult = run_measure(COMMANDS["connectedness"], locals())
    return found


def layer_changes(
    classifiers: Any,
    images: Any,
    *,
    layers: str | Sequence[str] = (),
    targets: int = 1,
    share: float = 0.9,
    rate: float = 0.02,
    steps: int = 300,
    confidence: float = 0.95,
    groups: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    count: int | None = 50,
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
) -> LayerChangesResult:
    """Find the change of what each layer gives at which a classifier predicts a target.

    Gives what `brittle layer-changes --json` prints: `layers`, one entry each, and what stands beside. Where there are
    several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    layers: which layers: names, shell patterns, or numbers such as 0-5 (0 is the input, the last are the weights);
        those joined by + at once, such as 1+4; by default all but the weights, or 11 evenly spaced where there are more
    targets: other classes per image, drawn by the seed [between 1 and 1000000]
    share: the probability that the target must reach [between 0 and 1 (exclusive)]
    rate: Adam's step, in root mean squares of what the layer gives [above 0 and at most 10]
    steps: Adam's steps after which a search has failed [between 1 and 1000000]
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
    out: keep the run and its report in this folder; the same again resumes it
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    batch: images classified at once [at least 1]
    engine: what carries it out: local (this process) or ray (several worker processes)
    address: the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine
    workers: how many workers ray starts; as many as there is room for by default [at least 1]
    time_limit: seconds that a unit may take on ray before another worker tries it; no limit by default [above 0]
    progress: shown in a terminal and a notebook; never with False
    """
    found: LayerChangesResult = run_measure(COMMANDS["layer-changes"], locals())
    return found


def layer_noise(
    classifiers: Any,
    images: Any,
    *,
    layers: str | Sequence[str] = (),
    noise: Literal["path", "fresh"] = "path",
    step: float = 0.1,
    limit: float = 5.0,
    repeats: int = 5,
    networks: int = 20,
    confidence: float = 0.95,
    groups: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    count: int | None = 50,
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
) -> LayerNoiseResult:
    """Find the noise on each layer, and on the weights, at which a classifier's prediction changes.

    Gives what `brittle layer-noise --json` prints: `layers`, one entry each, and what stands beside them. Where there
    are several `results`, `found.of("mine", nuisance="fog")` is one of them.

    Parameters
    ----------
    classifiers: a spec or an object (a module, a function …), or several by name in a dictionary
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    layers: which layers: names, shell patterns, or numbers such as 0-5 (0 is the input, the last are the weights);
        those joined by + at once, such as 1+4; by default all, or 12 evenly spaced where there are more
    noise: one field per image and repeat that σ scales, or another one at every σ
    step: by which σ rises [above 0]
    limit: the largest σ; what has not changed there is censored [above 0]
    repeats: fields of noise per image and layer [between 1 and 1000000]
    networks: noisy networks, where the weights are the layer [between 1 and 1000000]
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
    out: keep the run and its report in this folder; the same again resumes it
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    batch: images classified at once [at least 1]
    engine: what carries it out: local (this process) or ray (several worker processes)
    address: the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine
    workers: how many workers ray starts; as many as there is room for by default [at least 1]
    time_limit: seconds that a unit may take on ray before another worker tries it; no limit by default [above 0]
    progress: shown in a terminal and a notebook; never with False
    """
    found: LayerNoiseResult = run_measure(COMMANDS["layer-noise"], locals())
    return found
