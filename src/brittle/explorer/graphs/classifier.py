"""A classifier as an ONNX graph: images in [0, 1] in, log-probabilities out.

It is made of three: what is done to images first, the network, and what is made of its scores. A network that is an
ONNX file already goes in as it is.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from brittle.classifiers.base import AdaptedClassifier, log_scores, scores_in
from brittle.classifiers.class_mapping import Pooling
from brittle.classifiers.onnx_file import OnnxClassifier
from brittle.classifiers.torch_module import TorchClassifier
from brittle.errors import BrittleError
from brittle.explorer.graphs.export import bare, exported
from brittle.explorer.graphs.joined import at_opset, joined, opset_of
from brittle.types import Classifier

PREPARED, SCORES, LOG_PROBS, SEEN = "prepared", "scores", "log_probs", "seen"
NEITHER = "only torch modules and ONNX files can run in a browser"


def classifier_graph(classifier: Classifier, image: Tensor) -> Any:
    """An onnx.ModelProto with the input seen (1, C, H, W), like `image`, and the output log_probs (1, K); `image` has
    been classified before, so that the classifier knows what its outputs are."""
    if isinstance(classifier, TorchClassifier):
        return _of_module(classifier, image)
    if isinstance(classifier, OnnxClassifier):
        return _of_file(classifier, image)
    raise BrittleError(f"{NEITHER}, and this is neither", "Use the local page for it.")


def _of_module(classifier: TorchClassifier, image: Tensor) -> Any:
    graph = classifier.graph(image)
    prepared = graph.prepared(image)
    with torch.no_grad():
        scores = scores_in(graph.module(prepared), "")
    network = _Network(graph.module)
    try:
        middle = exported(network, [prepared.contiguous()], [PREPARED], [SCORES])
    except BrittleError:  # code that torch can't follow itself may still do if it is watched
        middle = exported(network, [prepared.contiguous()], [PREPARED], [SCORES], strict=False)
    return _whole(classifier, graph.pooling, image, prepared, middle, scores)


def _of_file(classifier: OnnxClassifier, image: Tensor) -> Any:
    import onnx

    model = bare(onnx.load(classifier.path))
    entry, output = classifier.input_name, classifier.output_name
    prepared = classifier.example(image)
    scores = classifier.scores(classifier.preprocess(image)).expand(len(prepared), -1)
    if any(each.type.HasField("sequence_type") for each in model.graph.output if each.name == output):
        raise BrittleError("it gives dictionaries in place of scores", "Export it without ZipMap.")
    return _whole(classifier, classifier.pooling, image, prepared, _alone(model, entry, output), scores)


def _alone(model: Any, entry: str, output: str) -> Any:
    """The model with one input, called prepared, and one output, called scores."""
    from onnx import helper

    values = {each.name for each in model.graph.initializer}
    other = [each.name for each in model.graph.input if each.name != entry and each.name not in values]
    if other:
        raise BrittleError(f"it has the inputs {', '.join(other)} besides images", "Use the local page for it.")
    source = next(each for each in model.graph.input if each.name == entry)
    scores = next(each for each in model.graph.output if each.name == output)
    first = [] if entry == PREPARED else [helper.make_node("Identity", [PREPARED], [entry])]
    last = [] if output == SCORES else [helper.make_node("Identity", [output], [SCORES])]
    nodes = [*first, *model.graph.node, *last]
    del model.graph.node[:], model.graph.input[:], model.graph.output[:]
    model.graph.node.extend(nodes)
    source.name, scores.name = PREPARED, SCORES
    model.graph.input.append(source)
    model.graph.output.append(scores)
    return model


def _whole(
    classifier: AdaptedClassifier, pooling: Pooling | None, image: Tensor, prepared: Tensor, middle: Any, scores: Tensor
) -> Any:
    before = exported(_Prepare(classifier, prepared), [image], [SEEN], [PREPARED])
    after = exported(_Finish(classifier, pooling), [scores], [SCORES], [LOG_PROBS])
    opset = max(map(opset_of, (before, middle, after)))
    first, second, third = (at_opset(each, opset) for each in (before, middle, after))
    return joined(joined(first, second, {PREPARED: PREPARED}), third, {SCORES: SCORES})


class _Network(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, prepared: Tensor) -> Tensor:
        return scores_in(self.module(prepared), "")


class _Prepare(nn.Module):
    """Preprocessing, up to the numbers and the shape that the network takes."""

    def __init__(self, classifier: AdaptedClassifier, like: Tensor) -> None:
        super().__init__()
        self.preprocess, self.shape, self.dtype = classifier.preprocess, tuple(like.shape), like.dtype

    def forward(self, image: Tensor) -> Tensor:
        made = self.preprocess(image).to(self.dtype)
        made = made.reshape(1, *self.shape[1:])
        return made.expand(self.shape) if self.shape[0] > 1 else made


class _Finish(nn.Module):
    """Scores (B, K) → log-probabilities of the first image, of the mapped classes where there is a mapping."""

    def __init__(self, classifier: AdaptedClassifier, pooling: Pooling | None) -> None:
        super().__init__()
        self.output, self.pooling = classifier.output, pooling

    def forward(self, scores: Tensor) -> Tensor:
        found = log_scores(scores[:1], self.output)
        return found if self.pooling is None else self.pooling(found)
