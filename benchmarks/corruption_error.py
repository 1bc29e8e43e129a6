"""mCE beside easyrobust's `evaluate_imagenet_c`, on one made-up folder in ImageNet-C's layout, as a Markdown table.

    python benchmarks/corruption_error.py

Needs easyrobust, timm and torchvision, which the package does not (`pip install -c constraints.txt timm torchvision`,
and `pip install --no-deps easyrobust`, which asks for much else). Seeded. Fifteen corruptions, five severities, six
classes with a colour each and noise that grows with severity, and linear classifiers that are good, fair and bad at
telling them apart. Neither is given images at scale 0: the peer's function has no use for any.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

import brittle
from brittle.statistics.corruption_error import ALEXNET

CLASSES, IMAGES, SIDE = 6, 8, 16
PEER = "easyrobust"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # what the peer normalises by
WEIGHTS = {"good": 0.02, "fair": 0.1, "bad": 0.5}  # how much noise a classifier's own colours have


def peer() -> Any:
    """The module of the peer's function, without the rest of its package, which imports attacks."""
    package = importlib.util.find_spec(PEER)
    if package is None or not package.submodule_search_locations:
        sys.exit("easyrobust is not installed: pip install --no-deps easyrobust")
    library = torch.library.Library("torchvision", "DEF")  # without these torchvision fails to import beside a CPU
    with contextlib.suppress(RuntimeError):  # build of torch; other builds have them
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    file = Path(package.submodule_search_locations[0]) / "benchmarks" / "ood" / "imagenet_c.py"
    spec = importlib.util.spec_from_file_location("easyrobust_imagenet_c", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.kept = library
    return module


class ByColour(nn.Module):
    """The class whose colour is nearest to the image's mean; takes normalised images (B, 3, H, W)."""

    def __init__(self, colours: Tensor) -> None:
        super().__init__()
        self.colours = nn.Parameter((colours - torch.tensor(MEAN)) / torch.tensor(STD))

    def forward(self, images: Tensor) -> Tensor:
        return -torch.cdist(images.mean((2, 3)), self.colours)


def write(root: Path, colours: Tensor, random: np.random.Generator) -> None:
    """CORRUPTION/SEVERITY/CLASS/FILE: a corruption has a strength of its own, which severity multiplies."""
    for corruption in ALEXNET:
        strength = random.uniform(0.02, 0.12)
        for severity in range(1, 6):
            for label in range(CLASSES):
                folder = root / corruption / str(severity) / f"class{label}"
                folder.mkdir(parents=True)
                for number in range(IMAGES):
                    moved = colours[label].numpy() + severity * strength * random.standard_normal(3)
                    pixels = np.broadcast_to(moved.clip(0, 1) * 255, (SIDE, SIDE, 3)).round().astype(np.uint8)
                    Image.fromarray(pixels).save(folder / f"{number}.png")


def main() -> None:
    module, random = peer(), np.random.default_rng(0)
    colours = torch.from_numpy(random.uniform(0.2, 0.8, (CLASSES, 3))).float()
    print(f"{PEER} {importlib.metadata.version(PEER)}\n")
    print(f"| classifier | mCE, Brittle | mCE, {PEER} | distance |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), colours, random)
        for name, noise in WEIGHTS.items():
            own = colours + noise * torch.from_numpy(random.standard_normal((CLASSES, 3))).float()
            network = ByColour(own).eval()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                _, theirs = module.evaluate_imagenet_c(network, folder)
            known = brittle.classifier(network, output="logits", mean=MEAN, std=STD)
            found = brittle.corruption_error(
                {name: known}, f"imagenet-c:{folder}", reference="imagenet-c:alexnet", resamples=100
            )
            print(f"| {name} | {found['mce']:.6f} | {theirs:.6f} | {abs(found['mce'] - theirs):.1e} |")


if __name__ == "__main__":
    main()
