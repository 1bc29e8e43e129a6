"""Images from prompts, seeds and scales (Dünkel et al. 2025, sections 3.2 and 5.1).

Sliders are active in the last share of the noise steps only, which keeps an image's structure. Until they set in, all
scales and shifts of a class and seed are one and the same, and are computed once; from then on, scales and seeds fill
the batch together.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from brittle.diffusion.pipeline import EXTRA, TextToImage
from brittle.diffusion.sliders import Dial, Sliders, applied
from brittle.errors import BrittleError
from brittle.libraries import library
from brittle.memory import slices
from brittle.registry import option

Sampler = Literal["own", "ddim", "unipc"]
SCHEDULERS = {"ddim": "DDIMScheduler", "unipc": "UniPCMultistepScheduler"}


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """How images are made."""

    steps: int = option(50, "noise steps", least=1)
    guidance: float = option(1.0, "classifier-free guidance; 1: none. Stable Diffusion is used with 7.5", least=1)
    sampler: Sampler = option("own", "own: the pipeline's scheduler; ddim or unipc, with the pipeline's settings")
    active: float = option(
        0.75, "share of the noise steps, the last ones, in which sliders are active", least=0, most=1
    )
    images_at_once: int = option(64, "images per batch", least=1)


class Wanted(NamedTuple):
    """An image: words, where it starts, and how far each slider is moved."""

    words: int  # place among the prompts
    seed: int
    scales: tuple[float, ...]  # one for each slider


class Begun(NamedTuple):
    """An image where sliders set in: all its scales and shifts go on from here."""

    latents: Tensor  # (1, C, h, w)
    scheduler: Any  # with what it remembers of the batch that the image was in
    row: int  # of that batch


def sampled(
    pipeline: TextToImage,
    words: Tensor,
    wanted: Sequence[Wanted],
    sliders: Sliders | None,
    options: SamplingOptions,
    *,
    nothing: Tensor | None = None,
    begun: MutableMapping[tuple[int, int], Begun] | None = None,
    done: Callable[[int], None] = lambda _: None,
) -> Tensor:
    """Images (n, C, H, W) in [0, 1], on the CPU, in the order in which they are wanted. `words` (prompts, L, D) are
    what `embedded` gives; `nothing` (1, L, D) what it gives for "", where guidance asks for it. `begun` holds what is
    known of early steps, by words and seed, and is filled with what is computed of them."""
    if options.guidance > 1 and nothing is None:
        nothing = pipeline.embedded([""])
    scheduler = made_scheduler(pipeline, options)
    times = scheduler.timesteps.tolist()
    early = len(times) - late_steps(len(times), options.active)
    begun = {} if begun is None else begun
    starts = [each for each in dict.fromkeys((each.words, each.seed) for each in wanted) if each not in begun]
    for part in slices(len(starts), options.images_at_once):
        own, latents = copy.deepcopy(scheduler), pipeline.start_noise([seed for _, seed in starts[part]])
        latents = latents * own.init_noise_sigma
        place = torch.tensor([place for place, _ in starts[part]], device=words.device)
        latents = _denoised(pipeline, own, latents, times[:early], words[place], nothing, options.guidance)
        begun.update({start: Begun(latents[row : row + 1], own, row) for row, start in enumerate(starts[part])})
    return _finished(pipeline, words, wanted, sliders, options, nothing, begun, times[early:], done)


def _finished(
    pipeline: TextToImage,
    words: Tensor,
    wanted: Sequence[Wanted],
    sliders: Sliders | None,
    options: SamplingOptions,
    nothing: Tensor | None,
    begun: Mapping[tuple[int, int], Begun],
    times: Sequence[int],
    done: Callable[[int], None],
) -> Tensor:
    """The late steps. Images that several ask for, such as those at scale 0, are made once."""
    distinct = sorted(set(wanted), key=lambda each: ([scale != 0 for scale in each.scales], each))
    made: dict[Wanted, Tensor] = {}
    for part in slices(len(distinct), options.images_at_once):
        chosen = distinct[part]
        starts = [begun[each.words, each.seed] for each in chosen]
        scheduler = branched([(each.scheduler, each.row) for each in starts])
        latents = torch.cat([each.latents for each in starts])
        place = torch.tensor([each.words for each in chosen], device=words.device)
        scales = torch.tensor([each.scales for each in chosen], device=latents.device, dtype=torch.float32)
        found = _denoised(
            pipeline, scheduler, latents, times, words[place], nothing, options.guidance, sliders=sliders, scales=scales
        )
        made |= dict(zip(chosen, pipeline.decoded(found).cpu().unbind(), strict=True))
        done(len(chosen))
    return torch.stack([made[each] for each in wanted])


@torch.no_grad()
def _denoised(
    pipeline: TextToImage,
    scheduler: Any,
    latents: Tensor,
    times: Sequence[int],
    words: Tensor,
    nothing: Tensor | None,
    guidance: float,
    *,
    sliders: Sliders | None = None,
    scales: Tensor | None = None,
) -> Tensor:
    """Latents (B, C, h, w) after some noise steps, with sliders at scales (B, J)."""
    guided = guidance > 1 and nothing is not None
    if guided:
        assert nothing is not None
        words = torch.cat([nothing.expand(len(words), -1, -1), words])
    dial = None if scales is None or sliders is None else _dial(scales, twice=guided)
    for time in times:
        given = scheduler.scale_model_input(torch.cat([latents, latents]) if guided else latents, time)
        if dial is None or sliders is None:
            said = pipeline.predicted(given, time, words)
        else:
            with applied(pipeline.unet, sliders.take(dial.chosen), dial.dial):
                said = pipeline.predicted(given, time, words)
        if guided:
            without, with_words = said.chunk(2)
            said = without + guidance * (with_words - without)
        latents = scheduler.step(said, time, latents, return_dict=False)[0]
    return latents


class _Chosen(NamedTuple):
    chosen: list[int]  # the sliders that any image wants
    dial: Dial


def _dial(scales: Tensor, *, twice: bool) -> _Chosen | None:
    """Each slider on the images that want it (B, J); where their numbers differ, the lists are filled up with an image
    at scale 0. None where nobody wants any."""
    on = scales != 0
    chosen = [place for place in range(scales.shape[1]) if bool(on[:, place].any())]
    if not chosen:
        return None
    length = max(int(on[:, place].sum()) for place in chosen)
    rows = torch.zeros(len(chosen), length, dtype=torch.int64, device=scales.device)
    moved = torch.zeros(len(chosen), length, device=scales.device)
    for line, place in enumerate(chosen):
        there = on[:, place].nonzero()[:, 0]
        rows[line, : len(there)], moved[line, : len(there)] = there, scales[there, place]
    if twice:
        rows, moved = torch.cat([rows, rows + len(scales)], 1), torch.cat([moved, moved], 1)
    return _Chosen(chosen, Dial(rows, moved))


def made_scheduler(pipeline: TextToImage, options: SamplingOptions) -> Any:
    """A scheduler of one's own, with its noise steps set."""
    diffusers = library("diffusers", EXTRA, pipeline.name)
    own = pipeline.parts.scheduler
    kind = type(own) if options.sampler == "own" else getattr(diffusers, SCHEDULERS[options.sampler])
    made = kind.from_config(own.config)
    try:
        made.set_timesteps(options.steps, device=pipeline.device)
    except ValueError as error:
        raise BrittleError(f"{options.steps} noise steps are not possible: {error}", "Use fewer.") from error
    return made


def branched(starts: Sequence[tuple[Any, int]]) -> Any:
    """A scheduler for images that go on from where others are: `starts` names a scheduler and a row of its batch for
    each. What it remembers of earlier steps is copied along, for samplers of several steps."""
    first = starts[0][0]
    made = copy.copy(first)
    for key, value in vars(first).items():
        if _is_batch(value):
            setattr(made, key, torch.stack([getattr(own, key)[row] for own, row in starts]))
        elif isinstance(value, list) and any(map(_is_batch, value)):
            columns = [
                torch.stack([getattr(own, key)[place][row] for own, row in starts]) if _is_batch(each) else each
                for place, each in enumerate(value)
            ]
            setattr(made, key, columns)
        elif isinstance(value, list):
            setattr(made, key, list(value))
    return made


def _is_batch(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim == 4


def late_steps(steps: int, share: float) -> int:
    """How many steps sliders are active in, for a share of them."""
    return min(steps, math.floor(share * steps + 0.5))
