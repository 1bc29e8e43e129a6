"""One step for all who ask: what is said of an image depends on that image and its change alone."""

import pytest
import torch
from torch import Tensor

from brittle.measures.answers import Answers
from brittle.measures.changes import AlongFreshPath, AlongPath, DrawnTheta, GivenTheta, Untouched
from brittle.nuisances import nuisance
from brittle.random import fold, stream_root
from brittle.types import UNLABELLED, Batch

COUNT = 10


class Brightness:
    """p(0) is the mean of the image; notes the size of every batch."""

    labels = ("bright", "dark")
    can = frozenset()

    def __init__(self):
        self.sizes = []

    def log_probs(self, images: Tensor) -> Tensor:
        self.sizes.append(len(images))
        mean = images.flatten(1).mean(1)
        return torch.stack((mean, 1 - mean), 1).log()


class Counting:
    """Leaves images alone, counts how often it is asked, and notes which rows it was asked about."""

    traceable = True

    def __init__(self):
        self.calls = 0

    def make(self, batch, at):
        self.calls += 1
        return batch.images, {"id": batch.ids, **at}


def images(count: int = COUNT) -> Batch:
    """Image i is the grey (i + 1) / 20 all over, and so that is p(0)."""
    grey = (torch.arange(count) + 1) / 20
    return Batch(
        grey.view(-1, 1, 1, 1).expand(-1, 1, 6, 6).contiguous(), torch.zeros(count).long(), torch.arange(count)
    )


@pytest.mark.parametrize("size", [1, 3, 4, 7, 100])
@pytest.mark.parametrize("padded", [False, True])
def test_answers_are_those_of_each_image_whatever_the_batch(size, padded):
    rows, asked = torch.tensor([3, 3, 0, 9, 5, 1, 8]), Brightness()
    ticks = []
    answers = Answers(images(), {"it": asked}, size, ticks.append)
    found = answers.all(rows, {}, Untouched(), {"it": torch.zeros(COUNT).long()}, padded=padded)
    torch.testing.assert_close(found.outcomes["it"]().log_p_label.exp(), (rows + 1) / 20)
    assert sum(ticks) == len(rows)
    assert set(asked.sizes) == {size} if padded else sum(asked.sizes) == len(rows)


def test_one_change_serves_all_classifiers_each_with_its_own_right_answer():
    change, rows = Counting(), torch.arange(7)
    answers = Answers(images(), {"a": Brightness(), "b": Brightness(), "c": Brightness()}, 3)
    right = {"a": torch.zeros(COUNT).long(), "b": torch.ones(COUNT).long()}
    found = answers.all(rows, {"draw": 10 * rows}, change, right, padded=True)
    assert change.calls == 3  # batches, and not batches × classifiers
    assert set(found.outcomes) == {"a", "b"}
    first, second = (found.outcomes[name]() for name in "ab")
    torch.testing.assert_close(first.log_p_label, second.log_p_other)
    assert torch.equal(found.notes["id"], rows)
    assert torch.equal(found.notes["draw"], 10 * rows)


def test_without_a_label_what_is_predicted_counts_as_right():
    right = {"it": torch.full((COUNT,), UNLABELLED)}
    found = Answers(images(), {"it": Brightness()}, 4).all(torch.arange(7), {}, Untouched(), right).outcomes["it"]()
    assert found.rank.tolist() == [0] * 7
    assert torch.equal(found.log_p_label, found.log_p_predicted)


def test_nothing_asked_is_nothing_said():
    found = Answers(images(), {"it": Brightness()}, 4).all(torch.arange(0), {}, Untouched(), {"it": torch.zeros(COUNT)})
    assert len(found.outcomes["it"]().rank) == 0


def test_what_is_submitted_is_one_batch():
    asked = Brightness()
    answers = Answers(images(), {"it": asked}, 2)
    rows = torch.tensor([4, 2, 4])
    pending = answers.submit("it", rows, {}, Untouched(), torch.ones(COUNT).long())
    torch.testing.assert_close(pending().log_p_other.exp(), (rows + 1) / 20)
    assert asked.sizes == [3]


# A field of noise over a grey image: θ is the field itself, so that every change can be computed by hand.
SIGMA, ROOT = 0.01, stream_root(5, "noise")


def field(batch: Batch, keys: Tensor) -> Tensor:
    return nuisance(f"noise:sigma={SIGMA},clip=false").sample(batch, keys[:, None])[:, 0].view(batch.images.shape)


@pytest.fixture
def noise():
    return nuisance(f"noise:sigma={SIGMA},clip=false")


def test_a_drawn_change_adds_the_field_of_its_seed_image_and_draw(noise):
    batch, draw = images(4), torch.tensor([7, 0, 7, 3])
    made, _ = DrawnTheta(noise, ROOT).make(batch, {"draw": draw})
    torch.testing.assert_close(made - batch.images, field(batch, fold(fold(ROOT, batch.ids), draw)))
    assert len({float(each) for each in (made - batch.images).flatten(1).mean(1)}) == 4


def test_a_placed_change_adds_the_field_it_is_given(noise):
    batch, theta = images(3), torch.linspace(-0.02, 0.02, 3 * 36).view(3, 36)
    made, _ = GivenTheta(noise).make(batch, {"theta": theta})
    torch.testing.assert_close(made, batch.images + theta.view(3, 1, 6, 6))


def test_a_path_multiplies_its_field_by_the_severity(noise):
    batch, theta = images(3), torch.full((3, 36), 0.01)
    made, _ = AlongPath(noise).make(batch, {"theta": theta, "severity": torch.tensor([0.0, 1.0, 2.5])})
    expected = torch.tensor([0.0, 0.01, 0.025])
    torch.testing.assert_close((made - batch.images).flatten(1).mean(1), expected, atol=1e-6, rtol=0)


def test_a_fresh_path_has_another_field_at_every_place(noise):
    batch = images(2).take(torch.tensor([1, 1]))
    at = {"draw": torch.tensor([4, 4]), "place": torch.tensor([0, 1]), "severity": torch.tensor([2.0, 2.0])}
    made, _ = AlongFreshPath(noise, ROOT).make(batch, at)
    keys = fold(fold(fold(ROOT, batch.ids), at["draw"]), at["place"])
    torch.testing.assert_close(made - batch.images, 2 * field(batch, keys))
    assert not torch.equal(made[0], made[1])


def test_only_what_computes_with_tensors_alone_may_be_compiled(noise):
    assert DrawnTheta(noise, ROOT).traceable
    assert not DrawnTheta(nuisance(lambda image, rng: image), ROOT).traceable
