"""Saliency beside another implementation of Grad-CAM, on one network: `python benchmarks/saliency.py`.

The peer is the package grad-cam (`pip install -c constraints.txt --no-deps grad-cam ttach`, in an environment of its
own, since it asks for much else). Both explain the class that bundled:plain, or a torch module named by `--classifier`,
predicts on every image. Compared are the maps, each scaled to a largest value of 1 as the peer does, and the masks that
`salient` makes of either: which share of the pixels is hidden by both or by neither.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import time

import torch
from torch import Tensor

import brittle
from brittle.extras import extras
from brittle.nuisances import nuisances
from brittle.random import draw_keys
from brittle.types import Batch

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
PEER = "grad-cam"


def ours(classifier: object, layer: str, batch: Batch) -> Tensor:
    """(B, H, W)"""
    return extras.build(f"saliency:layer={layer}").compute(classifier, batch)  # type: ignore[arg-type]


def peers(classifier: object, layer: str, batch: Batch) -> Tensor:
    """(B, H, W), each with a smallest value of 0 and a largest of 1, as grad-cam gives them."""
    library = torch.library.Library("torchvision", "DEF")  # without these torchvision, which the peer imports, fails
    for name in ("nms", "qnms"):  # to import beside a CPU build of torch
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    from pytorch_grad_cam import GradCAM

    module = classifier.module  # type: ignore[attr-defined]
    prepared = classifier.preprocess(batch.images)  # type: ignore[attr-defined]
    with GradCAM(model=module, target_layers=[module.get_submodule(layer)]) as cam:
        return torch.from_numpy(cam(input_tensor=prepared, targets=None))


def scaled(maps: Tensor) -> Tensor:
    """Smallest 0, largest 1, as grad-cam does before it enlarges its maps; a map of nothing but 0 stays."""
    least, most = maps.amin((1, 2), keepdim=True), maps.amax((1, 2), keepdim=True)
    return (maps - least) / (most - least).clamp(min=1e-12)


def agreement(first: Tensor, second: Tensor, batch: Batch, share: float, which: str) -> float:
    """The share of the pixels on which the two masks agree, given the same random order among equals."""
    space = nuisances.build(f"salient:share={share},which={which}")
    theta = space.sample(batch, draw_keys(0, "salient", batch.ids, torch.zeros(1, dtype=torch.int64)))[:, 0]
    masks = [space.mask(theta, batch._replace(extras={"saliency": maps})) for maps in (first, second)]  # type: ignore[attr-defined]
    return float((masks[0] == masks[1]).double().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classifier", default="bundled:plain", help="a spec of a torch module")
    parser.add_argument("--layer", default="layers.3", help="whose feature maps are weighed")
    parser.add_argument("--images", default="sample", help="an image set's spec")
    parser.add_argument("--count", type=int, default=256)
    given = parser.parse_args()
    classifier = brittle.classifier(given.classifier)
    batch = brittle.image_set(given.images).choose(given.count, 0).batch(range(given.count))
    classifier.log_probs(batch.images[:8])
    ours(classifier, given.layer, batch.take(torch.arange(16)))  # captum is imported
    start = time.perf_counter()
    own = ours(classifier, given.layer, batch)
    took = time.perf_counter() - start
    print(
        f"captum {importlib.metadata.version('captum')}, torch {torch.__version__}, {given.count} images: {took:.2f} s"
    )
    try:
        other = peers(classifier, given.layer, batch)
    except ImportError:
        print(f"{PEER} is not installed: nothing to compare with")
        return
    print(f"{PEER} {importlib.metadata.version(PEER)}")
    apart = (scaled(own) - other).abs()
    print(
        f"maps, scaled to [0, 1]: they differ by {float(apart.max()):.2g} at most, {float(apart.mean()):.2g} on average"
    )
    for which in ("most", "least"):
        shown = ", ".join(f"{share:g}: {agreement(own, other, batch, share, which):.5f}" for share in SHARES)
        print(f"share of pixels on which masks of the {which} salient agree, by hidden share: {shown}")


if __name__ == "__main__":
    main()
