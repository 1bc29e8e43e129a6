"""IN* (Dünkel et al. 2025, section 3.1): one learned token per class, by textual inversion (Gal et al. 2023).

A token's vector minimises the error of the predicted noise, ‖ε − ε_ψ(x_t, t, c)‖², over all time steps, on images of
its class; nothing else is changed. Several tokens are learned side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from brittle.diffusion.noising import Noised, Schedule, noised
from brittle.diffusion.options import TokenOptions
from brittle.diffusion.pipeline import TextToImage
from brittle.diffusion.prompts import CLASS_PROMPT, prompt
from brittle.diffusion.targets import noise_in
from brittle.diffusion.tokens import add_tokens
from brittle.random import key_of


def token_of(name: str) -> str:
    """The token that is learned for a class."""
    return f"<{'-'.join(name.lower().replace('/', ' ').split())}>"


def train_tokens(
    pipeline: TextToImage,
    images: Mapping[str, Tensor],
    options: TokenOptions,
    *,
    template: str = CLASS_PROMPT,
    begin: Mapping[str, str] | None = None,
    limit: float | None = None,
    said: Callable[[int, Tensor], None] = lambda _step, _loss: None,
) -> dict[str, Tensor]:
    """Token → vector, each learned as it would be by itself. `images` (n, C, H, W) in [0, 1], by class; `begin` gives
    the words that a class's token begins as: its name by default. The pipeline has the tokens afterwards."""
    begin = begin or {}
    tokens = {name: token_of(name) for name in images}
    numbers = add_tokens(pipeline, {tokens[name]: begin.get(name, name.lower()) for name in images})
    table = pipeline.parts.text_encoder.get_input_embeddings()
    vectors = table.weight[numbers].detach().clone().float().requires_grad_(True)
    prompts = [prompt(template, tokens[name]) for name in images]
    pools = [pipeline.encoded(each) for each in images.values()]
    optimiser = torch.optim.AdamW([vectors], lr=options.rate, weight_decay=0.0)
    rate = Schedule(options.rate, options.training_steps, limit)
    prediction = str(pipeline.parts.scheduler.config.prediction_type)
    while rate.done < 1:
        parts = [_drawn(pipeline, name, pool, options, rate.step) for name, pool in zip(images, pools, strict=True)]
        given = Noised(*(torch.cat(each) for each in zip(*parts, strict=True)))
        with _standing_in(table, numbers, vectors):
            words = _embedded(pipeline, prompts).repeat_interleave(options.batch, 0)
        found = pipeline.predicted(given.latents, given.times, words)
        wrong = noise_in(found, given.latents, given.alpha, prediction).float() - given.noise.float()
        losses = wrong.square().view(len(pools), -1).mean(1)
        optimiser.zero_grad(set_to_none=True)
        losses.sum().backward()  # type: ignore[no-untyped-call]
        rate.set_rate(optimiser)
        optimiser.step()
        rate.step += 1
        said(rate.step, losses.detach())
    with torch.no_grad():
        table.weight[numbers] = vectors.detach().to(table.weight.dtype)
    return dict(zip(tokens.values(), vectors.detach().unbind(), strict=True))


def _drawn(pipeline: TextToImage, name: str, pool: Tensor, options: TokenOptions, step: int) -> Noised:
    """Noisy images of a class for a step: which they are follows from the class's name and the step alone."""
    seed = key_of(f"{options.seed}/{name}/{step}") & (2**62 - 1)
    generator = torch.Generator(pool.device).manual_seed(seed)
    rows = torch.randint(len(pool), (options.batch,), generator=generator, device=pool.device)
    return noised(pool[rows], pipeline.noise_schedule(), generator)


@contextmanager
def _standing_in(table: Any, numbers: list[int], vectors: Tensor) -> Iterator[None]:
    """Within it, the text encoder reads these tokens' vectors (K, D) from here."""

    def replaced(_module: Any, given: tuple[Tensor, ...], out: Tensor) -> Tensor:
        for place, number in enumerate(numbers):
            out = torch.where((given[0] == number)[..., None], vectors[place].to(out.dtype), out)
        return out

    hook = table.register_forward_hook(replaced)
    try:
        yield
    finally:
        hook.remove()


def _embedded(pipeline: TextToImage, prompts: list[str]) -> Tensor:
    """As `embedded`, with gradients."""
    found: Tensor = pipeline.parts.encode_prompt(prompts, pipeline.device, 1, False)[0]
    return found
