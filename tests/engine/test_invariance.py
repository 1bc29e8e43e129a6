"""θ and the numbers do not depend on batch size, on the order of the images, or on who else is measured."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from brittle.api import compare, measure
from brittle.images import image_set
from brittle.measures.draws import draw_theta
from brittle.nuisances.geometry.affine import Affine
from brittle.random import stream_root

BATCHES = (1, 7, 64, 1000)


@dataclass(frozen=True)
class Recorded(Affine):
    """Writes down every θ that is applied, by image id."""

    seen: list = field(default_factory=list, init=False, compare=False)

    def apply(self, batch, theta):
        self.seen.extend(zip(batch.ids.tolist(), map(tuple, theta.tolist()), strict=True))
        return super().apply(batch, theta)

    def drawn(self):
        """θ by image, in order of draws."""
        found: dict[int, list] = {}
        for image, theta in self.seen:
            found.setdefault(image, []).append(theta)
        return found


@pytest.fixture
def some():
    """40 images of the sample as arrays with explicit ids."""
    chosen = image_set("sample").choose(40, 5)
    batch = chosen.batch(range(40))
    return batch.images.numpy(), batch.labels.numpy(), batch.ids.numpy()


def shown(images, labels, ids):
    return image_set((images, labels), ids=ids, name="sample")


def test_theta_and_rho_do_not_depend_on_the_batch_size(some):
    thetas, results = [], []
    for batch in BATCHES:
        nuisance = Recorded(alpha=50)
        results.append(measure("bundled:plain", shown(*some), nuisance, samples=6, batch=batch))
        thetas.append(nuisance.drawn())
        assert sum(map(len, thetas[-1].values())) == 40 * 6
    assert all(theta == thetas[0] for theta in thetas)
    for result in results[1:]:
        for key in ("rho", "accuracy_nuisance", "accuracy_clean", "accuracy_worst", "flip_rate"):
            assert result[key] == pytest.approx(results[0][key], abs=1e-6)
        assert result["interval"] == pytest.approx(results[0]["interval"], abs=1e-6)


def test_theta_and_rho_do_not_depend_on_the_order_of_the_images(some):
    found = []
    for order in (np.arange(40), np.random.default_rng(0).permutation(40)):
        nuisance = Recorded(alpha=50)
        images = shown(*(each[order] for each in some))
        found.append((measure("bundled:plain", images, nuisance, samples=6, count=25), nuisance.drawn()))
    (first, theta), (second, other_theta) = found
    assert theta == other_theta
    assert len(theta) == 25
    assert second["rho"] == pytest.approx(first["rho"], abs=1e-6)
    assert second["interval"] == pytest.approx(first["interval"], abs=1e-6)


def test_theta_is_a_function_of_seed_image_and_draw_alone(some):
    nuisance = Recorded(alpha=50)
    measure("bundled:plain", shown(*some), nuisance, samples=6, seed=3)
    whole = shown(*some).batch(range(40))
    root = stream_root(3, "Recorded")
    for image, thetas in nuisance.drawn().items():
        one = whole.take((whole.ids == image).nonzero()[0].repeat(6))
        assert [tuple(theta) for theta in draw_theta(nuisance, one, torch.arange(6), root).tolist()] == thetas


def test_another_seed_gives_other_draws_and_other_images(some):
    thetas = []
    for seed in (0, 1):
        nuisance = Recorded(alpha=50)
        measure("bundled:plain", shown(*some), nuisance, samples=6, seed=seed, count=20)
        thetas.append(nuisance.drawn())
    assert set(thetas[0]) != set(thetas[1])
    assert all(thetas[0][image] != thetas[1][image] for image in set(thetas[0]) & set(thetas[1]))


def test_no_two_images_or_draws_share_a_theta(some):
    nuisance = Recorded(alpha=50)
    measure("bundled:plain", shown(*some), nuisance, samples=6)
    drawn = [theta for thetas in nuisance.drawn().values() for theta in thetas]
    assert len(set(drawn)) == 240


def test_each_image_is_transformed_once_for_all_classifiers(some):
    one, three = Recorded(alpha=50), Recorded(alpha=50)
    measure("bundled:plain", shown(*some), one, samples=6)
    compare({"a": "bundled:plain", "b": "bundled:augmented", "c": "bundled:plain"}, shown(*some), three, samples=6)
    assert len(three.seen) == len(one.seen) == 40 * 6


def test_a_classifier_gets_the_same_numbers_alone_and_in_company(some, own):
    alone = measure("bundled:plain", shown(*some), "affine:alpha=50", samples=6)
    both = compare(
        {"other": "bundled:augmented", "classifier": "bundled:plain"}, shown(*some), "affine:alpha=50", samples=6
    )
    assert own(both["results"][1]) == own(alone["results"][0])


def test_a_classifier_compared_with_itself_is_a_tie_of_nothing(some):
    pair = compare({"a": "bundled:plain", "b": "bundled:plain"}, shown(*some), "affine", samples=6)["comparisons"][0]
    assert (pair["rho_difference"], pair["accuracy_nuisance_difference"], pair["rho_better"]) == (0, 0, "tie")
    assert pair["rho_interval"][0] <= 0 <= pair["rho_interval"][1]


def test_more_draws_keep_the_first_ones(some):
    few, many = Recorded(alpha=50), Recorded(alpha=50)
    measure("bundled:plain", shown(*some), few, samples=3)
    measure("bundled:plain", shown(*some), many, samples=5)
    assert {image: thetas[:3] for image, thetas in many.drawn().items()} == few.drawn()
