"""How fast images are generated: Brittle beside two plain loops over diffusers.

    python benchmarks/generation.py [--pipeline FOLDER] [--dtype float16] [--steps 50] [--seeds 50] [--at-once 300]
    python benchmarks/generation.py --tiny

All make the same images of one class under one shift: `seeds` × scales 0, 0.5 … 2.5, with a slider of rank 4.

- `plain, one at a time`: `load_lora_weights`, then for every seed and scale `set_adapters` and a call of the pipeline.
- `plain, batched by seed`: the same with all seeds in a call, scale by scale: peft has one scale for a whole batch.
- `brittle`: scales and seeds fill the batch; the steps before the slider sets in are shared by the scales of a seed.
- `brittle, nothing shared`: the same with the slider active in all steps, which the plain loops are too.

Contract: one warm-up of each, then `--turns` turns in which all take their turn, synchronised; medians with their
spread. The plain loop of single images makes only as many as take about as long as the others. Whether all make the
same images, slider active throughout, is checked first. Without --pipeline the small pipeline is used, untrained: its
speed is that of a trained one. Results: JSON on standard output.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from brittle.diffusion.collection import keep_slider
from brittle.diffusion.pipeline import TextToImage, load_pipeline
from brittle.diffusion.sampling import SamplingOptions, Wanted, late_steps, sampled
from brittle.diffusion.sliders import Sliders, fresh_sliders
from brittle.generation.small import SmallShape, small_pipeline

SCALES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
PROMPT = "a picture of a coat"
SINGLE = 6  # images of the loop that makes one at a time, per turn


class Made(NamedTuple):
    """Images (n, C, H, W), and how long they took."""

    images: Tensor
    seconds: float


def main() -> None:
    given = arguments()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    pipeline = loaded(given, device)
    sliders, file = one_slider(pipeline, Path(tempfile.mkdtemp()))
    compared = {
        "plain, one at a time": partial(plain, pipeline, file, given, one=True),
        "plain, batched by seed": partial(plain, pipeline, file, given, one=False),
        "brittle, nothing shared": partial(ours, pipeline, sliders, given, 1.0),
        "brittle": partial(ours, pipeline, sliders, given, given.active),
    }
    apart = difference(pipeline, sliders, file, given)
    rates = measured(compared, given.turns)
    first, second = (statistics.median(rates[name]) for name in list(compared)[:2])
    best = statistics.median(rates["brittle"])
    late = late_steps(given.steps, given.active)
    print(
        json.dumps(
            {
                "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
                "pipeline": given.pipeline or "small, untrained",
                "dtype": given.dtype,
                "steps": given.steps,
                "guidance": given.guidance,
                "seeds": given.seeds,
                "largest difference of pixels": apart,
                "images_per_second": {
                    name: {"median": statistics.median(each), "least": min(each), "most": max(each)}
                    for name, each in rates.items()
                },
                "times one at a time": best / first,
                "times batched by seed": best / second,
                "saved by shared early steps": 1 - statistics.median(rates["brittle, nothing shared"]) / best,
                "of its passes": 1 - (given.steps + (len(SCALES) - 1) * late) / (given.steps * len(SCALES)),
            },
            indent=1,
        )
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pipeline", help="a folder or a name; an untrained small pipeline by default")
    parser.add_argument("--dtype", choices=("float32", "float16", "bfloat16"), default="float32")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--guidance", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--at-once", type=int, default=300, help="images per batch, of Brittle and of the second loop")
    parser.add_argument("--active", type=float, default=0.75)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--tiny", action="store_true", help="a tiny network and a few images, to try it on a CPU")
    given = parser.parse_args()
    if given.tiny:
        given.steps, given.seeds, given.turns = 8, 4, 2
    return given


def loaded(given: argparse.Namespace, device: torch.device) -> TextToImage:
    if given.pipeline:
        return load_pipeline(given.pipeline, device=device, dtype=getattr(torch, given.dtype))
    shape = SmallShape(channels=(8, 8), width=16, heads=2) if given.tiny else SmallShape()
    made = small_pipeline(["coat", "fog"], shape)
    made.parts.to(device, getattr(torch, given.dtype))
    return made


def one_slider(pipeline: TextToImage, folder: Path) -> tuple[Sliders, Path]:
    """A slider of random weights, and its file."""
    made = fresh_sliders(pipeline.unet, ["coat in fog"], 4, [0])
    for low in made.layers.values():
        low.up.normal_(generator=torch.Generator(low.up.device).manual_seed(0)).mul_(0.02)
    return made.to(pipeline.device, pipeline.dtype), keep_slider(folder, "coat", "fog", made, 0, {})


def ours(pipeline: TextToImage, sliders: Sliders, given: argparse.Namespace, active: float) -> Made:
    options = SamplingOptions(steps=given.steps, guidance=given.guidance, active=active, images_at_once=given.at_once)
    wanted = [Wanted(0, seed, (scale,)) for scale in SCALES for seed in range(1, given.seeds + 1)]
    began = now(pipeline)
    found = sampled(pipeline, pipeline.embedded([PROMPT]), wanted, sliders, options)
    return Made(found, now(pipeline) - began)


def plain(pipeline: TextToImage, file: Path, given: argparse.Namespace, *, one: bool) -> Made:
    """Plain diffusers and peft. The adapter is loaded before the clock starts, and taken out after it has stopped."""
    parts = pipeline.parts
    parts.load_lora_weights(str(file), adapter_name="own")
    options: dict[str, Any] = {
        "num_inference_steps": given.steps,
        "guidance_scale": given.guidance,
        "output_type": "pt",
    }
    seeds = list(range(1, given.seeds + 1))
    found = []
    try:
        if one:
            asked = [(SCALES[place % len(SCALES)], [seeds[place]]) for place in range(min(SINGLE, given.seeds))]
        else:
            parted = [seeds[at : at + given.at_once] for at in range(0, len(seeds), given.at_once)]
            asked = [(scale, part) for scale in SCALES for part in parted]
        began = now(pipeline)
        for scale, part in asked:
            parts.set_adapters(["own"], [scale])
            drawn = [torch.Generator().manual_seed(seed) for seed in part]
            found.append(parts([PROMPT] * len(part), generator=drawn, **options).images.float().cpu())
        seconds = now(pipeline) - began
    finally:
        parts.unload_lora_weights()
    return Made(torch.cat(found), seconds)


def now(pipeline: TextToImage) -> float:
    """The time once the device has done all that it was asked."""
    if pipeline.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def difference(pipeline: TextToImage, sliders: Sliders, file: Path, given: argparse.Namespace) -> float:
    """Of pixels in [0, 1], between Brittle's images and those of plain diffusers, the slider active throughout."""
    few = argparse.Namespace(**{**vars(given), "seeds": min(3, given.seeds)})
    both = ours(pipeline, sliders, few, 1.0).images, plain(pipeline, file, few, one=False).images
    return float((both[0] - both[1]).abs().max())


def measured(compared: dict[str, Callable[[], Made]], turns: int) -> dict[str, list[float]]:
    """Images per second, turn by turn; the first turn warms up."""
    rates: dict[str, list[float]] = {name: [] for name in compared}
    for turn in range(turns + 1):
        for name, make in compared.items():
            made = make()
            if turn:
                rates[name].append(len(made.images) / made.seconds)
    return rates


if __name__ == "__main__":
    main()
