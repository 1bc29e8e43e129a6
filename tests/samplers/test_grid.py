"""Every sampler on a real classifier and images under translation, whose posterior a fine grid gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from brittle.classifiers import classifier
from brittle.images import image_set
from brittle.measures.answers import Answers
from brittle.measures.weak_points.posterior import Posterior
from brittle.nuisances import nuisance
from brittle.random import fold, stream_root
from brittle.samplers import sampler, samplers
from brittle.samplers.chain import ChainSampler
from brittle.samplers.diagnostics import bulk_ess, kish, weighted_ess
from brittle.samplers.target import Budget

IMAGES, CHAINS, SIGMA = 3, 8, 0.1
BINS, CELLS, EDGE = 8, 6, 3.0  # bins a side, cells of the fine grid a bin and side, and standard deviations they span
FEWEST = 30  # effective draws: fewer would match anything
BUDGET = Budget(chains=CHAINS, tries=16, calls=3000)


def posterior(space, batch_size):
    network, images = classifier("bundled:plain"), image_set("sample").batch(range(40))
    with torch.inference_mode():
        right = (network.log_probs(images.images).argmax(1) == images.labels).nonzero()[:IMAGES, 0]
    batch = images.take(right)
    roots = (fold(stream_root(0, stream), batch.ids) for stream in ("sampler", "prior"))
    return Posterior(
        Answers(batch, {"network": network}, batch_size),
        "network",
        batch.labels,
        *roots,
        nuisance(f"translation:sigma={SIGMA}"),
        space,
    )


@pytest.fixture(scope="module")
def truth():
    """Probabilities (B, bins) of the posterior, given that both shifts are within 3 standard deviations."""
    side = BINS * CELLS
    middles = (torch.arange(side, dtype=torch.float64) + 0.5) * (2 * EDGE / side) - EDGE
    z = torch.cartesian_prod(middles, middles)
    target = posterior("latent", 800)
    likelihood = target.evaluate(z.expand(IMAGES, -1, -1)).log_likelihood
    density = (likelihood - 0.5 * z.square().sum(-1)).exp().view(IMAGES, BINS, CELLS, BINS, CELLS).sum((2, 4))
    return density.flatten(1) / density.sum((1, 2))[:, None]


@pytest.mark.parametrize("name", samplers.names())
def test_draws_match_a_fine_grid(name, truth):
    chosen = sampler(name)
    # What mixes well needs fewer steps to be judged.
    fewer = {"tempered": (130, 80), "langevin": (400, 200)}.get(name, (250, 120))
    budget = BUDGET._replace(steps=fewer[0], burn_in=fewer[1])
    a_look = IMAGES * CHAINS * getattr(chosen, "rungs", 1) if isinstance(chosen, ChainSampler) else 500
    found = chosen.sample(posterior(chosen.space, a_look), budget)
    z = found.position.double() / (SIGMA if chosen.space == "parameters" else 1.0)
    # Chains may mix well along an axis and badly between its ends, or across.
    facts = torch.cat((z, z.square(), z.prod(-1, keepdim=True)), -1)
    if found.chains:
        sizes = bulk_ess(facts.movedim(-1, 1)).amin(1)
    else:
        families = None if found.families is None else found.families[:, 0]
        sizes = weighted_ess(facts[:, 0], found.log_weight[:, 0], families).amin(1)
        sizes = torch.minimum(sizes, kish(found.log_weight[:, 0]))
    weights = found.log_weight.flatten(1).softmax(1)
    places = ((z.flatten(1, 2) + EDGE) / (2 * EDGE / BINS)).floor().long()
    inside = ((places >= 0) & (places < BINS)).all(-1)
    places = (places[..., 0] * BINS + places[..., 1]).where(inside, 0)
    seen = torch.zeros_like(truth).scatter_add_(1, places, weights * inside)
    seen = seen / seen.sum(1, keepdim=True)
    generator = np.random.default_rng(0)
    # Gradients don't lead from one piece of the third image's posterior to the other: there, Langevin's chains say so.
    judged = (sizes >= FEWEST).nonzero()[:, 0].tolist()
    assert len(judged) >= (IMAGES if name != "langevin" else IMAGES - 1)
    for image in judged:
        size, law = int(sizes[image]), truth[image].numpy()
        by_chance = np.abs(generator.multinomial(size, law, 4000) / size - law).sum(1) / 2
        distance = (seen[image] - truth[image]).abs().sum().item() / 2
        assert distance <= np.quantile(by_chance, 0.999)
