"""Classifiers: p(c | x) from many sources, one file per framework; `classifier` accepts them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from brittle.registry import Registry

if TYPE_CHECKING:
    import os

    from torch import nn

    from brittle.classifiers.base import AdaptedClassifier, ClassifierLoader
    from brittle.types import Classifier

classifiers: Registry[ClassifierLoader] = Registry("classifier", __name__)
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
