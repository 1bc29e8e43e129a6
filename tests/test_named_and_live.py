"""What people bring, measured by name and live: the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn

import brittle
from brittle.images import image_set

pytestmark = pytest.mark.warned("is near chance on the untouched images")

COLOURS = np.random.default_rng(0).integers(0, 256, (8, 32, 32, 3), dtype=np.uint8)


def measured(classifier: Any, images: Any) -> dict[str, Any]:
    found = brittle.measure(classifier, images, nuisances="affine:alpha=50", samples=3)
    return {key: found[key] for key in ("rho", "interval", "accuracy_clean", "accuracy_nuisance")}


def drawn(make: Any) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(4)
        module: nn.Module = make().eval()
    return module


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    for place, pixels in enumerate(COLOURS):
        file = tmp_path / "photographs" / f"class {place % 2}" / f"{place}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(file)
    return tmp_path / "photographs"


def test_a_timm_model(torchvision: Any, tmp_path: Path) -> None:
    import timm

    live = drawn(lambda: timm.create_model("test_resnet", pretrained=False, num_classes=2))
    save_file(live.state_dict(), tmp_path / "mine.safetensors")
    named = f"timm:test_resnet,weights={tmp_path}/mine.safetensors,arguments=num_classes=2"
    assert measured(named, (COLOURS, np.arange(8) % 2)) == measured(live, (COLOURS, np.arange(8) % 2))


def test_a_torchvision_module(torchvision: Any, tmp_path: Path) -> None:
    live = drawn(lambda: torchvision.models.squeezenet1_1(num_classes=2))
    save_file(live.state_dict(), tmp_path / "mine.safetensors")
    own = "size=32,mean=0.5,std=0.2"
    named = f"torchvision:squeezenet1_1,weights={tmp_path}/mine.safetensors,arguments=num_classes=2,{own}"
    prepared = brittle.classifier(live, size=32, mean=0.5, std=0.2)
    assert measured(named, (COLOURS, np.arange(8) % 2)) == measured(prepared, (COLOURS, np.arange(8) % 2))


def test_an_image_folder(torchvision: Any, photographs: Path) -> None:
    network = drawn(lambda: nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(48, 2)))
    named = image_set(f"folder:{photographs}")
    live = image_set(torchvision.datasets.ImageFolder(photographs), ids=named.ids)
    assert live.classes == named.classes == ("class 0", "class 1")
    assert measured(network, live) == measured(network, named)
