"""What is called trusted deserves it: 1 − µ against its known value where failures are rare and sharp."""

import math

import pytest
import scipy.stats
import torch

from brittle.measures.weak_points.diagnosis import ANCESTORS, FEW, NO_OTHER_LABEL, TRUSTED, judge
from brittle.samplers import sampler
from brittle.samplers.diagnostics import family_ess, family_kish, kish, pareto_k, weighted_ess
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


@pytest.mark.parametrize(
    ("steepness", "offset", "hard", "size"),
    [(3.0, -6.0, False, 2), (3.0, -6.0, False, 6), (1.0, -1.5, True, 2), (1.0, -2.5, True, 6), (1.0, -4.0, True, 2)],
)
def test_smc_claims_the_size_that_its_repetitions_show(steepness, offset, hard, size, toy, linear):
    images = 150
    found = sampler("smc").sample(toy(linear(steepness, offset, hard).log_p, size, images, hard=hard), Budget())
    weight, values = found.log_weight.flatten(1), found.position.double().flatten(1, 2)
    share = weight.softmax(1)[..., None]
    mean = (share * values).sum(1)
    variance = (share * (values - mean[:, None]).square()).sum(1).mean(0) + mean.var(0)
    realised = variance / mean.var(0)  # (d,) independent draws whose mean would vary as much
    claimed = family_ess(values, weight, found.families.flatten(1)).mean(0)
    assert 0.6 < (realised / claimed).median() < 1.6
    # The number of families, which was claimed before, is several times too low.
    assert (realised > 4 * family_kish(weight, found.families.flatten(1)).mean()).all()


def test_one_minus_mu_varies_as_the_number_of_ancestors_allows(toy, linear):
    """Which is why draws of few ancestors are not trusted, however many they are."""
    truth = linear(1.0, -2.5, hard=True)
    found = sampler("smc").sample(toy(truth.log_p, 6, 200, hard=True), Budget())
    weight, families = found.log_weight.flatten(1), found.families.flatten(1)
    off = (found.evidence.exp() / truth.evidence).log().abs() > math.log(2)
    ancestors = family_kish(weight, families)
    size = family_ess(found.position.double().flatten(1, 2), weight, families).amin(1)
    assert (off & (size >= 25)).sum() >= 10
    assert not (off & (ancestors >= 25)).any()
    assert judge(True, True, False, 80.0, None, None, 24.9) == ANCESTORS
    assert judge(True, True, False, 80.0, None, None, 25.0) == TRUSTED
    assert judge(True, True, False, 24.9, None, None, 24.9) == FEW


def test_the_size_of_families_is_its_formula_and_no_less_than_that_of_weights():
    # Four families of two equal weights: W = 1/8, d = ±1 and ±3 cancel in the first two, and add up in the others.
    values = torch.tensor([1.0, -1, 3, -3, 3, 3, -3, -3], dtype=torch.float64)[:, None]
    families, weights = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3]), torch.zeros(8, dtype=torch.float64)
    size = ((2 * 1 + 6 * 9) / 8) / (2 * (6 / 8) ** 2)
    assert weighted_ess(values, weights, families).item() == pytest.approx(min(size, 4))
    assert family_ess(values, weights, families).item() == pytest.approx(4)  # 6.2 (1 − √(2/4)) is less
    # As many draws as there are cancel in pairs: no more than these.
    many, pairs = torch.arange(400).repeat_interleave(2), torch.tensor([1.0, -1.0]).double().repeat(400)[:, None]
    assert family_ess(pairs, torch.zeros(800), many).item() == pytest.approx(800)
    # 100 families, each of 0, 0, 0 and ±1: Σ W d² = 1/4, and the sums of a family are ±1/400.
    some = torch.tensor([0.0, 0, 0, 1, 0, 0, 0, -1]).double().repeat(50)[:, None]
    size = family_ess(some, torch.zeros(400), torch.arange(100).repeat_interleave(4)).item()
    assert size == pytest.approx(0.25 / (100 / 400**2) * (1 - math.sqrt(2 / 100)))
