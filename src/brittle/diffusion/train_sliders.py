"""Sliders are trained (Dünkel et al. 2025, section 3.2), many at once: each on noisy images of its class.

What the paper does not give, and what is chosen here: rank 4 (concept sliders'), on attention and convolutions; η = 1,
with which scale 1 is the shifted prompt itself; AdamW at 1e-3. Concept sliders' guidance of 4 is η = 4 there, and makes
a stronger slider out of the same words.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from brittle.diffusion.noising import Noised, Schedule, noised
from brittle.diffusion.options import SliderOptions
from brittle.diffusion.pipeline import TextToImage
from brittle.diffusion.sampling import SamplingOptions, Wanted, sampled
from brittle.diffusion.sliders import Dial, LowRank, Sliders, applied, fresh_sliders
from brittle.diffusion.targets import noise_in, weights_of
from brittle.errors import BrittleError
from brittle.files import remove_half_written, write_durably
from brittle.random import key_of


class SliderTask(NamedTuple):
    """One slider: what it is called, the prompt that it starts from and the one that it leads to."""

    name: str
    prompt: str
    shifted: str


def train_sliders(
    pipeline: TextToImage,
    tasks: Sequence[SliderTask],
    latents: Mapping[str, Tensor],
    options: SliderOptions,
    *,
    state: Path | None = None,
    every: int = 100,
    limit: float | None = None,
    said: Callable[[int, Tensor], None] = lambda _step, _loss: None,
) -> Sliders:
    """Sliders, trained side by side, each as it would be by itself. `latents` are those of images (n, C, h, w), by the
    prompt that made them. With a file `state`, a training that was interrupted is resumed; `said` is told the losses
    (J,) of every step, of one that was interrupted also those before."""
    if not tasks:
        raise BrittleError("there are no sliders to train", "Name a class and a shift.")
    seeds = [(options.seed + key_of(task.name)) % 2**31 for task in tasks]
    sliders = fresh_sliders(pipeline.unet, [task.name for task in tasks], options.rank, seeds)
    sliders = sliders.to(pipeline.device, torch.float32)
    values = [part.requires_grad_(True) for low in sliders.layers.values() for part in low]
    optimiser = torch.optim.AdamW(values, lr=options.rate, weight_decay=0.0)
    rate = Schedule(options.rate, options.training_steps, limit)
    losses = _restore(state, tasks, options, values, optimiser, rate)
    for step, each in enumerate(losses, 1):
        said(step, each)
    lesson = Lesson.of(pipeline, tasks, latents, options)
    while rate.done < 1:
        loss = lesson.step(sliders, rate.step)
        optimiser.zero_grad(set_to_none=True)
        loss.sum().backward()  # type: ignore[no-untyped-call]
        rate.set_rate(optimiser)
        optimiser.step()
        rate.step += 1
        losses.append(loss.detach())
        said(rate.step, losses[-1])
        if state is not None and rate.step % every == 0 and rate.done < 1:
            _keep(state, tasks, options, values, optimiser, losses)
    if state is not None:
        state.unlink(missing_ok=True)
        remove_half_written(state.parent, (state.name,))
    layers = {name: LowRank(*(part.detach() for part in low)) for name, low in sliders.layers.items()}
    return Sliders(sliders.names, layers)


def made_latents(
    pipeline: TextToImage, prompts: Sequence[str], options: SliderOptions, sampling: SamplingOptions
) -> dict[str, Tensor]:
    """For each prompt, the latents of images that the pipeline makes of it: what sliders are trained on."""
    words = pipeline.embedded(prompts)
    seeds = range(options.seed << 20, (options.seed << 20) + options.pool)
    wanted = [Wanted(place, seed, ()) for place in range(len(prompts)) for seed in seeds]
    images = torch.split(sampled(pipeline, words, wanted, None, sampling), options.pool)
    return {prompt: pipeline.encoded(each) for prompt, each in zip(prompts, images, strict=True)}


@dataclass(frozen=True, eq=False)
class Lesson:
    """What the sliders of some tasks are to say of noisy images, and what they say."""

    pipeline: TextToImage
    options: SliderOptions
    names: tuple[str, ...]
    words: Tensor  # (3, J, L, D): of the class, of the shifted class, of nothing
    pools: Tensor  # (J, n, C, h, w)
    schedule: Tensor  # ᾱ (T,)
    prediction: str

    @classmethod
    def of(
        cls, pipeline: TextToImage, tasks: Sequence[SliderTask], latents: Mapping[str, Tensor], options: SliderOptions
    ) -> Lesson:
        plain, shifted = [task.prompt for task in tasks], [task.shifted for task in tasks]
        words = torch.stack([pipeline.embedded(each) for each in (plain, shifted, [""] * len(tasks))])
        shortest = min(len(latents[prompt]) for prompt in plain)
        pools = torch.stack([latents[prompt][:shortest] for prompt in plain]).to(pipeline.device)
        prediction = str(pipeline.parts.scheduler.config.prediction_type)
        names = tuple(task.name for task in tasks)
        return cls(pipeline, options, names, words, pools, pipeline.noise_schedule(), prediction)

    def step(self, sliders: Sliders, number: int) -> Tensor:
        """The losses (J,) of a step: MSE between the target and the noise predicted with the slider at scale 1."""
        count, size = len(self.pools), self.options.batch
        device = self.pools.device
        given = self.drawn(number)
        with torch.no_grad():
            target = self.target(given)
        dial = Dial(torch.arange(count * size, device=device).view(count, size), torch.ones(count, size, device=device))
        with applied(self.pipeline.unet, sliders, dial):
            said = self._noise(given, self.words[0])
        return (said.float() - target.float()).square().view(count, -1).mean(1)

    def drawn(self, number: int) -> Noised:
        """Noisy images of a step, slider by slider: which they are follows from a slider's name and the step alone."""
        parts = []
        for name, pool in zip(self.names, self.pools, strict=True):
            seed = key_of(f"{self.options.seed}/{name}/{number}") & (2**62 - 1)
            generator = torch.Generator(pool.device).manual_seed(seed)
            rows = torch.randint(len(pool), (self.options.batch,), generator=generator, device=pool.device)
            parts.append(noised(pool[rows], self.schedule, generator))
        return Noised(*(torch.cat(each) for each in zip(*parts, strict=True)))

    def target(self, given: Noised) -> Tensor:
        """What the pipeline itself says, put together; terms of weight 0 are not computed."""
        weights = weights_of(self.options.target, self.options.eta)
        terms = [weight * self._noise(given, self.words[place]) for place, weight in enumerate(weights) if weight]
        return torch.stack(terms).sum(0)

    def _noise(self, given: Noised, words: Tensor) -> Tensor:
        repeated = words.repeat_interleave(len(given.latents) // len(words), 0)
        said = self.pipeline.predicted(given.latents, given.times, repeated)
        return noise_in(said, given.latents, given.alpha, self.prediction)


def _key(tasks: Sequence[SliderTask], options: SliderOptions) -> str:
    return repr((list(map(tuple, tasks)), options))


def _keep(
    state: Path,
    tasks: Sequence[SliderTask],
    options: SliderOptions,
    values: Sequence[Tensor],
    optimiser: torch.optim.Optimizer,
    losses: Sequence[Tensor],
) -> None:
    kept: dict[str, Any] = {
        "key": _key(tasks, options),
        "losses": torch.stack(list(losses)),  # (steps, J)
        "values": [each.detach() for each in values],
    }
    kept["optimiser"] = optimiser.state_dict()
    content = io.BytesIO()  # what torch writes by itself fails on a full disk in ways that don't say so
    torch.save(kept, content)
    write_durably(state, lambda to: to.write_bytes(content.getbuffer()))


def _restore(
    state: Path | None,
    tasks: Sequence[SliderTask],
    options: SliderOptions,
    values: Sequence[Tensor],
    optimiser: torch.optim.Optimizer,
    rate: Schedule,
) -> list[Tensor]:
    """Goes on where an interrupted training of the same sliders stopped; gives the losses until then."""
    if state is None or not state.is_file():
        return []
    try:
        kept = torch.load(state, map_location=values[0].device, weights_only=True)
        losses = list(kept["losses"].unbind())
    except Exception as error:  # of many kinds
        raise BrittleError(f"{state} can't be read, from which training would resume", "Remove it.") from error
    if kept["key"] != _key(tasks, options):
        raise BrittleError(f"{state} is of a training of other sliders", "Remove it, or use another folder.")
    with torch.no_grad():
        for own, other in zip(values, kept["values"], strict=True):
            own.copy_(other)
    optimiser.load_state_dict(kept["optimiser"])
    rate.step = len(losses)
    return losses
