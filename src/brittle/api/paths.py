"""Paths where a spec may stand: `Path("photos")` is a folder of images, `Path("model.onnx")` a classifier."""

from __future__ import annotations

import os
from typing import Any

from brittle.classifiers.model_files import path_spec as classifier_spec
from brittle.files import printable
from brittle.images import path_spec as images_spec


def given_images(what: Any) -> Any:
    """The spec of what lies at a path, so that a run knows it again; anything else as it is."""
    return images_spec(printable(os.fspath(what))) if isinstance(what, os.PathLike) else what


def given_classifier(what: Any) -> Any:
    """The same of a classifier."""
    return classifier_spec(printable(os.fspath(what))) if isinstance(what, os.PathLike) else what
