"""Trains the small pipeline, a token per class and a slider per class and shift, and looks at what comes of them.

    python papers/cns2025/generated/train.py OUT --fashion FOLDER --mnist FOLDER [--limit 400]

With a limit, each part ends with its share of these seconds, its learning rate brought to 0. What is finished is in OUT
at once: pipeline.tar, tokens.tar, sliders.tar, numbers.json and grid.png. On a CPU, --tiny tries it in a minute.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tarfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from brittle.classifiers.bundled import FASHION_LABELS, BundledLoader
from brittle.diffusion.collection import keep_slider, slider_file
from brittle.diffusion.pipeline import TextToImage
from brittle.diffusion.prompts import CLASS_PROMPT, SHIFT_PROMPT, prompt
from brittle.diffusion.sampling import SamplingOptions, Wanted, sampled
from brittle.diffusion.sliders import Sliders
from brittle.diffusion.tokens import write_token
from brittle.generation.small import SmallShape, parameters_of, small_pipeline
from brittle.diffusion.train_sliders import SliderOptions, SliderTask, made_latents, train_sliders
from brittle.generation.train_small import DIGITS, SHIFTS, SmallTraining, shifted_pictures, train_small
from brittle.diffusion.train_tokens import TokenOptions, token_of, train_tokens
from brittle.images.idx import read_idx

CLASSES = tuple(name.lower() for name in FASHION_LABELS)
SCALES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
SHARES = {"pipeline": 0.62, "tokens": 0.06, "sliders": 0.18}
CROP = 2  # pixels of border around 28×28


def main() -> None:
    given = _arguments()
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    run = Run(out, given.limit, given.tiny)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    fashion, digits = (_read(Path(folder), 256 if given.tiny else None) for folder in (given.fashion, given.mnist))
    pipeline = _pipeline(run, fashion, digits, device)
    tokens = _tokens(run, pipeline, fashion)
    sliders = _sliders(run, pipeline, tokens)
    _look(run, pipeline, tokens, sliders)
    _speed(run, pipeline, tokens, sliders)


class Run:
    """The clock, the folder, and the numbers so far."""

    def __init__(self, out: Path, limit: float | None, tiny: bool) -> None:
        self.out, self.limit, self.tiny = out, limit, tiny
        self.began, self.numbers = time.monotonic(), dict[str, Any]()

    def seconds(self, part: str) -> float | None:
        return None if self.limit is None else SHARES[part] * self.limit

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def keep(self, **numbers: Any) -> None:
        self.numbers |= numbers
        (self.out / "numbers.json").write_text(json.dumps(self.numbers, indent=1))

    def every(self, count: int, what: str) -> Any:
        def said(step: int, losses: Tensor) -> None:
            if step == 1 or step % count == 0:
                self.say(f"{what}: step {step}, loss {float(losses.mean()):.5f}")

        return said


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("out")
    parser.add_argument("--fashion", required=True, help="folder with FashionMNIST's idx files")
    parser.add_argument("--mnist", required=True, help="folder with MNIST's idx files")
    parser.add_argument("--limit", type=float, help="seconds for all of it")
    parser.add_argument("--tiny", action="store_true", help="a few steps of each part")
    return parser.parse_args()


def _read(folder: Path, count: int | None) -> tuple[Tensor, Tensor]:
    images, labels = (read_idx(folder / f"train-{name}.gz") for name in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    return torch.from_numpy(np.array(images[:count])), torch.from_numpy(np.array(labels[:count])).long()


def _pipeline(
    run: Run, fashion: tuple[Tensor, Tensor], digits: tuple[Tensor, Tensor], device: torch.device
) -> TextToImage:
    shape = SmallShape(channels=(16, 32), width=16, heads=2) if run.tiny else SmallShape()
    pipeline = small_pipeline([*CLASSES, *DIGITS, *SHIFTS], shape)
    pipeline.parts.to(device)
    images = torch.cat([fashion[0], digits[0]])
    labels = torch.cat([fashion[1], digits[1] + len(CLASSES)])
    pictures = shifted_pictures(images, labels, (*CLASSES, *DIGITS), SHIFTS, device)
    run.say(f"{len(images)} images under {len(SHIFTS)} shifts; {parameters_of(pipeline)} parameters on {device}")
    fast = device.type == "cuda"
    options = SmallTraining(compile=fast, bf16=fast)
    if run.tiny:
        options = SmallTraining(training_steps=4, batch=8)
    began = time.monotonic()
    steps = train_small(pipeline, pictures, options, limit=run.seconds("pipeline"), said=run.every(100, "pipeline"))
    run.keep(pipeline={"steps": steps, "seconds": time.monotonic() - began, "parameters": parameters_of(pipeline)})
    _save(run, pipeline)
    return pipeline


def _save(run: Run, pipeline: TextToImage) -> None:
    """In half precision, as one file; the pipeline itself goes on in single precision."""
    networks = [pipeline.parts.unet, pipeline.parts.text_encoder]
    for each in networks:
        each.half()
    pipeline.parts.save_pretrained(run.out / "pipeline", safe_serialization=True)
    for each in networks:
        each.float()
    _packed(run.out / "pipeline")
    run.say("pipeline.tar")


def _packed(folder: Path) -> None:
    with tarfile.open(folder.with_suffix(".tar"), "w") as packed:
        packed.add(folder, folder.name)


def _tokens(run: Run, pipeline: TextToImage, fashion: tuple[Tensor, Tensor]) -> dict[str, str]:
    images, labels = fashion
    border = torch.nn.functional.pad(images, (CROP,) * 4).float()[:, None] / 255
    by_class = {name: border[labels == place][:2000] for place, name in enumerate(CLASSES)}
    options = TokenOptions(training_steps=2, batch=2) if run.tiny else TokenOptions()
    found = train_tokens(pipeline, by_class, options, limit=run.seconds("tokens"), said=run.every(50, "tokens"))
    tokens = {name: token_of(name) for name in CLASSES}
    for name, token in tokens.items():
        about = {"class": name, "template": CLASS_PROMPT}
        (run.out / "tokens").mkdir(exist_ok=True)
        write_token(run.out / "tokens" / f"{token.strip('<>')}.safetensors", token, found[token], about)
    _packed(run.out / "tokens")
    return tokens


def _sliders(run: Run, pipeline: TextToImage, tokens: dict[str, str]) -> Sliders:
    tasks = [
        SliderTask(f"{token.strip('<>')}+{shift}", prompt(CLASS_PROMPT, token), prompt(SHIFT_PROMPT, token, shift))
        for token in tokens.values()
        for shift in SHIFTS
    ]
    options = SliderOptions(batch=24)
    sampling = SamplingOptions(steps=25, images_at_once=1000)
    if run.tiny:
        options, tasks = SliderOptions(batch=2, training_steps=2, pool=2), tasks[:2]
        sampling = SamplingOptions(steps=2)
    prompts = list(dict.fromkeys(task.prompt for task in tasks))
    pools = made_latents(pipeline, prompts, options, sampling)
    run.say(f"{len(prompts)} pools of {options.pool} images")
    began, steps = time.monotonic(), [0]
    shown = run.every(25, "sliders")

    def said(step: int, losses: Tensor) -> None:
        steps[0] = step
        shown(step, losses)

    sliders = train_sliders(pipeline, tasks, pools, options, limit=run.seconds("sliders"), said=said)
    run.keep(sliders={"count": len(sliders), "steps": steps[0], "seconds": time.monotonic() - began})
    (run.out / "sliders").mkdir(exist_ok=True)
    halves = sliders.to(pipeline.device, torch.float16)
    for place, (name, shift) in enumerate(itertools.product(tokens, SHIFTS)):
        if place < len(tasks):
            task = tasks[place]
            about = {"prompt": task.prompt, "shifted": task.shifted, "eta": str(options.eta), "target": options.target}
            keep_slider(run.out / "sliders", name, shift, halves, place, about)
    _packed(run.out / "sliders")
    run.say("sliders.tar")
    return sliders


def _accuracy(images: Tensor, labels: Tensor) -> float:
    plain = BundledLoader(name="plain").load("cpu")
    inner = images[:, :, CROP:-CROP, CROP:-CROP].contiguous()
    return float((plain.log_probs(inner).argmax(1) == labels).float().mean())


def _look(run: Run, pipeline: TextToImage, tokens: dict[str, str], sliders: Sliders) -> None:
    """Accuracy of bundled:plain with and without tokens; by shift and scale, accuracy and distance from scale 0."""
    seeds = range(1, 3) if run.tiny else range(1, 51)
    sampling = SamplingOptions(steps=2 if run.tiny else 50, images_at_once=1000)
    for words, called in ((tuple(tokens.values()), "tokens"), (CLASSES, "names")):
        for guidance in (1.0,) if called == "names" else (1.0, 2.0):
            embedded = pipeline.embedded([prompt(CLASS_PROMPT, word) for word in words])
            wanted = [Wanted(place, seed, ()) for place in range(len(words)) for seed in seeds]
            images = sampled(
                pipeline, embedded, wanted, None, SamplingOptions(**{**vars(sampling), "guidance": guidance})
            )
            right = _accuracy(images, torch.tensor([each.words for each in wanted]))
            run.keep(**{f"accuracy with {called}, guidance {guidance:g}": right})
            run.say(f"bundled:plain on images by {called}, guidance {guidance:g}: {right:.3f}")
    embedded = pipeline.embedded([prompt(CLASS_PROMPT, token) for token in tokens.values()])
    names = [token.strip("<>") for token in tokens.values()]
    rows, lines = [], []
    for shift in SHIFTS:
        there = [place for place, name in enumerate(names) if f"{name}+{shift}" in sliders.names]
        if not there:
            continue
        own = sliders.take([sliders.names.index(f"{names[place]}+{shift}") for place in there])
        wanted = [
            Wanted(place, seed, tuple(scale if one == line else 0.0 for one in range(len(there))))
            for scale in SCALES
            for line, place in enumerate(there)
            for seed in seeds[:8]
        ]
        images = sampled(pipeline, embedded, wanted, own, sampling).view(len(SCALES), -1, 1, 32, 32)
        labels = torch.tensor([place for place in there for _ in seeds[:8]])
        for scale, made in zip(SCALES, images, strict=True):
            away = float((made - images[0]).square().mean((1, 2, 3)).sqrt().mean())
            rows.append({"shift": shift, "scale": scale, "accuracy": _accuracy(made, labels), "distance": away})
        shown = images.view(len(SCALES), len(there), -1, 32, 32)[:, ::3, 0]
        lines.append(torch.cat([torch.cat(list(each), 1) for each in shown.transpose(0, 1)], 1))
        run.say(f"{shift}: " + ", ".join(f"{row['accuracy']:.2f}" for row in rows[-len(SCALES) :]))
        run.keep(scales=rows)
        grid = torch.cat(lines).mul(255).round().to(torch.uint8).numpy()
        Image.fromarray(grid).resize((grid.shape[1] * 2, grid.shape[0] * 2), 0).save(run.out / "grid.png")


def _speed(run: Run, pipeline: TextToImage, tokens: dict[str, str], sliders: Sliders) -> None:
    """Images per second of a plain diffusers loop, one image at a time and batched by seed, and of ours."""
    if run.limit is not None and time.monotonic() - run.began > 0.97 * run.limit:
        return
    word = prompt(CLASS_PROMPT, next(iter(tokens.values())))
    steps, seeds = (2, 2) if run.tiny else (50, 50)
    found = {}

    def timed(name: str, images: int, make: Any) -> None:
        began = time.monotonic()
        make()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        found[name] = images / (time.monotonic() - began)
        run.say(f"{name}: {found[name]:.1f} images/s")
        run.keep(images_per_second=found)

    embedded, own = pipeline.embedded([word]), sliders.take([0])
    wanted = [Wanted(0, seed, (scale,)) for seed in range(1, seeds + 1) for scale in SCALES]
    for name, active in (("ours", 0.75), ("ours, no early steps shared", 1.0)):
        options = SamplingOptions(steps=steps, images_at_once=1000, active=active)
        sampled(pipeline, embedded, wanted, own, options)
        timed(name, len(wanted), partial(sampled, pipeline, embedded, wanted, own, options))
    file = slider_file(run.out / "sliders", CLASSES[0], next(iter(SHIFTS)))
    pipeline.parts.load_lora_weights(str(file), adapter_name="own")

    def plain(scale: float, chosen: list[int]) -> None:
        pipeline.parts.set_adapters(["own"], [scale])
        drawn = [torch.Generator().manual_seed(seed) for seed in chosen]
        pipeline.parts([word] * len(chosen), num_inference_steps=steps, guidance_scale=1, generator=drawn)

    plain(1.0, [1])
    timed("plain, one at a time", 4, lambda: [plain(1.0, [seed]) for seed in range(1, 5)])
    timed("plain, batched by seed", seeds * len(SCALES), lambda: [plain(s, list(range(1, seeds + 1))) for s in SCALES])


if __name__ == "__main__":
    main()
