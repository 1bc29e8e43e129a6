"""Writes docs/nuisances.md and its pictures: every nuisance at five severities, on a photograph and a bundled image.

The photograph is scikit-learn's flower.jpg.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_sample_image

import brittle
from brittle.errors import BrittleError
from brittle.extras import extras
from brittle.nuisances import nuisances
from brittle.random import draw_keys
from brittle.registry import options_of
from brittle.registry.options import is_required
from brittle.types import Batch, Nuisance

HERE = Path(__file__).parent
SEVERITIES = (0.25, 0.5, 1.0, 1.5, 2.0)
TILE, GAP, DRAWS = 112, 4, 15


INTRODUCTION = f"""[Documentation](README.md) › measure

# Nuisances

Made by `make docs`. Each strip shows the untouched image, then one draw from the default prior (of the first
{DRAWS} the one that changes the image by the median amount) at the severities
{", ".join(f"{each:g}" for each in SEVERITIES)}; severity 1 is the draw itself. The photograph is `flower.jpg`
(flickr.com/photos/vultilion, CC BY 2.0) as it comes with scikit-learn; the other picture is from FashionMNIST, where
what is salient is so to `bundled:plain`.
Nuisances are joined by +, applied in order, with the product of their priors: `affine:alpha=50+noise:sigma=0.1`.
Not shown: `function`, which makes a nuisance of [any function or transform](how-to.md#use-any-function-as-a-nuisance).

**ImageNet-C's levels.** Blurs, JPEG, pixelation, weather and `elastic-transform` have a `level`, ImageNet-C's severity
1 to 5 or any number between and beyond (Hendrycks & Dietterich 2019); their prior varies it by the factor `spread`.
Noise, brightness, contrast and saturation take a `level` in place of their own strength. In both, severity multiplies
the level, so that with `level=1` (and `spread=0`) severity *is* ImageNet-C's. Lengths in pixels hold for a shorter
side of 224 and go with it (`scaled=false` keeps them). Frost is drawn, not ImageNet-C's photographs; rain, smog, dust
and sandstorm are not in ImageNet-C, and their levels are ours. A higher level is not always a larger change: from 3 to
4 frost changes a photograph by 34.5 instead of 35.5 % of the range of values, from 2.5 to 3 snow by 25.7 instead of
27.6 %, and from 2 to 3 elastic-transform by 5.2 instead of 18.9 % (`python benchmarks/levels.py`).
"""


def photograph() -> Batch:
    """1×3×224×224, cut from the middle."""
    pixels = torch.from_numpy(load_sample_image("flower.jpg").copy()).permute(2, 0, 1)[None].float() / 255
    square = pixels[..., :, (640 - 427) // 2 : (640 - 427) // 2 + 427]
    resized = torch.nn.functional.interpolate(square, (224, 224), mode="bilinear", antialias=True)
    return Batch(resized.clamp(0, 1), torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))


def bundled() -> Batch:
    """1×1×28×28: the first ankle boot of the sample, with what is salient to bundled:plain."""
    boots = brittle.image_set("sample").where("class=Ankle boot")
    batch, classifier = boots.batch([0]), brittle.classifier("bundled:plain")
    return batch._replace(extras={"saliency": extras.build("saliency").compute(classifier, batch)})


def strip(space: Nuisance, batch: Batch, stream: str) -> np.ndarray | None:
    """The untouched image, then one draw at each severity, side by side; None where it can't be applied."""
    if not space.needs <= batch.extras.keys():
        return None
    try:
        space.check(tuple(batch.images.shape[1:]))
    except BrittleError:
        return None
    draws = space.sample(batch, draw_keys(0, stream, batch.ids, torch.arange(DRAWS))).unbind(1)
    changes = [(space.apply(batch, theta) - batch.images).abs().mean() for theta in draws]
    theta = draws[int(torch.stack(changes).argsort()[DRAWS // 2])]
    shown = [batch.images] + [space.apply(batch, space.at(theta, severity, batch)) for severity in SEVERITIES]
    tiles = [
        torch.nn.functional.interpolate(
            image, (TILE, TILE), mode="nearest" if image.shape[-1] < TILE else "area"
        ).expand(1, 3, -1, -1)
        for image in shown
    ]
    white = torch.ones(1, 3, TILE, GAP)
    joined = torch.cat([part for tile in tiles for part in (tile, white)][:-1], -1)
    return (joined[0].permute(1, 2, 0).clamp(0, 1) * 255).round().byte().numpy()


def page() -> str:
    pictures = HERE / "images" / "nuisances"
    pictures.mkdir(parents=True, exist_ok=True)
    lines = [INTRODUCTION]
    for name in nuisances.names():
        kind = nuisances.get(name)
        if not kind.__module__.startswith("brittle.") or any(map(is_required, options_of(kind).values())):
            continue
        space = nuisances.build(name)
        strips = [
            found for found in (strip(space, photograph(), name), strip(space, bundled(), name)) if found is not None
        ]
        gap = np.full((GAP, strips[0].shape[1], 3), 255, dtype=np.uint8)
        sheet = np.concatenate([part for each in strips for part in (each, gap)][:-1])
        Image.fromarray(sheet).save(pictures / f"{name}.jpg", quality=85)
        lines += [f"## `{name}`", "", inspect.getdoc(kind) or "", ""]
        lines += [f"At its defaults, on 224×224 pixels: {space.describe(224, 224)}.", ""]
        lines += [f"Options: {', '.join(f'`{key}`' for key in options_of(kind))} ([reference](reference.md)).", ""]
        lines += [f"![{name} at five severities](images/nuisances/{name}.jpg)", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    target = HERE / "nuisances.md"
    target.write_text(page(), encoding="utf-8")
    print(f"wrote {target} and its pictures")
