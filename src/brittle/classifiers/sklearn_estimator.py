"""scikit-learn estimators: `sklearn:package.module:factory`. Images are flattened to (B, C·H·W)."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from brittle.classifiers import register
from brittle.classifiers.base import AdaptedClassifier, AdapterOptions, no_file
from brittle.classifiers.factory import make
from brittle.errors import BrittleError, MissingPackage
from brittle.libraries import first_line
from brittle.registry import option

PICKLES = (".pkl", ".pickle", ".joblib")


class SklearnClassifier(AdaptedClassifier):
    """A fitted estimator with `predict_proba`, or with only `predict`: then its outputs are hard, 0 and 1.

    Class names are its `classes_` unless others are given. It runs on the CPU.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        name: str = "",
        labels: tuple[str, ...] | None = None,
        device: str | torch.device = "cpu",
        **settings: Any,
    ) -> None:
        self.estimator = estimator
        self._soft = hasattr(estimator, "predict_proba")
        self._known = getattr(estimator, "classes_", None)
        name = name or type(estimator).__name__
        if isinstance(estimator, type) or not hasattr(estimator, "predict"):
            raise BrittleError(f"{name} is not an estimator that predicts", "Give a fitted scikit-learn classifier.")
        if self._known is None and not self._soft:
            raise BrittleError(
                f"{name} has neither predict_proba nor classes_",
                "Fit it first, or give a classifier that has one of them.",
            )
        if labels is None and self._known is not None:
            labels = tuple(map(str, self._known))
        if settings.get("output", "auto") == "auto":
            settings["output"] = "probabilities"
        can = frozenset() if self._soft else frozenset({"hard"})
        super().__init__(name=name, labels=labels, can=can, device="cpu", **settings)

    def scores(self, prepared: Tensor) -> Tensor:
        rows = prepared.detach().flatten(1).double().numpy()
        if self._soft:
            return torch.as_tensor(np.asarray(self.estimator.predict_proba(rows)))
        assert self._known is not None
        predicted = np.asarray(self.estimator.predict(rows))
        return torch.from_numpy((predicted[:, None] == np.asarray(self._known)[None, :]).astype(np.float32))


@register("sklearn")
@dataclasses.dataclass(frozen=True, kw_only=True)
class SklearnLoader(AdapterOptions):
    """A scikit-learn estimator: made by a function, ready-made in a module, or from a .skops file."""

    factory: str = option(
        dataclasses.MISSING,
        "package.module:name or file.py:name of an estimator or of a function that makes one; or a .skops file",
        positional=True,
    )

    @property
    def runs_code(self) -> bool:
        return not self._is_data

    @property
    def _is_data(self) -> bool:
        return self.factory.lower().endswith(".skops")

    def load(self, device: str = "cpu") -> SklearnClassifier:
        try:
            import sklearn  # noqa: F401
        except ImportError:
            raise MissingPackage("scikit-learn", "sklearn", f"the classifier sklearn:{self.factory}") from None
        if self.factory.lower().endswith(PICKLES):
            raise BrittleError(
                f"{self.factory} is a pickle and would run code when loaded, so it is refused",
                "Name a function that makes the estimator (sklearn:file.py:function), or export it to ONNX or .skops.",
            )
        if self._is_data:
            estimator = _from_skops(Path(self.factory))
        else:
            estimator = make(self.factory, lambda found: not isinstance(found, type) and hasattr(found, "predict"))
        return SklearnClassifier(estimator, name=self.factory, device=device, **self.settings())


def _from_skops(path: Path) -> Any:
    try:
        from skops import io
    except ImportError:
        raise BrittleError(f"{path} needs the package 'skops'", "Install it with: pip install skops") from None
    if not path.is_file():
        raise no_file(path, "*.skops")
    try:
        return io.load(path, trusted=[])
    except Exception as error:
        raise BrittleError(
            f"{path} can't be loaded safely: {first_line(error)}",
            "Name a function that makes the estimator: sklearn:file.py:function.",
        ) from error
