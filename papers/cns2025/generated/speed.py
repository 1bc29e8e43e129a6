"""Images per second: scales and seeds in one batch, against a plain diffusers loop, one image at a time and by seed."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import torch
from train import loaded
from work import CLASSES, SCALES, Work

from brittle.diffusion.collection import slider_file
from brittle.diffusion.prompts import CLASS_PROMPT, prompt
from brittle.diffusion.sampling import SamplingOptions, Wanted, sampled
from brittle.diffusion.sliders import read_slider
from brittle.diffusion.train_tokens import token_of

SINGLE = 4  # images of the loop that does one at a time


def speed(work: Work) -> None:
    """One class and shift; everything is done once before the clock runs."""
    made, rows, steps = loaded(work, with_tokens=True), [], work.sizes.steps
    seeds = 2 if work.tiny else 50
    word = prompt(CLASS_PROMPT, token_of(CLASSES[0]))
    file = slider_file(work.folder / "sliders", CLASSES[0], work.sizes.shifts[0])
    embedded, own = made.embedded([word]), read_slider(file).to(made.device, made.dtype)
    wanted = [Wanted(0, seed, (scale,)) for seed in range(1, seeds + 1) for scale in SCALES]

    def timed(name: str, images: int, make: Callable[[], object]) -> None:
        _waited()
        began = time.monotonic()
        make()
        _waited()
        seconds = time.monotonic() - began
        rows.append({"way": name, "images": images, "steps": steps, "images_per_second": images / seconds})
        work.say(f"{name}: {images / seconds:.1f} images/s")

    for name, active in (("brittle", 0.75), ("brittle, no early steps shared", 1.0)):
        options = SamplingOptions(steps=steps, images_at_once=work.sizes.at_once, active=active)
        make = partial(sampled, made, embedded, wanted, own, options)
        make()
        timed(name, len(wanted), make)
    made.parts.load_lora_weights(str(file.parent), weight_name=file.name, adapter_name="own")

    def plain(scale: float, chosen: list[int]) -> None:
        made.parts.set_adapters(["own"], [scale])
        drawn = [torch.Generator().manual_seed(seed) for seed in chosen]
        made.parts([word] * len(chosen), num_inference_steps=steps, guidance_scale=1, generator=drawn)

    every = list(range(1, seeds + 1))
    plain(1.0, [1])
    timed("diffusers, one image at a time", SINGLE, lambda: [plain(1.0, [seed]) for seed in every[:SINGLE]])
    plain(1.0, every)
    timed("diffusers, batched by seed", len(wanted), lambda: [plain(scale, every) for scale in SCALES])
    work.write("speed", rows)


def _waited() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
