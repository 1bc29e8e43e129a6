"""What is called trusted deserves it: 1 − µ against its known value where failures are rare and sharp."""

import math

import pytest
import scipy.stats
import torch

from brittle.measures.weak_points.diagnosis import NO_OTHER_LABEL, TRUSTED, judge
from brittle.samplers import sampler
from brittle.samplers.diagnostics import kish, pareto_k, weighted_ess
from brittle.samplers.target import Budget, PosteriorDraws

RARE = 1e-4
SURE = -60.0  # log p(not ℓ) wherever the classifier is right


def rare_and_sharp(z, facts):
    """Wrong beyond a distance along the direction in `facts` (B, 1, d), which has probability RARE."""
    along = (z * facts).sum(-1)
    return torch.where(along > -scipy.stats.norm.ppf(RARE), -1e-6, SURE).double()


def statuses(found: PosteriorDraws) -> list[str]:
    """As `diagnose` gives them, for positions that are their own θ."""
    weight, values = found.log_weight.flatten(1), found.position.flatten(1, 2)
    size = torch.minimum(weighted_ess(values, weight).amin(-1), kish(weight))
    k = pareto_k(weight)
    bounded = torch.zeros_like(k, dtype=torch.bool) if found.bounded is None else found.bounded
    other = ((found.log_likelihood >= math.log(0.5)) & (found.log_weight > -torch.inf)).flatten(1).any(1)
    return [
        judge(True, bool(other[i]), False, float(size[i]), None, None if bounded[i] else float(k[i]))
        for i in range(len(k))
    ]


@pytest.mark.parametrize("size", [2, 4, 6])
def test_rare_sharp_failures_are_found_or_not_trusted(size, toy):
    images = 40
    directions = torch.nn.functional.normalize(torch.randn(images, size, generator=torch.manual_seed(size)).double())
    found = sampler("adaptive").sample(toy(rare_and_sharp, size, images, facts=directions), Budget())
    status = statuses(found)
    trusted = [i for i in range(images) if status[i] == TRUSTED]
    off = [i for i in trusted if not RARE / 2 < float(found.evidence[i].exp()) < 2 * RARE]
    assert len(trusted) >= images / 2
    assert len(off) <= len(trusted) / 20
    assert set(status) - {TRUSTED} <= {NO_OTHER_LABEL, "weights not trusted", "too few"}


def test_an_effective_size_is_not_enough_where_no_draw_has_another_label(toy):
    found = sampler("importance").sample(toy(lambda z, _: torch.full_like(z[..., 0], SURE), 3, 5), Budget())
    assert (kish(found.log_weight.flatten(1)) > 1999).all()
    assert statuses(found) == [NO_OTHER_LABEL] * 5


def test_weights_of_at_most_one_are_judged_by_their_size(toy, linear):
    """In 20 dimensions: p(not ℓ) = sigmoid(s z₁ + b) has a size that repetitions confirm, where k̂ is above 0.7."""
    truth, images = linear(4.0, -11.0), 60
    found = sampler("importance").sample(toy(truth.log_p, 20, images), Budget())
    weight = found.log_weight.flatten(1)
    large = kish(weight) >= 40
    condemned = large & (pareto_k(weight) > 0.7)
    assert condemned.sum() >= 3
    assert {statuses(found)[i] for i in condemned.nonzero()[:, 0].tolist()} <= {TRUSTED, "too few"}
    logs = found.evidence[large].exp() / truth.evidence
    assert logs.std() < 2 / math.sqrt(40)


@pytest.mark.parametrize("offset", [-2.0, -40.0])
def test_auto_classifies_no_draw_twice(offset, toy, linear):
    seen = []

    def log_p(z, facts):
        seen.append(z.reshape(-1, z.shape[-1]))
        return linear(3.0, offset).log_p(z, facts)

    found = sampler("auto").sample(toy(log_p, 20, 3), Budget(calls=400))
    positions = torch.cat(seen)
    assert len(positions.unique(dim=0)) == len(positions) == int(found.calls.sum())
