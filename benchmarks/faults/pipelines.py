"""A tiny text-to-image pipeline with random weights and sliders, for `brittle generate`."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

CLASSES, SHIFT = ("shirt", "bag"), "fog"
_KEPT: list[Any] = []  # what would be undone if it were not kept


def make_pipeline(folder: Path) -> None:
    """`folder/pipeline` and `folder/sliders`, made by a process of its own: diffusers leaves threads behind, and who
    forks later must have none."""
    maker = multiprocessing.get_context("fork").Process(target=_make, args=(folder,))
    maker.start()
    maker.join()
    assert maker.exitcode == 0, maker.exitcode


def _make(folder: Path) -> None:
    import torch

    from brittle.diffusion.collection import keep_slider
    from brittle.diffusion.sliders import fresh_sliders
    from brittle.generation.small import SmallShape, small_pipeline

    made = small_pipeline([*CLASSES, SHIFT], SmallShape(channels=(8, 8), width=16, heads=2))
    made.parts.save_pretrained(folder / "pipeline")
    sliders = fresh_sliders(made.unet, [f"{name} in {SHIFT}" for name in CLASSES], 2, range(len(CLASSES)))
    generator = torch.Generator().manual_seed(0)
    for low in sliders.layers.values():
        low.up.normal_(generator=generator).mul_(0.3)  # as made, a slider changes nothing
    for place, name in enumerate(CLASSES):
        keep_slider(folder / "sliders", name, SHIFT, sliders, place, {})


def import_diffusers() -> None:
    """All that a pipeline is loaded with. It fails for want of two operators beside a torchvision that does not fit a
    CPU build of torch; they are declared here, and nothing uses them."""
    import torch

    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        _KEPT.append(torch.library.Library("torchvision", "DEF"))
        for name in ("nms", "qnms"):
            _KEPT[0].define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    except ImportError:
        pass
    from diffusers import AutoencoderTiny, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel  # noqa: F401
    from transformers import CLIPTextModel, PreTrainedTokenizerFast  # noqa: F401
