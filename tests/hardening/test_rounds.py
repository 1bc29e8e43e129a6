"""A round of hardening: which weak points it draws, how it trains, and which round is chosen."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from quick_hardening import ALPHA, QUICK
from safetensors.torch import load_file
from torch import nn

import brittle
from brittle.hardening import rounds
from brittle.hardening.fine_tune import PreprocessedModule, answers_of, fine_tune
from brittle.hardening.options import HardeningOptions
from brittle.hardening.pools import WeakPool, prior_pool, weak_pool
from brittle.hardening.rounds import between, choose_round
from brittle.nuisances import nuisance
from brittle.random import draw_keys
from brittle.training.data import TrainingImages
from brittle.training.options import Recipe


def moments(data: TrainingImages, rows: torch.Tensor, theta: torch.Tensor, weight: torch.Tensor) -> np.ndarray:
    """Weighted means of the shifts' squares, in units of the prior's variance, and of how often every image comes."""
    shifts = theta[:, -2:].double().square() * 175.0
    seen = torch.cat((shifts, len(data) * nn.functional.one_hot(rows, len(data))), 1)
    return ((weight[:, None] * seen).sum(0) / weight.sum()).numpy()


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_weak_points_are_drawn_from_the_joint_posterior_and_their_weights_undo_it(
    prior: float, sample: brittle.ImageSet
) -> None:
    data, space, classifier = TrainingImages(sample.take(range(0, 1000, 50))), nuisance(ALPHA), open_plain(sample)
    plain = prior_pool(space, data, 6_000, 1, "brute force").pool.at(slice(None))
    batch = data.batch(plain.rows)
    theta = plain.theta(batch)
    with torch.inference_mode():
        answers = classifier.log_probs(space.apply(batch, theta))
    failing = 1 - answers.gather(1, batch.labels[:, None])[:, 0].exp()
    drawn = weak_pool(
        classifier,
        space,
        data,
        6_000,
        images=20,
        sampler="importance",
        budget=300,
        prior=prior,
        seed=0,
        stream="weak",
    )
    picked = drawn.pool.at(slice(None))
    target = torch.ones_like(failing) if prior else failing  # corrected weights give the prior again
    found = moments(data, picked.rows, picked.theta(data.batch(picked.rows)), picked.weight)
    np.testing.assert_allclose(found, moments(data, plain.rows, theta, target), atol=0.2)
    assert drawn.failing == pytest.approx(float(failing.mean()), abs=0.01)
    untrue = moments(data, plain.rows, theta, torch.ones_like(failing))
    # The comparison can tell weak points from draws of the prior.
    assert (np.abs(found - untrue).max() > 0.5) == (prior == 0)
    assert float(picked.weight.max()) <= (2.0 if prior else 1.0)


def open_plain(sample: brittle.ImageSet) -> brittle.Classifier:
    found = brittle.classifier("bundled:plain")
    found.check(sample.batch([0, 1]).images)  # type: ignore[attr-defined]
    return found


def test_a_pool_of_the_prior_shows_every_image_equally_often(sample: brittle.ImageSet) -> None:
    data = TrainingImages(sample.take(range(30)))
    rows = prior_pool(nuisance(ALPHA), data, 90, 0, "stream").pool.at(slice(None)).rows
    assert torch.bincount(rows).tolist() == [3] * 30


@pytest.mark.parametrize("output", ["logits", "probabilities"])
def test_training_sees_what_the_classifier_sees(output: str, sample: brittle.ImageSet) -> None:
    """Preprocessing and the kind of outputs are the classifier's own."""
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(3 * 16 * 16, 10), nn.Softmax(1) if output != "logits" else nn.Identity()
    )
    classifier = brittle.classifier(net, size=16, channels="rgb", mean=(0.5, 0.4, 0.3), std=0.2, output=output)
    images = sample.batch(range(8)).images
    through = PreprocessedModule(classifier)(images)  # type: ignore[arg-type]
    torch.testing.assert_close(through.log_softmax(1), classifier.log_probs(images), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("rounds", "chosen"),
    [
        ([(0.7, 0.90), (0.8, 0.895), (0.75, 0.90)], 1),
        ([(0.7, 0.90), (0.8, 0.85), (0.75, 0.89)], 2),
        ([(0.7, 0.90), (0.8, 0.88), (0.65, 0.95)], 0),
        ([(0.7, 0.90), (0.8, 0.90), (0.80, 0.90)], 1),
    ],
    ids=["greatest rho", "too dear", "nothing better", "first of equals"],
)
def test_the_round_chosen_has_the_greatest_rho_among_those_that_cost_little(
    rounds: list[tuple[float, float]], chosen: int
) -> None:
    records = [{"rho": rho, "accuracy_clean": clean} for rho, clean in rounds]
    assert choose_round(records, 0.01) == chosen


@pytest.mark.parametrize("sampler", ["importance", "smc", "adaptive", "auto"])
def test_no_sampler_spends_much_more_than_its_calls(sampler: str, sample: brittle.ImageSet) -> None:
    settings = QUICK | {"rounds": 1, "calls": 4000, "sampler": sampler}
    done = brittle.harden("bundled:plain", sample, ALPHA, **settings)
    assert 0.5 * 4000 <= done.summary["calls"]["sampling"] <= 1.2 * 4000
    assert done.rounds[-1]["images_sampled"] == (900 if sampler == "importance" else 20)


def test_long_parameters_are_kept_once_and_of_fewer_images(
    sample: brittle.ImageSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brittle.hardening.pools.KEPT_NUMBERS", 50 * 784)
    data = TrainingImages(sample)
    drawn = weak_pool(
        open_plain(sample), nuisance("noise:sigma=0.5"), data, 640,
        images=200, sampler="importance", budget=4, prior=0.5, seed=0, stream="long",
    )  # fmt: skip
    assert drawn.images == 50
    assert drawn.pool.theta.shape == (50, 784)  # type: ignore[attr-defined]
    picked = drawn.pool.at(slice(64, 128))
    assert picked.theta(data.batch(picked.rows)).shape == (64, 784)


def test_few_training_images_are_trained_on_more_gently() -> None:
    settings = HardeningOptions()
    assert settings.recipe(4999).rate < settings.recipe(5000).rate == 0.001
    assert HardeningOptions(rate=0.01).recipe(10).rate == HardeningOptions(rate=0.01).recipe(60_000).rate == 0.01
    assert settings.recipe(10).batch == settings.batch_size


def test_one_step_is_trained_to_labels_and_answers_each_as_much_as_it_counts(sample: brittle.ImageSet) -> None:
    """The loss before the first update, written out."""
    classifier, data, space = open_plain(sample), TrainingImages(sample.take(range(40))), nuisance(ALPHA)
    answers = answers_of(classifier, data)  # type: ignore[arg-type]
    batch = data.batch(torch.arange(6))
    theta = space.sample(batch, draw_keys(5, "test", batch.ids, torch.arange(1)))[:, 0]
    weight = torch.tensor([0.0, 0.5, 1.0, 1.0, 2.0, 3.0])
    pool = WeakPool(torch.arange(6), theta, torch.tensor([5, 3, 1, 0, 2, 4]), weight)
    warped = classifier.log_probs(space.apply(batch, theta))
    wanted = 0.7 * nn.functional.one_hot(batch.labels, 10) + 0.3 * answers[:6]
    transformed = (weight * -(wanted * warped).sum(1)[pool.picked]).sum()
    clean = -(answers * answers.log()).sum(1)  # in some order: forty clean images are one pass over all
    found = fine_tune(
        copy.deepcopy(classifier), data, space, pool, Recipe(batch=46, rate=0.1),  # type: ignore[arg-type]
        steps=1, transformed=6, answers=answers, anchor=0.3, seed=0, stream="test",
    )  # fmt: skip
    assert found == pytest.approx(float((transformed + clean.sum()).detach()) / 46, rel=1e-4)


def test_candidates_lie_between_the_untouched_weights_and_a_rounds_own(tmp_path: Path) -> None:
    start, end = {"w": torch.zeros(2), "n": torch.tensor(3)}, {"w": torch.tensor([4.0, -8.0]), "n": torch.tensor(5)}
    half = between(start, end, 0.25)
    assert half["w"].tolist() == [1.0, -2.0]
    assert int(half["n"]) == 5
    settings = QUICK | {"rounds": 1, "ways": (0.25,), "cost": 1.0, "rate": 0.001, "steps": 60, "calls": 6000}
    done = brittle.harden("bundled:plain", "sample", ALPHA, tmp_path, **settings)
    assert done.rounds[done.chosen]["way"] == 0.25
    own = load_file(tmp_path / "rounds" / "1.safetensors")
    untouched = brittle.classifier("bundled:plain").module.state_dict()  # type: ignore[attr-defined]
    for key, value in load_file(tmp_path / "weights.safetensors").items():
        torch.testing.assert_close(value, untouched[key] + 0.25 * (own[key] - untouched[key]))


@pytest.mark.parametrize(("loss", "prior"), [("corrected", 0.5), ("equal", 0.0)])
def test_the_loss_asked_for_is_the_one_that_weak_points_are_drawn_for(
    loss: str, prior: float, sample: brittle.ImageSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def spy(*things: object, **options: object) -> object:
        asked.append(options["prior"])
        return weak_pool(*things, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(rounds, "weak_pool", spy)
    brittle.harden("bundled:plain", sample, ALPHA, loss=loss, **QUICK | {"rounds": 1})
    assert asked == [prior]
