"""Classifiers: p(c | x) from many sources, one file per framework; `classifier` accepts them all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, overload

from brittle.classifiers.model_files import is_model, path_spec
from brittle.errors import BrittleError
from brittle.registry import Registry, Spec
from brittle.registry.source import names_code
from brittle.registry.spec import before_comma

if TYPE_CHECKING:
    from torch import nn

    from brittle.classifiers.base import AdaptedClassifier, ClassifierLoader
    from brittle.types import Classifier


class ClassifierRegistry(Registry["ClassifierLoader"]):
    """A registry in which the path of a model's file is a spec too, `model.onnx` or `model.onnx,size=224`, and so is
    the address of a service, `https://host/path`."""

    def parsed(self, text: str) -> Spec:
        spec = super().parsed(text)
        if spec.kind in ("http", "https") and spec.parts and spec.parts[0].startswith("//"):
            return Spec("http", (f"{spec.kind}:{spec.parts[0]}", *spec.parts[1:]))
        if spec.kind in self.names():
            return spec
        path, options = before_comma(text.strip())
        if is_model(path):
            return super().parsed(path_spec(path) + options)
        if path.endswith(".py") or names_code(path) or (spec.parts and os.path.isfile(f"{spec.kind}.py")):
            named = path if ":" in path else f"{path}:name"
            raise BrittleError(
                f"{path!r} does not say what kind of classifier it is",
                f"Write torch:{named} for a network or a function that makes one, python:{named} for a function "
                "images → scores.",
            )
        return spec


classifiers = ClassifierRegistry("classifier", __name__)
register = classifiers.register


@overload
def classifier(
    what: str | os.PathLike[str] | nn.Module | ClassifierLoader | AdaptedClassifier,
    *,
    device: str = "cpu",
    **options: Any,
) -> AdaptedClassifier: ...
@overload
def classifier(what: object, *, device: str = "cpu", **options: Any) -> Classifier: ...
def classifier(what: object, *, device: str = "cpu", **options: Any) -> Classifier:
    """A classifier from a spec, an .onnx path, a torch module, a scikit-learn estimator or a callable images → scores.

    A classifier is returned unchanged. `options` have the same names as in specs:
    size, crop, interpolation, mean, std, channels, range, layout, output, labels, classes, within.
    `classes` may also be a dictionary of class → members, which are numbers, label names or WordNet ids.
    """
    # Adapters register themselves with this package, so they can be imported only once it exists.
    from brittle.classifiers.adapt import adapt

    return adapt(what, device, options)
