"""A tiny text-to-image pipeline with random weights, with sliders and learned words, in folders."""

from __future__ import annotations

from pathlib import Path

import torch

import brittle

CLASSES, SHIFTS = ("shirt", "bag"), ("fog", "snow")
# A process of its own in which diffusers can be imported beside a CPU build of torch; see the fixture `torchvision`.
DECLARED = """
import torch
try:
    import torchvision
except RuntimeError:
    kept = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        kept.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
except ImportError:
    pass
"""


def tiny_pipeline(folder: Path) -> Path:
    """`folder/pipeline`, and in `folder/sliders` one for every class and shift."""
    from brittle.diffusion.collection import keep_slider
    from brittle.diffusion.sliders import fresh_sliders
    from brittle.generation.small import SmallShape, small_pipeline

    made = small_pipeline([*CLASSES, *SHIFTS], SmallShape(channels=(8, 8), width=16, heads=2))
    made.parts.save_pretrained(folder / "pipeline")
    pairs = [(name, shift) for name in CLASSES for shift in SHIFTS]
    sliders = fresh_sliders(made.unet, [f"{name} in {shift}" for name, shift in pairs], 2, range(len(pairs)))
    generator = torch.Generator().manual_seed(0)
    for low in sliders.layers.values():
        low.up.normal_(generator=generator).mul_(0.3)  # as made, a slider changes nothing
    for place, (name, shift) in enumerate(pairs):
        keep_slider(folder / "sliders", name, shift, sliders, place, {})
    return folder


def generated(tiny, out, **options):
    """A small benchmark by the pipeline and the sliders of a folder."""
    asked = {"classes": "/".join(CLASSES), "sliders": tiny / "sliders", "seeds": 2, "steps": 4, "format": "png"}
    return brittle.generate(tiny / "pipeline", **{**asked, "out": out, "device": "cpu", "progress": False, **options})
