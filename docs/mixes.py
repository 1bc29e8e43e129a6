"""Makes docs/images/mixes.png: two images, and what each mix makes of them."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import torch

import brittle
from brittle.mixing import mixes
from brittle.random import draw_keys
from brittle.types import Batch

HERE = Path(__file__).parent
DRAWS = 7
CLASSES = ("Ankle boot", "Dress")


def pair() -> Batch:
    """The first image of each class."""
    images = brittle.image_set("sample")
    first = [images.where(f"class={each}").batch([0]) for each in CLASSES]
    return Batch(*(torch.cat(each) for each in list(zip(*first, strict=True))[:3]))


def main() -> None:
    batch, names = pair(), ["mixup", "cutmix", "fmix", "random-masks", "cutout"]
    figure, axes = plt.subplots(len(names), DRAWS + 2, figsize=(9, 5.4), squeeze=False)
    for row, name in zip(axes, names, strict=True):
        mix = mixes.build(name)
        keys = draw_keys(0, "pictures", torch.arange(1), torch.arange(DRAWS))[0]
        masks = mix.masks(keys, 28, 28)
        other = batch.images[1] if mix.pairs else torch.zeros_like(batch.images[1])
        shown = [batch.images[0], other, *torch.lerp(other[None], batch.images[:1], masks)]
        titles = ["x", "x′", *(f"λ = {float(each):.2f}" if mix.pairs else "" for each in masks.mean((1, 2, 3)))]
        for axis, image, title in zip(row, shown, titles, strict=True):
            axis.imshow(image[0], cmap="gray", vmin=0, vmax=1)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_title(title, fontsize=8, pad=2)
        row[0].set_ylabel(name, fontsize=9)
    figure.tight_layout(pad=0.3)
    figure.savefig(HERE / "images" / "mixes.png", dpi=110)


if __name__ == "__main__":
    main()
