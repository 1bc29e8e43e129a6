"""What is generated, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.registry.options import option

PRESETS = ("cns-bench", "ood-cv", "few-classes", "all-classes")
MOST_SEEDS = 999_999


@dataclass(frozen=True)
class GenerateOptions:
    """The options of the measure `generate`. A preset gives what is not given otherwise.

    More classes, shifts and seeds extend what there is."""

    pipeline: str | None = option(
        None, "a folder that save_pretrained of diffusers wrote, or a name on the hub", positional=True, rows=False
    )
    preset: Literal["cns-bench", "ood-cv", "few-classes", "all-classes"] | None = option(
        None, "settings of the paper, for all that is not given", rows=False
    )
    classes: str | tuple[str, ...] = option((), "class names a/b/c, or a text file with one per line", extends=True)
    labels: tuple[int, ...] = option((), "the classes' labels, 3/17/240; 0, 1, 2, … by default", extends=True)
    sliders: str | None = option(None, "the folder of sliders", rows=False)
    shifts: str | tuple[str, ...] = option(
        (), "these shifts, a/b/c; a+b moves two sliders together; all that there are sliders for by default",
        extends=True,
    )  # fmt: skip
    tokens: str | None = option(
        None, "the folder of learned words, one per class; without it classes go by name", rows=False
    )
    seeds: int | None = option(
        None, "images per class at scale 0: that many seeds; 20 by default", least=1, most=MOST_SEEDS, extends=True
    )
    first_seed: int = option(
        1, "the first of them, such as 1001 for images that share no noise with others", least=1, most=MOST_SEEDS,
        extends=True,
    )  # fmt: skip
    scales: tuple[float, ...] = option((), "above 0, rising; 0.5, 1, 1.5, 2 and 2.5 by default", above=0)
    template: str = option("a picture of a {class}", "what is asked for, with {class} in it")
    steps: int | None = option(None, "noise steps; 50 by default", least=1)
    guidance: float | None = option(
        None, "classifier-free guidance; 1, none, by default. Stable Diffusion is used with 7.5", least=1
    )
    sampler: Literal["own", "ddim", "unipc"] | None = option(
        None, "ddim, unipc, or own, the pipeline's scheduler, by default"
    )
    active: float | None = option(
        None, "share of the noise steps, the last, in which sliders are active; 0.75 by default", least=0, most=1
    )
    dtype: Literal["float32", "float16", "bfloat16"] = option("float32", "numbers that the pipeline computes in")
    crop: int | None = option(None, "crop the central square of this many pixels", least=1)
    format: Literal["jpg", "png"] = option("jpg", "of the files: jpg, as CNS-Bench's are, or png, without losses")
    quality: int = option(95, "of jpg files", least=1, most=100)
    at_once: int = option(64, "images per batch of the pipeline; halved where memory runs out", least=1, rows=False)
    folder: str | None = option(
        None, "where the benchmark is written, in CNS-Bench's layout, once all images are there", rows=False
    )
    weights: str = option("", "a hash of the pipeline's weights, found by itself: others are another run")
