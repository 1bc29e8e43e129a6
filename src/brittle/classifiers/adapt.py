"""Specs, files, modules, estimators and functions → classifiers: the body of `brittle.classifiers.classifier`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from torch import nn

from brittle.classifiers import classifiers
from brittle.classifiers.base import AdapterOptions, ClassifierLoader
from brittle.classifiers.callable import CallableClassifier
from brittle.classifiers.configured import Configuration, settings_with
from brittle.classifiers.model_files import path_spec
from brittle.classifiers.sklearn_estimator import SklearnClassifier
from brittle.classifiers.timm_model import is_timm, timm_configuration
from brittle.classifiers.torch_module import TorchClassifier
from brittle.classifiers.transformers_model import is_transformers, transformers_configuration
from brittle.errors import BrittleError
from brittle.files import printable
from brittle.registry import did_you_mean, options_of
from brittle.types import Classifier

TAKEN = (
    "Give a spec such as 'onnx:model.onnx', the path of an .onnx file, a torch.nn.Module,"
    " a fitted scikit-learn estimator, or a function images → scores."
)


def adapt(what: object, device: str, options: Mapping[str, Any]) -> Classifier:
    """See `brittle.classifiers.classifier`."""
    if isinstance(what, type):
        raise BrittleError(f"{what.__name__} is a class, not a classifier", "Give an instance of it.")
    if isinstance(what, (str, os.PathLike)):
        return _load(loader_of(what), device, options)
    if isinstance(what, Classifier):
        if options:
            raise BrittleError(
                f"{type(what).__name__} is already a classifier and takes no {', '.join(options)}",
                "Set the options where it is created.",
            )
        return what
    if isinstance(what, ClassifierLoader) and dataclasses.is_dataclass(what):
        return _load(what, device, options)
    if not isinstance(what, nn.Module) and is_transformers(getattr(what, "model", None)):
        raise BrittleError(f"{type(what).__name__} is a pipeline, not a classifier", "Give its model: pipeline.model.")
    if type(what).__name__ == "ExportedProgram":
        raise BrittleError("an ExportedProgram is not a module", "Give its module: program.module().")
    given = _with(AdapterOptions(), options)
    if isinstance(what, nn.Module):
        return TorchClassifier(what, device=device, **settings_with(given, _configuration(what)))
    settings = given.settings()
    if hasattr(what, "predict_proba") or (hasattr(what, "predict") and hasattr(what, "fit")):
        return SklearnClassifier(what, device=device, **settings)
    if callable(what):
        return CallableClassifier(what, device=device, **settings)
    raise BrittleError(f"an object of type {type(what).__name__} is not a classifier", TAKEN)


def _configuration(module: nn.Module) -> Configuration:
    """What a module of timm or transformers says of itself; nothing for all others."""
    if is_timm(module):
        return timm_configuration(module)
    return transformers_configuration(module) if is_transformers(module) else Configuration()


def _load(loader: ClassifierLoader, device: str, options: Mapping[str, Any]) -> Classifier:
    changed: ClassifierLoader = _with(loader, options)
    return changed.load(device)


def loader_of(what: str | os.PathLike[str]) -> ClassifierLoader:
    """What loads the classifier that a spec, or the path of a model's file, names."""
    return classifiers.build(what if isinstance(what, str) else path_spec(printable(os.fspath(what))))


def _with(loader: Any, options: Mapping[str, Any]) -> Any:
    """The same loader with further options, named as in specs."""
    if not options:
        return loader
    known = {key.replace("-", "_"): key for key in options_of(type(loader))}
    for name in options:
        if name not in known:
            raise BrittleError(f"a classifier has no option {name!r}", did_you_mean(name, known))
    return dataclasses.replace(loader, **options)
