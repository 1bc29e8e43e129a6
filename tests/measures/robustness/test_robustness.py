"""ρ and µ against quadrature and against another implementation, and what stands beside them."""

import math
import re

import numpy as np
import pyarrow.compute as pc
import pytest
import scipy.integrate
import scipy.ndimage
import scipy.optimize
import scipy.special
import scipy.stats
import torch

import brittle
from brittle.errors import BrittleError
from brittle.measures.draws import draw_theta
from brittle.measures.outcomes import outcome
from brittle.measures.plan import Unit
from brittle.measures.robustness.clean_warnings import temperature
from brittle.measures.robustness.estimate import ImagesPart, PlanReach, estimate, estimates, part_samples
from brittle.measures.robustness.measure import Robustness
from brittle.measures.robustness.summary import clean_accuracy
from brittle.measures.robustness.tally import Tally
from brittle.random import stream_root
from brittle.statistics.intervals import betting_bounds, finite_bounds, rounds_bounds

pytestmark = pytest.mark.warned("has a mean confidence of")

SIZE, STEEPNESS, SIGMA = 48, 0.9, 3.0


def blobs(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Gaussian blobs at random places near the middle, well inside the image; and where they are, from the middle."""
    generator = torch.Generator().manual_seed(0)
    places = torch.rand(count, 2, generator=generator, dtype=torch.float64) * 6 - 3
    at = torch.arange(SIZE, dtype=torch.float64) - (SIZE - 1) / 2
    x = torch.exp(-0.5 * ((at - places[:, :1]) / 2.5).square())
    y = torch.exp(-0.5 * ((at - places[:, 1:]) / 2.5).square())
    return (y[:, None, :, None] * x[:, None, None, :]).float(), places


def right_of_the_middle(images: torch.Tensor) -> torch.Tensor:
    """Logits (0, β·x̄), x̄ the centre of mass across in pixels from the middle."""
    at = torch.arange(SIZE) - (SIZE - 1) / 2
    mean = (images.sum((1, 2)) * at).sum(1) / images.sum((1, 2, 3))
    return torch.stack((torch.zeros_like(mean), STEEPNESS * mean), 1)


def exact_mu(x: float) -> float:
    """∫ sigmoid(β (x − s)) N(s; 0, σ²) ds: a shift by s moves the content s to the left."""

    def integrand(s: float) -> float:
        return float(scipy.special.expit(STEEPNESS * (x - s)) * scipy.stats.norm.pdf(s, scale=SIGMA))

    return scipy.integrate.quad(integrand, -12 * SIGMA, 12 * SIGMA)[0]


@pytest.fixture(scope="module")
def blob_study():
    images, places = blobs(60)
    truth = np.array([exact_mu(x) for x in places[:, 0].tolist()])
    return (images, torch.ones(60, dtype=torch.int64)), truth


@pytest.mark.warned("is near chance on the untouched images")
@pytest.mark.parametrize("estimand", ["population", "set", "drawn"])
def test_rho_matches_quadrature_for_a_classifier_that_sees_the_centre_of_mass(blob_study, estimand):
    images, truth = blob_study
    found = brittle.measure(
        right_of_the_middle, images, f"translation:sigma={SIGMA},unit=pixels", samples=400, estimand=estimand
    )
    # θ is all that is random for exactly these images; 0.4 bounds the deviation of p(ℓ) over θ.
    assert found["rho"] == pytest.approx(truth.mean(), abs=4 * 0.4 / np.sqrt(60 * 400))
    low, high = found["interval"]
    assert low <= found["rho"] <= high
    # The population's interval is wider than that of these images: it holds their mean too.
    assert low <= truth.mean() <= high


@pytest.mark.warned("is near chance on the untouched images")
def test_mu_of_each_image_matches_quadrature(blob_study):
    images, truth = blob_study
    for place in range(0, 60, 12):
        found = brittle.measure(
            right_of_the_middle,
            images,
            f"translation:sigma={SIGMA},unit=pixels",
            ids=[place],
            samples=4000,
            estimand="set",
        )
        assert found["rho"] == pytest.approx(truth[place], abs=4 * 0.4 / np.sqrt(4000))


@pytest.mark.warned("this prior may destroy the label")
def test_mu_agrees_with_an_independent_implementation_of_the_warp_and_the_network():
    """scipy.ndimage warps, numpy computes the bundled network layer by layer, for the same θ."""
    images = brittle.image_set("sample").take(range(0, 1000, 201))
    space, draws = brittle.nuisance("affine:alpha=50"), 6
    batch = images.batch(range(len(images)))
    weights = {
        name: value.double().numpy() for name, value in brittle.classifier("bundled:plain").module.state_dict().items()
    }
    mu = np.zeros(len(images))
    for draw in range(draws):
        theta = draw_theta(space, batch, torch.full((len(images),), draw), stream_root(0, "affine")).double().numpy()
        for place in range(len(images)):
            p = numpy_network(weights, scipy_affine(batch.images[place, 0].double().numpy(), theta[place]))
            mu[place] += p[int(batch.labels[place])] / draws
    for place in range(len(images)):
        found = brittle.measure("bundled:plain", images, space, ids=[int(images.ids[place])], samples=draws)
        assert found["rho"] == pytest.approx(mu[place], abs=2e-4)


def scipy_affine(image: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """T_θ of a 28×28 image with zeros outside, in scipy's (row, column) pixel indices."""
    linear, shift, middle = theta[:4].reshape(2, 2).T, theta[4:] * 14, 13.5
    offset = middle + shift - linear @ np.full(2, middle)
    padded = np.pad(image, 40)
    swapped = linear[::-1, ::-1]
    return scipy.ndimage.affine_transform(padded, swapped, offset[::-1] + 40, (28, 28), order=1)


def numpy_network(weights: dict[str, np.ndarray], image: np.ndarray) -> np.ndarray:
    """conv – relu – pool, twice; linear – relu – linear; softmax."""
    layer = image[None]
    for name in ("layers.0", "layers.3"):
        kernel, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        maps = [
            sum(scipy.ndimage.correlate(layer[c], kernel[k, c], mode="constant") for c in range(len(layer))) + bias[k]
            for k in range(len(kernel))
        ]
        maps = np.maximum(np.stack(maps), 0)
        layer = maps.reshape(len(kernel), maps.shape[1] // 2, 2, maps.shape[2] // 2, 2).max((2, 4))
    hidden = np.maximum(weights["layers.7.weight"] @ layer.ravel() + weights["layers.7.bias"], 0)
    return scipy.special.softmax(weights["layers.9.weight"] @ hidden + weights["layers.9.bias"])


def test_log_p_not_label_stays_finite_for_a_certain_classifier():
    logits = torch.tensor([[60.0, 0.0, -1.0]])
    found = outcome(torch.log_softmax(logits, 1), torch.tensor([0]))
    assert found.log_p_other.item() == pytest.approx(-60 + np.log(1 + np.exp(-1)), abs=1e-4)


def test_a_hard_classifier_has_minus_infinity_and_no_nan():
    found = outcome(torch.tensor([[1.0, 0.0]]).log(), torch.tensor([1]))
    assert found.log_p_label == -torch.inf
    assert found.log_p_other == 0
    assert not found.packed().isnan().any()


def rows_of(log_p: np.ndarray, rank: np.ndarray, predicted: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "log_p_label": log_p.ravel(),
        "rank": rank.ravel(),
        "predicted": predicted.ravel(),
        "log_p_predicted": log_p.ravel(),
    }


def test_a_tally_is_the_same_in_whichever_units_rows_come():
    rng = np.random.default_rng(0)
    log_p, rank = np.log(rng.random((4, 6))), rng.integers(0, 7, (4, 6))
    clean = np.array([1, 2, 0, 3])
    whole, parted = Tally(4, worst_of=3, rounds=6), Tally(4, worst_of=3, rounds=6)
    whole.update(Unit(range(4), range(6)), rows_of(log_p, rank, rank), clean)
    parted.update(Unit(range(2), range(6)), rows_of(log_p[:2], rank[:2], rank[:2]), clean[:2])
    parted.update(Unit(range(2, 4), range(2)), rows_of(log_p[2:, :2], rank[2:, :2], rank[2:, :2]), clean[2:])
    parted.update(Unit(range(2, 4), range(2, 6)), rows_of(log_p[2:, 2:], rank[2:, 2:], rank[2:, 2:]), clean[2:])
    for name in ("draws", "confidence", "correct", "top5", "nll", "flips", "wrong_among_first", "calibration"):
        np.testing.assert_allclose(getattr(parted, name), getattr(whole, name), err_msg=name)
    np.testing.assert_allclose(parted.confidence_by_round, whole.confidence_by_round)
    np.testing.assert_array_equal(whole.wrong_among_first, (rank[:, :3] > 0).sum(1))
    np.testing.assert_allclose(whole.flips, (rank != clean[:, None]).sum(1))


def test_what_stands_beside_rho_is_what_the_rows_say():
    """NLL, ECE, top-5, accuracy and worst-of-k recomputed from probabilities by other means."""
    draws, images = 12, brittle.image_set("sample").take(range(40))
    found = brittle.measure(
        "bundled:plain", images, "affine:alpha=20", samples=draws, worst_of=4, extra=("nll", "ece", "top5")
    )
    net, space, batch = (
        brittle.classifier("bundled:plain"),
        brittle.nuisance("affine:alpha=20"),
        images.batch(range(40)),
    )
    p = []
    for draw in range(draws):
        theta = draw_theta(space, batch, torch.full((40,), draw), stream_root(0, "affine"))
        p.append(net.log_probs(space.apply(batch, theta)).detach().exp().double().numpy())
    p, labels = np.stack(p, 1), batch.labels.numpy()  # (images, draws, classes)
    own = p[np.arange(40), :, labels]
    order = np.argsort(-p, axis=-1)
    right = order[..., 0] == labels[:, None]
    assert found["rho"] == pytest.approx(own.mean(), abs=1e-6)
    assert found["nll"] == pytest.approx(-np.log(own).mean(), abs=1e-5)
    assert found["accuracy_nuisance"] == pytest.approx(right.mean())
    assert found["accuracy_worst"] == pytest.approx(right[:, :4].all(1).mean())
    assert found["top5"] == pytest.approx((order[..., :5] == labels[:, None, None]).any(-1).mean())
    clean = net.log_probs(batch.images).argmax(1).numpy()
    drops = (clean == labels) - right.mean(1)
    assert found["drop"] == pytest.approx(drops.mean())
    assert found["drop_interval"][0] < found["drop"] < found["drop_interval"][1]
    assert found["flip_rate"] == pytest.approx((order[..., 0] != clean[:, None]).mean())
    top, error = p.max(-1).ravel(), 0.0
    for low in np.arange(15) / 15:
        inside = (top > low) & (top <= low + 1 / 15)
        error += abs(top[inside].sum() - right.ravel()[inside].sum())
    assert found["ece"] == pytest.approx(error / top.size, abs=1e-6)


def test_a_paired_difference_is_narrower_than_two_intervals_and_zero_for_the_same_classifier():
    both = brittle.compare(
        {"a": "bundled:plain", "b": "bundled:augmented", "c": "bundled:plain"},
        "sample",
        "affine",
        count=200,
        samples=10,
    )
    rows = {row["classifier"]: row for row in both["results"]}
    pairs = {(pair["first"], pair["second"]): pair for pair in both["comparisons"]}
    difference = pairs["a", "b"]
    assert difference["rho_difference"] == pytest.approx(rows["a"]["rho"] - rows["b"]["rho"])
    assert difference["rho_better"] == "second"
    alone = rows["a"]["half_width"] + rows["b"]["half_width"]
    assert (difference["rho_interval"][1] - difference["rho_interval"][0]) / 2 < 0.7 * alone
    assert pairs["a", "c"]["rho_difference"] == 0
    assert pairs["a", "c"]["rho_better"] == "tie"


def test_classes_are_measured_on_their_own_images():
    found = brittle.measure("bundled:plain", "sample", "affine", count=300, samples=5)
    bags = next(row for row in found["classes"] if row["class"] == "Bag")
    ids = brittle.image_set("sample").choose(300, seed=0).where("class=Bag").ids.tolist()
    alone = brittle.measure("bundled:plain", "sample", "affine", ids=ids, samples=5)
    assert sum(row["images"] for row in found["classes"]) == 300
    assert bags["images"] == len(ids) < 60
    assert bags["rho"] == pytest.approx(alone["rho"], abs=1e-6)
    wide, narrow = bags["interval_simultaneous"], bags["interval"]
    assert wide[0] < narrow[0] < narrow[1] <= wide[1]


@pytest.mark.parametrize("estimand", ["population", "set", "drawn"])
def test_each_class_has_the_interval_of_its_images_alone(estimand):
    """Those of all classes are computed together; here one after the other, from the rows."""
    count = None if estimand == "set" else 150
    found = brittle.measure("bundled:plain", "sample", "affine:alpha=50", count=count, samples=4, estimand=estimand)
    sample, rows = brittle.image_set("sample"), found.rows
    planned = sample.choose(count, seed=0)
    p, right = (
        {
            key: rows.filter(pc.equal(rows["image"], key)).sort_by("draw")[column].to_numpy()
            for key in planned.ids.tolist()
        }
        for column in ("log_p_label", "rank")
    )
    confidence = Robustness().confidence
    for row in found["classes"]:
        ids = planned.ids[planned.labels == row["label"]].tolist()
        population = int((sample.labels == row["label"]).sum())
        for what, of, key in (("rho", p, "interval"), ("accuracy_nuisance", right, "accuracy_nuisance_interval")):
            values = np.stack([np.exp(of[each]) if what == "rho" else of[each] == 0.0 for each in ids]).astype(float)
            means = values.mean(1)
            bounds = {
                "population": lambda: betting_bounds(means, confidence, planned=len(ids)),  # noqa: B023
                "set": lambda: rounds_bounds(values.T, confidence, planned=4),  # noqa: B023
                "drawn": lambda: finite_bounds(means, confidence, population=population, draws=4, planned=len(ids)),  # noqa: B023
            }[estimand]()
            assert row[what] == pytest.approx(means.mean(), abs=1e-6)
            assert row[key] == pytest.approx(bounds.pair(), abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples is 0, but must lie between 1 and"),
        ({"tolerance": 0.7}, "tolerance is 0.7"),
        ({"confidence": 95.0}, "confidence is 95"),
        ({"worst_of": 0}, "worst-of is 0"),
    ],
)
def test_an_impossible_option_is_refused(options, message):
    with pytest.raises(BrittleError, match=message):
        brittle.measure("bundled:plain", "sample", "rotation", count=2, **options)


def test_classes_that_the_images_do_not_name_are_called_as_the_classifier_calls_them():
    batch = brittle.image_set("sample").batch(range(40))
    images = (batch.images[:, 0].mul(255).round().byte().numpy(), batch.labels.numpy())
    found = brittle.measure("bundled:plain", images, "rotation", samples=2)
    assert {row["class"] for row in found["classes"]} <= set(brittle.classifier("bundled:plain").labels)


@pytest.mark.parametrize("estimand", ["population", "set", "drawn"])
def test_every_estimate_lies_in_its_interval(estimand):
    """Over simulated studies, with means that fall towards the end of the plan: ρ, accuracies, paired differences."""
    measure = Robustness(samples=4, estimand=estimand, confidence=0.8)
    rng, images, outside = np.random.default_rng(3), 120, []
    for _ in range(150):
        p = rng.beta(8, 0.4, (2, 4, images)) * np.where(np.arange(images) < rng.integers(40, 120), 1.0, 0.6)
        first, second = (simulated_tally(measure, each) for each in p)
        reach = PlanReach(images, 4, 1, True)
        first_half = np.arange(images) < 60
        halves = [ImagesPart(np.arange(60), 60, 250), ImagesPart(np.arange(60, 120), 60, 250)]
        found = [estimate(measure, first, reach, 500, what) for what in ("confidence", "correct", "flips", "worst")]
        found += [estimate(measure, first, reach, 500, what, minus=second) for what in ("confidence", "correct")]
        found += [estimate(measure, first, reach, 500, only=first_half, minus=second)]
        found += estimates(measure, part_samples(measure, first, reach, halves))
        found += [clean_accuracy(measure, p[0, 0] > 0.7, images, 500)]
        outside += [each for each in found if not each.low <= each.value <= each.high]
    assert outside == []


def simulated_tally(measure: Robustness, p: np.ndarray) -> Tally:
    """p (draws, images), right where it is above ½."""
    draws, images = p.shape
    tally = Tally(images, measure.worst_of, draws if measure.estimand == "set" else 0)
    unit = Unit(range(images), range(draws))
    wrong = (p.T <= 0.5).astype(np.int32).ravel()
    tally.update(unit, rows_of(np.log(p.T.ravel()), wrong, wrong), np.zeros(images, np.int64))
    return tally


class Tempered:
    """The bundled classifier with its logits divided by T: the same predictions."""

    def __init__(self, t: float) -> None:
        self.network, self.t = brittle.classifier("bundled:augmented"), t

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        return self.network.log_probs(images) / self.t


def test_a_confidence_far_from_accuracy_is_said_once():
    found = brittle.compare(
        {"doubting": Tempered(6.0), "as it is": "bundled:augmented"}, "sample", "translation", count=100, samples=4
    )
    said = [each for each in found.summary["warnings"] if "mean confidence" in each]
    assert len(said) == 1
    assert said[0].startswith("'doubting'")
    assert "its logits are too small: dividing them by " in said[0]
    # T by the whole softmax, which the stored rows do not have.
    log_p = brittle.classifier("bundled:augmented").log_probs(found_images(100)).detach().double().numpy() / 6
    confidence, accuracy = (float(re.search(rf"{word} of ([\d.]+)", said[0])[1]) for word in ("confidence", "accuracy"))
    assert confidence == pytest.approx(tempered(log_p, 1.0).mean(), abs=6e-4)
    bound = float(re.search(r"dividing them by ([\d.]+) or less", said[0])[1])
    assert exact_temperature(log_p, accuracy) < bound < 0.5


def found_images(count: int) -> torch.Tensor:
    """Those that a study of so many images looks at."""
    return brittle.image_set("sample").choose(count, 0).batch(range(count)).images


def tempered(logits: np.ndarray, t: float) -> np.ndarray:
    """The probabilities of the likeliest classes."""
    return scipy.special.softmax(logits / t, axis=1).max(1)


def exact_temperature(logits: np.ndarray, accuracy: float) -> float:
    return scipy.optimize.brentq(lambda t: tempered(logits, t).mean() - accuracy, 0.01, 100)


def test_the_temperature_is_exact_for_two_classes():
    odds = np.abs(np.random.default_rng(0).normal(2, 1, 500))
    t = temperature(np.log(scipy.special.expit(odds / 3)), float(scipy.special.expit(odds).mean()), 2)
    assert t == pytest.approx(1 / 3, rel=1e-3)
    assert temperature(np.log(np.full(5, 0.9)), 0.3, 2) is None


@pytest.mark.parametrize("classes", [3, 10, 1000])
def test_the_temperature_is_exact_where_the_other_classes_share_the_rest_equally(classes):
    # One logit of a and the others 0: p = 1 / (1 + (K − 1) exp(−a / T)).
    a, t = np.random.default_rng(1).uniform(4, 12, 300), 2.5
    p, goal = (1 / (1 + (classes - 1) * np.exp(-a / each)) for each in (1.0, t))
    assert temperature(np.log(p), goal.mean(), classes) == pytest.approx(t, rel=1e-3)


@pytest.mark.parametrize("classes", [3, 10, 100])
@pytest.mark.parametrize("t", [0.2, 0.5, 2.0, 5.0])
def test_the_temperature_lies_between_one_and_the_true_one_for_more_classes(classes, t):
    logits = np.random.default_rng(classes).normal(0, 3, (400, classes))
    accuracy = tempered(logits, t).mean()
    truth, said = exact_temperature(logits, accuracy), temperature(np.log(tempered(logits, 1.0)), accuracy, classes)
    assert truth == pytest.approx(t, rel=1e-6)
    assert abs(math.log(said)) <= abs(math.log(t))
    assert math.log(said) * math.log(t) > 0
    assert abs(math.log(said)) > 0.3 * abs(math.log(t))


@pytest.mark.warned("one is more confident")
def test_rho_and_accuracy_that_favour_different_classifiers_are_said():
    found = brittle.compare(
        {"doubting": Tempered(6.0), "plain": "bundled:plain"}, "sample", "affine:alpha=100", count=150, samples=10
    )
    pair = found["comparisons"][0]
    assert pair["rho_difference"] < 0 < pair["accuracy_nuisance_difference"]
    assert any("ρ is higher for 'plain' and accuracy for 'doubting'" in each for each in found.summary["warnings"])
