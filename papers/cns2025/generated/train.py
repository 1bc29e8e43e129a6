"""The small pipeline, a token per class and a slider per class and shift are trained; a part that is there is kept."""

from __future__ import annotations

import itertools
import shutil
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from work import BORDER, CLASSES, Work, recall, remember

from brittle.diffusion.collection import keep_slider
from brittle.diffusion.generator import Generator
from brittle.diffusion.options import SliderOptions, TokenOptions
from brittle.diffusion.pipeline import TextToImage, load_pipeline
from brittle.diffusion.prompts import CLASS_PROMPT, SHIFT_PROMPT, prompt
from brittle.diffusion.sampling import SamplingOptions
from brittle.diffusion.sliders import Sliders
from brittle.diffusion.tokens import load_tokens, write_token
from brittle.diffusion.train_sliders import SliderTask, made_latents, train_sliders
from brittle.diffusion.train_tokens import token_of, train_tokens
from brittle.generation.small import SmallShape, parameters_of, small_pipeline
from brittle.generation.train_small import DIGITS, SHIFTS, SmallTraining, train_small

PIPELINE_SECONDS, TOKEN_SECONDS, SLIDER_SECONDS = 265.0, 30.0, 300.0  # at most, on a GPU: rates fall to 0 by then
PER_CLASS = 2000  # images that a token is learned from


def pipeline(work: Work) -> None:
    """Weights go to WORK/pipeline in half precision."""
    shape = SmallShape(channels=(16, 32), width=16, heads=2) if work.tiny else SmallShape()
    made = small_pipeline([*CLASSES, *DIGITS, *SHIFTS], shape)
    made.parts.to(work.device)
    pictures = work.captioned(work.fashion(), work.digits())
    work.say(f"{len(pictures.labels)} images under {len(SHIFTS)} shifts; {parameters_of(made)} parameters")
    fast = work.device.type == "cuda"
    options = SmallTraining(training_steps=6, batch=8) if work.tiny else SmallTraining(compile=fast, bf16=fast)
    began = time.monotonic()
    steps = train_small(
        made, pictures, options, limit=PIPELINE_SECONDS if fast else None, said=work.every(100, "pipeline")
    )
    seconds = time.monotonic() - began
    networks = [made.parts.unet, made.parts.text_encoder]
    for each in networks:
        each.half()
    made.parts.save_pretrained(work.folder / "pipeline", safe_serialization=True)
    shutil.copy(Path(__file__).parent / "pipeline" / "README.md", work.folder / "pipeline" / "README.md")
    work.pack("pipeline")
    keep(work, "pipeline", steps=steps, seconds=seconds, parameters=parameters_of(made), images=len(pictures.labels))


def tokens(work: Work) -> None:
    """One learned word per class, in WORK/tokens."""
    made, fashion = loaded(work), work.fashion()
    images = pad(fashion.images, (BORDER,) * 4).float()[:, None] / 255
    by_class = {name: images[fashion.labels == place][:PER_CLASS] for place, name in enumerate(CLASSES)}
    options = TokenOptions(training_steps=2, batch=2) if work.tiny else TokenOptions()
    began, limit = time.monotonic(), TOKEN_SECONDS if work.device.type == "cuda" else None
    found = train_tokens(made, by_class, options, limit=limit, said=work.every(50, "tokens"))
    folder = work.folder / "tokens"
    folder.mkdir(exist_ok=True)
    for name in CLASSES:
        token = token_of(name)
        about = {"class": name, "template": CLASS_PROMPT}
        write_token(folder / f"{token.strip('<>')}.safetensors", token, found[token], about)
    work.pack("tokens")
    keep(work, "tokens", count=len(found), seconds=time.monotonic() - began)


def sliders(work: Work) -> None:
    """One per class and shift, all at once, in WORK/sliders; a training that was killed is resumed."""
    made = loaded(work, with_tokens=True)
    tasks = [task(name, shift) for name, shift in itertools.product(CLASSES, work.sizes.shifts)]
    options = SliderOptions(batch=2, training_steps=3, pool=2) if work.tiny else SliderOptions(batch=24)
    began, steps, shown = time.monotonic(), [0], work.every(25, "sliders")

    def said(step: int, losses: Tensor) -> None:
        steps[0] = step
        shown(step, losses)

    trained = trained_sliders(work, made, tasks, options, SLIDER_SECONDS, work.folder / "sliders.state", said)
    folder = work.folder / "sliders"
    folder.mkdir(exist_ok=True)
    halves = trained.to(made.device, torch.float16)
    for place, (name, shift) in enumerate(itertools.product(CLASSES, work.sizes.shifts)):
        about = {"prompt": tasks[place].prompt, "shifted": tasks[place].shifted}
        about |= {"eta": str(options.eta), "target": options.target}
        keep_slider(folder, name, shift, halves, place, about)
    work.pack("sliders")
    keep(work, "sliders", count=len(trained), steps=steps[0], seconds=time.monotonic() - began)


def trained_sliders(
    work: Work,
    made: TextToImage,
    tasks: list[SliderTask],
    options: SliderOptions,
    seconds: float,
    state: Path | None,
    said: Any,
) -> Sliders:
    """On images that the pipeline makes of each class."""
    sampling = SamplingOptions(steps=2 if work.tiny else 25, images_at_once=work.sizes.at_once)
    pools = made_latents(made, list(dict.fromkeys(task.prompt for task in tasks)), options, sampling)
    limit = seconds if work.device.type == "cuda" else None
    return train_sliders(made, tasks, pools, options, state=state, every=50, limit=limit, said=said)


def task(name: str, shift: str) -> SliderTask:
    token = token_of(name)
    return SliderTask(f"{name}+{shift}", prompt(CLASS_PROMPT, token), prompt(SHIFT_PROMPT, token, shift))


def loaded(work: Work, *, with_tokens: bool = False) -> TextToImage:
    made = load_pipeline(str(work.folder / "pipeline"), device=work.device)
    if with_tokens:
        load_tokens(made, work.folder / "tokens")
    return made


def generator(
    work: Work, *, active: float = 0.75, with_tokens: bool = True, with_sliders: bool = True, guidance: float = 0.0
) -> Generator:
    """What makes the images of all parts."""
    return Generator(
        str(work.folder / "pipeline"),
        CLASSES,
        tuple(range(len(CLASSES))),
        str(work.folder / "sliders") if with_sliders else None,
        str(work.folder / "tokens") if with_tokens else None,
        sampling=SamplingOptions(
            steps=work.sizes.steps,
            active=active,
            images_at_once=work.sizes.at_once,
            guidance=guidance or work.sizes.guidance,
        ),
        device=str(work.device),
    )


def keep(work: Work, name: str, **numbers: Any) -> None:
    """What a training took, for the page."""
    known = recall(work.folder / "tables", "trainings")
    remember(work.folder / "tables", "trainings", known | {name: numbers})
