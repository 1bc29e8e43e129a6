"""What `generate`, `train_sliders` and `train_tokens` do with their arguments: a study of one measure, carried out into
a run folder beside what it writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle.api.notices import progress_shown
from brittle.api.running import run_inputs
from brittle.api.study_values import image_sets, options_for
from brittle.engine.open import open_inputs
from brittle.errors import BrittleError
from brittle.measures.generate.options import GenerateOptions
from brittle.measures.train_sliders.options import TrainSlidersOptions
from brittle.measures.train_tokens.options import TrainTokensOptions

if TYPE_CHECKING:
    from brittle.generation.cost import GenerationCost
    from brittle.results import GenerateResult, TrainSlidersResult, TrainTokensResult

RUN = "run"  # the run folder within what is written
OURS = ("folder", "state", "weights")  # options that are not a caller's


def generate_asked(given: Mapping[str, Any]) -> GenerateResult:
    """What `brittle.generate` does with its arguments, by name."""
    from brittle.generation.cost import counted, generation_cost
    from brittle.measures.generate.measure import Generate

    options = _options(GenerateOptions, given) | {"folder": str(_folder(given))}
    measure = Generate(**{key.replace("-", "_"): value for key, value in options.items()})
    with progress_shown(given["progress"]) as seen:
        measure.refuse_wrong()
        local = given["engine"] == "local"  # workers on a cluster have other devices
        seen.show(str(generation_cost(measure, given["device"]) if local else counted(measure, "")))
        found: GenerateResult = _carried_out("generate", options, given, seen)
    return found


def train_sliders_asked(given: Mapping[str, Any]) -> TrainSlidersResult:
    """What `brittle.train_sliders` does with its arguments, by name."""
    folder = _folder(given)
    options = _options(TrainSlidersOptions, given) | {"folder": str(folder), "state": str(folder / "state")}
    with progress_shown(given["progress"]) as seen:
        found: TrainSlidersResult = _carried_out("train-sliders", options, given, seen)
    return found


def train_tokens_asked(given: Mapping[str, Any]) -> TrainTokensResult:
    """What `brittle.train_tokens` does with its arguments, by name."""
    options = _options(TrainTokensOptions, given) | {"folder": str(_folder(given))}
    with progress_shown(given["progress"]) as seen:
        found: TrainTokensResult = _carried_out("train-tokens", options, given, seen, image_sets(given["images"]))
    return found


def generation_cost(*, device: str | None = None, **options: Any) -> GenerationCost:
    """What `brittle.generate` with these options (`pipeline` among them) would cost: images, passes of the denoiser,
    and hours at a rate that is measured now. Nothing is written."""
    from brittle.generation.cost import generation_cost as cost_of
    from brittle.measures.generate.measure import Generate

    asked = _options(GenerateOptions, options)
    measure = Generate(**{key.replace("-", "_"): value for key, value in asked.items()})
    measure.refuse_wrong()
    return cost_of(measure, device)


def _options(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    values = {key: str(value) if isinstance(value, Path) else value for key, value in given.items()}
    return {key: value for key, value in options_for(kind, values, without=OURS).items() if value not in (None, ())}


def _folder(given: Mapping[str, Any]) -> Path:
    if given["out"] is None or not str(given["out"]).strip():
        raise BrittleError("no folder is named to write into", "Name one: out=FOLDER (--out FOLDER).")
    return Path(given["out"])


def _carried_out(
    kind: str, options: Mapping[str, Any], given: Mapping[str, Any], progress: Any, images: Mapping[str, Any] = {}
) -> Any:
    values = {"images": dict(images), "measures": {kind: {"kind": kind, **options}}}
    how = {**given, "batch": None}  # whose batches are images that are classified
    found = run_inputs(open_inputs(values), {**how, "out": str(_folder(given) / RUN), "progress": progress}, kind)
    return found.of(kind)
