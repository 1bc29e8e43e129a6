"""Which sliders are trained, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.diffusion.options import SliderOptions
from brittle.registry.options import option


@dataclass(frozen=True, kw_only=True)
class TrainSlidersOptions(SliderOptions):
    """The options of the measure `train-sliders`. A preset gives what is not given otherwise.

    More classes and shifts extend what there is."""

    pipeline: str | None = option(
        None, "a folder that save_pretrained of diffusers wrote, or a name on the hub", positional=True, rows=False
    )
    preset: Literal["cns-bench", "ood-cv", "few-classes", "all-classes"] | None = option(
        None, "settings of the paper, for all that is not given", rows=False
    )
    classes: str | tuple[str, ...] = option((), "class names a/b/c, or a text file with one per line", extends=True)
    shifts: str | tuple[str, ...] = option((), "the shifts, a/b/c, as prompts name them", extends=True)
    tokens: str | None = option(
        None, "the folder of learned words, one per class; without it classes go by name", rows=False
    )
    template: str = option("a picture of a {class}", "the prompt that a slider starts from")
    shifted_template: str = option("a picture of a {class} in {shift}", "the prompt that it leads to")
    steps: int | None = option(None, "noise steps of the images that are trained on; 50 by default", least=1)
    guidance: float | None = option(None, "classifier-free guidance of these; 1, none, by default", least=1)
    sampler: Literal["own", "ddim", "unipc"] | None = option(
        None, "of these: ddim, unipc, or own, the pipeline's scheduler, by default"
    )
    together: int = option(4, "sliders trained side by side, at most", least=1, rows=False)
    at_once: int = option(64, "images per batch where the pipeline makes images", least=1, rows=False)
    folder: str | None = option(None, "where sliders are written, a file each, once all are trained", rows=False)
    state: str | None = option(None, "a folder for what is half trained, so that a kill loses little", rows=False)
    weights: str = option("", "a hash of the pipeline's weights, found by itself: others are another run")
