"""Every sampler on posteriors that are known: by quadrature, by symmetry, or in closed form."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from brittle.errors import BrittleError
from brittle.random import fold
from brittle.samplers import sampler, samplers
from brittle.samplers.chain import ChainSampler
from brittle.samplers.diagnostics import bulk_ess, split_rhat
from brittle.samplers.target import Budget

NAMES = samplers.names()
CHAINS = [name for name in NAMES if issubclass(samplers.get(name), ChainSampler)]
POPULATIONS = [name for name in ("adaptive", "importance", "rejection", "smc") if name in NAMES]
NEED_GAUSSIAN = {"adaptive", "crank-nicolson", "langevin"}
NEED_DENSITY = NEED_GAUSSIAN | {"metropolis", "tempered"}
NEED_SOFT = {"langevin"}
NEED_GAUSSIAN_OR_SOFT = {"tempered"}

SMALL = Budget(chains=4, steps=250, burn_in=150, tries=16, calls=1500)
TINY = Budget(chains=3, steps=60, burn_in=40, tries=8, calls=400)  # where it is not the numbers that count
REPETITIONS = 30


def first(z):
    return z[..., 0]


def second(z):
    return z[..., 1]


def matches(found, truth, average, agrees):
    """Mean and variance along the direction that matters, and the prior's across."""
    return (
        agrees(average(found, first), truth.mean)
        and agrees(average(found, lambda z: (first(z) - truth.mean).square()), truth.variance)
        and agrees(average(found, second), 0.0)
        and agrees(average(found, lambda z: second(z).square()), 1.0)
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name != "auto"])
def test_a_linear_classifier_in_six_dimensions_matches_quadrature(name, toy, linear, average, agrees):
    truth = linear(3.0, -6.0)
    found = sampler(name).sample(toy(truth.log_p, 6, REPETITIONS), SMALL)
    assert found.found.all()
    assert matches(found, truth, average, agrees)


def test_auto_is_adaptive_where_positions_are_short_and_gaussian(toy, linear):
    target = toy(linear(3.0, -6.0).log_p, 6, 2)
    assert torch.equal(*(sampler(name).sample(target, TINY).position for name in ("auto", "adaptive")))


def split(refused: dict[str, tuple[dict[str, bool], set[str]]]) -> tuple[list[Any], list[Any]]:
    """Samplers that take a kind of target and those that refuse it, by the kind's name, as parameters of a test."""
    each = [(name, kind, *refused[kind]) for kind in refused for name in NAMES]
    return tuple(
        [pytest.param(name, options, id=f"{name}-{kind}") for name, kind, options, no in each if (name in no) == said]
        for said in (False, True)
    )


TAKEN, REFUSED = split(
    {
        "density": ({"gaussian": False, "density": True}, NEED_GAUSSIAN),
        "no density": ({"gaussian": False, "density": False}, NEED_DENSITY),
    }
)
TAKEN_HARD, REFUSED_HARD = split(
    {
        "gaussian": ({"hard": True, "gaussian": True}, NEED_SOFT),
        "not gaussian": ({"hard": True, "gaussian": False}, NEED_SOFT | NEED_GAUSSIAN | NEED_GAUSSIAN_OR_SOFT),
    }
)


@pytest.mark.parametrize(("name", "options"), TAKEN)
def test_priors_that_are_not_gaussian_match_quadrature(name, options, toy, linear, average, agrees):
    truth = linear(3.0, -6.0)
    target = toy(truth.log_p, 3, REPETITIONS, **options)
    sampler(name).check(target)
    assert matches(sampler(name).sample(target, SMALL), truth, average, agrees)


@pytest.mark.parametrize(("name", "options"), TAKEN_HARD)
def test_classifiers_that_say_only_right_or_wrong_match_the_truncated_normal(
    name, options, toy, linear, average, agrees
):
    truth = linear(1.0, -1.5, hard=True)
    found = sampler(name).sample(toy(truth.log_p, 3, REPETITIONS, **options), SMALL)
    assert (found.log_likelihood[found.log_weight > -math.inf] == 0).all()
    assert matches(found, truth, average, agrees)


@pytest.mark.parametrize(("name", "options"), REFUSED + REFUSED_HARD)
def test_a_target_that_a_sampler_cannot_do_is_refused_and_another_sampler_named(name, options, toy, linear):
    target = toy(linear(1.0, -1.5, hard=options.get("hard", False)).log_p, 3, 2, **options)
    with pytest.raises(BrittleError, match=r"(?s).*Use the sampler"):
        sampler(name).check(target)


@pytest.mark.parametrize(("name", "says_how_often"), [("smc", True), ("tempered", False)])
def test_a_wider_prior_leads_to_what_is_wrong_once_in_thirty_thousand_draws(
    name, says_how_often, toy, linear, average, agrees
):
    truth = linear(1.0, -4.0, hard=True)
    found = sampler(name).sample(toy(truth.log_p, 3, REPETITIONS, hard=True), SMALL._replace(calls=3000))
    assert found.found.all()
    assert matches(found, truth, average, agrees)
    assert (found.evidence is not None) == says_how_often
    assert found.evidence is None or agrees(found.evidence.exp(), truth.evidence)


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("offset", [-2.0, -6.0])
def test_evidence_matches_quadrature(name, offset, toy, linear, agrees):
    truth = linear(3.0, offset)
    found = sampler(name).sample(toy(truth.log_p, 3, REPETITIONS), SMALL)
    assert agrees(found.evidence.exp(), truth.evidence)


@pytest.mark.parametrize(
    ("name", "hard"), [(name, hard) for name in NAMES for hard in (False, True) if not (hard and name in NEED_SOFT)]
)
def test_where_nothing_is_ever_wrong_nothing_is_found(name, hard, toy):
    def never(z, facts):
        return 0.0 * z[..., 0] - torch.inf

    found = sampler(name).sample(toy(never, 3, 2, hard=hard), TINY)
    assert not found.found.any()
    assert not found.position.isnan().any()
    assert found.evidence is None or (found.evidence == -math.inf).all()


@pytest.mark.parametrize("name", NAMES)
def test_images_where_nothing_is_found_leave_the_others_alone(name, toy):
    def log_p(z, facts):
        return torch.nn.functional.logsigmoid(3 * z[..., 0] - 3) + facts[..., 0]

    never = torch.tensor([[0.0], [-torch.inf], [0.0]], dtype=torch.float64)
    target = toy(log_p, 3, 3, facts=never)
    found, alone = sampler(name).sample(target, TINY), sampler(name).sample(target.take(torch.tensor([2])), TINY)
    assert found.found.tolist() == [True, False, True]
    assert torch.allclose(found.position[2].mean((0, 1)), alone.position[0].mean((0, 1)), atol=1e-4)


def confident(z, facts):
    """Almost surely wrong near (2.5, 0), and almost never elsewhere."""
    away = (z - torch.tensor([2.5, 0.0], dtype=z.dtype)).norm(dim=-1)
    surely = torch.nn.functional.logsigmoid(40 * (0.5 - away))
    return torch.logaddexp(surely, torch.full_like(surely, -12 * math.log(10)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("start", ["prior", "worst"])
def test_a_confident_classifier_gives_numbers(name, start, toy):
    found = sampler(name).sample(toy(confident, 2, 6), SMALL._replace(start=start))
    kept = found.log_weight > -math.inf
    assert not found.position[kept].isnan().any()
    assert not found.log_weight.isnan().any()
    assert not found.log_likelihood[kept].isnan().any()
    assert found.found.any() or name == "rejection"


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("start", ["prior", "worst"])
def test_chains_move_where_the_classifier_is_confident(name, start, toy):
    found = sampler(name).sample(toy(confident, 2, 6), SMALL._replace(start=start))
    assert found.found.all()
    assert ((found.acceptance >= 0) & (found.acceptance <= 1)).all()
    moves = (found.position.diff(dim=2) != 0).any(-1).any(-1)
    # Once in the region, of which the prior has 0.5 %, draws of the prior hardly ever lead on.
    assert moves.any() if name == "independence" else moves.all()


@pytest.mark.parametrize("name", NAMES)
def test_draws_are_a_function_of_the_seed_and_of_the_image(name, toy, linear):
    truth = linear(3.0, -4.0)

    def log_p(z, facts):
        return truth.log_p(z + facts, facts)

    target = toy(log_p, 3, 5, facts=torch.linspace(-1, 1, 5, dtype=torch.float64)[:, None])
    order = torch.tensor([3, 0, 4, 2, 1])
    found, again = (sampler(name).sample(target, TINY) for _ in range(2))
    permuted = sampler(name).sample(target.take(order), TINY)
    columns = [column for column, values in found._asdict().items() if isinstance(values, torch.Tensor)]
    assert {"position", "log_weight", "log_likelihood"} <= set(columns)
    for column in columns:
        mine, once_more, theirs = (getattr(each, column).nan_to_num() for each in (found, again, permuted))
        assert torch.equal(mine, once_more)
        # Sums over a mixture are rounded as their place in memory has it, far below what positions keep.
        summed = name in ("adaptive", "auto") and column in ("log_weight", "log_likelihood", "evidence")
        torch.testing.assert_close(mine[order], theirs, rtol=0, atol=1e-9 if summed else 0)
    other = sampler(name).sample(toy(log_p, 3, 5, seed=1, facts=target.facts), TINY)
    assert not torch.equal(found.position, other.position)


def islands(z, facts):
    """Two islands of radius 0.2 with a valley of e⁻⁴⁰ between them; by symmetry the right one has ⅔ of the mass."""
    right, left = ((z - torch.tensor(at, dtype=z.dtype)).square().sum(-1) for at in ([2.0, 1.0], [-2.0, 1.0]))
    both = torch.logaddexp(-0.5 * right / 0.04, -0.5 * left / 0.04 - math.log(2))
    return torch.logaddexp(both, torch.full_like(both, -40.0))


def test_metropolis_never_leaves_its_island(toy):
    found = sampler("metropolis").sample(toy(islands, 2, 12), SMALL._replace(tries=200))
    sides = found.position[..., 0].sign()
    assert (sides == sides[:, :, :1]).all()
    apart = (sides[:, :, 0] != sides[:, :1, 0]).any(1)
    assert apart.any()
    assert (split_rhat(found.position[..., 0].double())[apart] > 1.5).all()


@pytest.mark.parametrize("name", [name for name in ("tempered", "smc", "adaptive") if name in NAMES])
def test_both_islands_are_found_with_their_masses(name, toy, average, agrees):
    budget = Budget(chains=4, steps=600, burn_in=300, tries=64, calls=2500)
    found = sampler(name).sample(toy(islands, 2, 30), budget)
    assert agrees(average(found, lambda z: (first(z) > 0).double()), 2 / 3)
    # Within an island: p times the prior is a normal density with 1/0.04 + 1 for its precision.
    assert agrees(average(found, lambda z: (second(z) - 25 / 26).square()), 1 / 26)


def test_crank_nicolson_mixes_in_98_dimensions_where_metropolis_does_not(toy, linear):
    truth, budget = linear(2.0, -3.0), Budget(chains=4, steps=1200, burn_in=300)
    mixing, stuck = (sampler(name).sample(toy(truth.log_p, 98, 2), budget) for name in ("crank-nicolson", "metropolis"))
    many, few = (found.position.movedim(-1, 1) for found in (mixing, stuck))  # (B, d, chains, steps)
    assert (split_rhat(many) < 1.05).all()
    assert ((mixing.acceptance > 0.2) & (mixing.acceptance < 0.5)).all()
    assert (split_rhat(few).amax(1) > 1.05).all()
    assert bulk_ess(many).median() > 5 * bulk_ess(few).median()


def test_smc_counts_its_calls_and_keeps_first_ancestors(toy, linear):
    truth = linear(3.0, -9.0)
    looked = []

    def log_p(z, facts):
        looked.append(z.shape[0] * z.shape[1])
        return truth.log_p(z, facts)

    found = sampler("smc").sample(toy(log_p, 3, 8), SMALL)
    assert int(found.calls.sum()) == sum(looked)
    assert found.calls.max() <= 1.5 * SMALL.calls
    drawn = found.log_weight > -math.inf
    assert found.families.shape == found.log_weight.shape
    assert 0 <= found.families[drawn].min() <= found.families[drawn].max() < SMALL.calls // 8
    for image in range(8):
        assert found.families[image][drawn[image]].unique().numel() > 1


@pytest.mark.parametrize("name", [name for name in NAMES if name != "langevin"])
def test_chains_and_populations_count_their_calls(name, toy, linear):
    truth, looked = linear(3.0, -6.0), []

    def log_p(z, facts):
        looked.append(z.shape[0] * z.shape[1])
        return truth.log_p(z, facts)

    for hard in (False, True):
        looked.clear()
        found = sampler(name).sample(toy(log_p, 3, 2, hard=hard), TINY)
        assert int(found.calls.sum()) == sum(looked)


def test_draws_that_were_measured_cost_nothing(toy, linear):
    log_p, known = linear(3.0, -3.0).log_p, 1000
    plain, saving = toy(log_p, 3, 2), toy(log_p, 3, 2, measured=known)
    assert (sampler("importance").sample(saving, SMALL).calls == 0).all()
    assert (sampler("rejection").sample(saving, SMALL).calls == SMALL.calls - known).all()
    # What is saved is spent on further moves.
    draws = [sampler("smc").sample(target, SMALL).log_weight.shape[2] for target in (plain, saving)]
    assert draws[1] > draws[0]


def test_rejection_keeps_the_share_that_is_wrong(toy, linear, agrees):
    truth = linear(3.0, -3.0)
    found = sampler("rejection").sample(toy(truth.log_p, 3, REPETITIONS), SMALL)
    assert agrees(found.acceptance, truth.evidence)
    assert ((found.log_weight == 0).double().mean((1, 2)) == found.acceptance).all()


def test_exchanges_become_equally_frequent(toy, linear):
    """Burn-in spaces the rungs so that no pair of neighbours is refused much more often than another."""
    truth = linear(8.0, -24.0)
    target = toy(truth.log_p, 3, 4)
    kernel = sampler("tempered").kernel(target, 8)
    start = target.prior(8)
    ladder, keys = kernel.init(start.position, start.evaluation), fold(target.keys[:, None], torch.arange(8))
    for step in range(1, 497):  # to the end of the fifth window
        ladder, info = kernel.step(fold(keys, step), ladder)
        ladder = kernel.adapt(ladder, info, step)
    for step in range(497, 897):
        ladder, _ = kernel.step(fold(keys, step), ladder)
    refused = ladder.refused / 200  # each pair tries every other step
    assert ((ladder.powers[:, 0] == 0) & (ladder.powers[:, -1] == 1)).all()
    assert (ladder.powers.diff(dim=1) > 0).all()
    assert (refused.amax(1) - refused.amin(1) < 0.15).all()
