"""The live part of a bundle: a graph of each nuisance on an image set with each classifier, tried beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from brittle.engine.replay import Replay
from brittle.errors import BrittleError
from brittle.explorer.bundle.pictures import FEWEST_DRAWS, MOST_DRAWS, MOST_NUMBERS, KeptImages
from brittle.explorer.graphs.change import (
    CHANGED,
    DRAW,
    ID,
    IMAGE,
    SEVERITY,
    THETA,
    ChangeGraph,
    change_graph,
    extra_input,
)
from brittle.explorer.graphs.classifier import LOG_PROBS, SEEN, classifier_graph
from brittle.explorer.graphs.joined import SharedWeights, joined
from brittle.explorer.session import Session
from brittle.libraries import first_line

AGREE = 1e-3  # in probability: what differs more from Python is not shown
TRIED_IMAGES, TRIED_DRAWS, TRIED_SEVERITIES = 3, 3, (0.5, 1.0, 1.5)
GRAPHS = "graphs"


@dataclass
class LiveGraphs:
    """Writes the graphs of a run into a folder."""

    session: Session
    folder: Path
    kept: Mapping[str, KeptImages]
    say: Callable[[str], None]
    _classifiers: dict[tuple[str, tuple[int, ...]], Any] = field(default_factory=dict)
    _weights: dict[str, SharedWeights] = field(default_factory=dict)
    _count: int = 0

    def of_space(self, images: str, nuisance: str) -> dict[str, Any]:
        """What the page needs for a nuisance on an image set: its graphs by classifier, or why there are none."""
        run, kept = self.session.run, self.kept[images]
        names = list(run.job.classifiers)
        found: dict[str, Any] = {"classifiers": {}, "draws": None, "theta": None, "change": None, "why": ""}
        try:
            replay = run.replay(images, nuisance, (run.seen_by(nuisance, names) or [""])[0])
            change = change_graph(replay.nuisance, replay.batch([kept.places[0]]), replay.seed, replay.stream)
            found["outputs"] = change.outputs
            if not change.draws:
                found["draws"], found["theta"] = self._theta(replay, kept)
            found["change"] = None if change.extras else self._written(change.model, None)
        except BrittleError as error:
            found["why"] = f"{nuisance} can't be live here: {error.what}."
            return found
        for name in names:
            found["classifiers"][name] = self._pair(images, nuisance, name, change)
            one = found["classifiers"][name]
            self.say(
                f"{images}, {nuisance}, {name}: " + (one["why"] or f"live, within {one['difference']:.1g} of Python")
            )
        return found

    def _pair(self, images: str, nuisance: str, name: str, change: ChangeGraph) -> dict[str, Any]:
        run, kept = self.session.run, self.kept[images]
        try:
            replay = run.replay(images, nuisance, name)
            example = replay.images.batch([kept.places[0]]).in_numbers().images.float()
            model = joined(change.model, self._classifier(name, example), {CHANGED: SEEN}, change.outputs)
            extras = self._extras(replay, kept, change)
            file = self._written(model, self._shared(name))
            apart = self._difference(self.folder / file, replay, name, change, kept)
        except BrittleError as error:
            return {"why": f"{name} can't be live here: {error.what}."}
        if not apart <= AGREE:
            return {"why": f"{name} is not live here: its graph and Python differ by {apart:.2g} in probability."}
        weights = f"{GRAPHS}/{self._shared(name).path.name}"
        return {"why": "", "graph": file, "weights": weights, "difference": apart, "extras": extras}

    def _classifier(self, name: str, example: Tensor) -> Any:
        key = name, tuple(example.shape)
        if key not in self._classifiers:
            classifier = self.session.classifier(name)
            try:
                with torch.no_grad():
                    classifier.log_probs(example)
                    self._classifiers[key] = classifier_graph(classifier, example)
            except BrittleError as error:
                self._classifiers[key] = error
            except Exception as error:  # a network is somebody else's code
                self._classifiers[key] = BrittleError(f"it can't be exported: {first_line(error)}")
        found = self._classifiers[key]
        if isinstance(found, BrittleError):
            raise found
        return found

    def _shared(self, name: str) -> SharedWeights:
        if name not in self._weights:
            self._weights[name] = SharedWeights(self.folder / GRAPHS / f"weights-{len(self._weights)}.bin")
        return self._weights[name]

    def _written(self, model: Any, weights: SharedWeights | None) -> str:
        if weights is not None:
            weights.moved_out_of(model)
        file = f"{GRAPHS}/{self._count}.onnx"
        self._count += 1
        (self.folder / file).write_bytes(model.SerializeToString())
        return file

    def _theta(self, replay: Replay, kept: KeptImages) -> tuple[int, dict[str, Any]]:
        """How many draws of every image, and θ of them as numbers in a file."""
        each = replay.nuisance.identity(replay.batch([kept.places[0]])).shape[-1] * len(kept.places)
        count = max(FEWEST_DRAWS, min(MOST_DRAWS, MOST_NUMBERS // each))
        drawn = torch.cat([replay.prior(replay.batch([place]), count) for place in kept.places]).float()
        file = f"{GRAPHS}/theta-{self._count}.bin"
        (self.folder / file).write_bytes(drawn.contiguous().numpy().tobytes())
        return count, {"file": file, "numbers": drawn.shape[-1]}

    def _extras(self, replay: Replay, kept: KeptImages, change: ChangeGraph) -> list[dict[str, Any]]:
        """What a nuisance reads besides the images, as a classifier sees them."""
        found: list[dict[str, Any]] = []
        for name in change.extras:
            values = torch.cat([replay.batch([place]).extras[name] for place in kept.places]).float()
            file = f"{GRAPHS}/extra-{self._count}-{len(found)}.bin"
            (self.folder / file).write_bytes(values.contiguous().numpy().tobytes())
            found.append({"file": file, "shape": [1, *values.shape[1:]]})
        return found

    def _difference(self, path: Path, replay: Replay, name: str, change: ChangeGraph, kept: KeptImages) -> float:
        """The largest difference in probability between the graph and Python, over a few images, draws, severities."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        try:
            session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        except Exception as error:
            raise BrittleError(f"onnxruntime can't run its graph: {first_line(error)}") from error
        classifier, largest = self.session.classifier(name), 0.0
        for place in _spread(kept.places, TRIED_IMAGES):
            batch = replay.batch([place]).in_numbers()
            drawn = replay.prior(batch, TRIED_DRAWS)[0]
            for draw, severity in zip(range(TRIED_DRAWS), TRIED_SEVERITIES, strict=True):
                given = {
                    IMAGE: batch.images.float().numpy(),
                    SEVERITY: np.array([severity], np.float32),
                    THETA: drawn[draw : draw + 1].float().numpy(),
                    ID: batch.ids.numpy(),
                    DRAW: np.array([draw]),
                    **{extra_input(i): batch.extras[each].float().numpy() for i, each in enumerate(change.extras)},
                }
                (said,) = session.run([LOG_PROBS], {each: given[each] for each in change.inputs})
                picture = replay.at(place, drawn[draw : draw + 1], severity)
                with torch.no_grad():
                    meant = classifier.log_probs(picture).exp().cpu().numpy()
                gap = float(np.abs(np.exp(said) - meant).max())
                largest = max(largest, gap if np.isfinite(gap) else np.inf)
        return largest


def _spread(places: Sequence[int], count: int) -> list[int]:
    return [places[len(places) * each // count] for each in range(min(count, len(places)))]
