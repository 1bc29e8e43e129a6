"""Layers of torch modules: found in order, changed for a while, and left as they were."""

import pytest
import torch
from torch import nn

from brittle.classifiers import classifier
from brittle.classifiers.torch_module import TorchClassifier
from brittle.errors import BrittleError


class Shared(nn.Module):
    """One activation called twice, a dropout, and an output that no layer gives by itself."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.act, self.drop = nn.Linear(16, 8), nn.Linear(8, 3), nn.ReLU(), nn.Dropout(0.5)

    def forward(self, images):
        return 2 * self.act(self.second(self.drop(self.act(self.first(images.flatten(1))))))


@pytest.fixture
def images():
    return torch.rand(5, 1, 4, 4, generator=torch.Generator().manual_seed(3))


@pytest.fixture
def shared(images):
    torch.manual_seed(1)
    found = classifier(Shared())
    found.check(images)
    return found


def test_layers_are_those_that_compute_in_the_order_of_computation(shared):
    assert shared.layers == ("input", "first", "act", "second", "act#2", "output", "weights")


def test_the_last_layer_gives_the_outputs_where_nothing_follows_it(images):
    found = classifier(nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3)))
    found.check(images)
    assert found.layers == ("input", "1", "2", "3", "weights")


class Windowed(nn.Module):
    """A part that sees each image as four rows, and one that gives a number for the whole batch."""

    def __init__(self):
        super().__init__()
        self.rows, self.mean, self.last = nn.Linear(4, 4), Mean(), nn.Linear(16, 3)

    def forward(self, images):
        self.mean(images)
        return self.last(self.rows(images.reshape(-1, 4)).view(len(images), 16))


class Mean(nn.Module):
    def forward(self, images):
        return images.mean()


def test_what_gives_other_than_one_row_per_image_is_no_layer(images):
    found = classifier(Windowed())
    found.check(images)
    assert found.layers == ("input", "last", "weights")


@pytest.mark.parametrize("layer", ["input", "first", "act", "second", "act#2", "output", "weights"])
def test_a_change_that_changes_nothing_keeps_the_answer_and_leaves_nothing_behind(shared, images, layer):
    before, weights = shared.logits(images), [each.clone() for each in shared.module.parameters()]
    with shared.perturbed(layer, lambda values: values * 1.0):
        assert torch.equal(shared.logits(images), before)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in shared.module.modules())
    assert all(map(torch.equal, weights, shared.module.parameters()))


@pytest.mark.parametrize("layer", ["input", "first", "act#2", "output", "weights"])
def test_hooks_and_weights_are_restored_after_an_exception(shared, images, layer):
    before, weights = shared.logits(images), [each.clone() for each in shared.module.parameters()]

    def interrupted():
        with shared.perturbed(layer, lambda values: values + torch.pi):
            assert not torch.equal(shared.logits(images), before)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert torch.equal(shared.logits(images), before)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in shared.module.modules())
    assert all(map(torch.equal, weights, shared.module.parameters()))


def test_the_second_call_of_a_shared_part_is_changed_alone(shared, images):
    module = shared.module
    by_hand = 2 * (module.act(module.second(module.act(module.first(images.flatten(1))))) + 1)
    with shared.perturbed("act#2", lambda values: values + 1):
        assert torch.allclose(shared.logits(images), by_hand)


def test_a_change_sees_all_images_of_a_call_at_once(shared):
    many, seen = torch.rand(40_000, 1, 4, 4), []

    def change(values):
        seen.append(len(values))
        return values

    with shared.perturbed("first", change), torch.no_grad():
        shared.log_probs(many)
    assert seen == [40_000]


def test_all_weights_come_as_one_row(shared, images):
    with shared.perturbed("weights", torch.zeros_like):
        assert torch.equal(shared.logits(images), torch.zeros(5, 3))


def test_gradients_flow_through_changed_weights_as_through_a_call_with_others(shared, images):
    module, parameters = shared.module, dict(shared.module.named_parameters())
    change = torch.zeros(sum(each.numel() for each in parameters.values()), requires_grad=True)
    with shared.perturbed("weights", lambda row: row + 0.1 + change):
        shared.logits(images)[:, 1].sum().backward()
    others = {name: each.detach().add(0.1).requires_grad_() for name, each in parameters.items()}
    torch.func.functional_call(module, others, images)[:, 1].sum().backward()
    assert torch.allclose(change.grad, torch.cat([each.grad.flatten() for each in others.values()]), atol=1e-6)
    assert list(module.named_parameters()) == list(parameters.items())
    assert all(each.grad is None for each in parameters.values())


def test_changes_of_several_layers_stand_within_one_another(shared, images):
    module = shared.module
    with torch.no_grad():
        hidden = module.act(module.first(2 * images.flatten(1))) + 1
        by_hand = 2 * module.act(module.second(hidden))
    with shared.perturbed("act", lambda values: values + 1), shared.perturbed("input", lambda values: 2 * values):
        assert torch.allclose(shared.logits(images), by_hand, atol=1e-6)


class Weightless(nn.Module):
    """A recurrent part keeps its weights in a list of its own, and one weight is used twice."""

    def __init__(self):
        super().__init__()
        self.rows, self.again = nn.LSTM(4, 3, batch_first=True), nn.Linear(3, 3)
        self.last = nn.Linear(3, 3)
        self.last.weight = self.again.weight

    def forward(self, images):
        return self.last(self.again(self.rows(images[:, 0])[0][:, -1]))


def test_recurrent_and_shared_weights_are_changed_and_put_back_too(images):
    torch.manual_seed(0)
    found = classifier(Weightless())
    before, names = found.logits(images), [name for name, _ in found.module.named_parameters()]
    change = torch.zeros(sum(each.numel() for each in found.module.parameters()), requires_grad=True)
    found.check(images)
    with found.perturbed("weights", lambda row: 2 * row + change):
        changed = found.logits(images)
        changed.sum().backward()
    assert bool((change.grad != 0).all())
    with found.perturbed("weights", lambda row: 2 * row):
        assert torch.allclose(found.logits(images), changed, atol=1e-6)
    assert torch.equal(found.logits(images), before)
    assert [name for name, _ in found.module.named_parameters()] == names


def test_an_unknown_layer_is_answered_with_the_nearest(shared):
    with pytest.raises(BrittleError, match=r"has no layer 'frist'.*first"), shared.perturbed("frist", torch.zeros_like):
        pass


def test_logits_of_a_network_that_gives_probabilities_have_gradients(images):
    module = nn.Sequential(nn.Flatten(), nn.Linear(16, 3), nn.Softmax(1))
    found = classifier(module, output="probabilities")
    leaf = images.clone().requires_grad_()
    found.logits(leaf)[:, 1].sum().backward()
    assert torch.allclose(found.logits(images).log_softmax(1), module(images).log(), atol=1e-5)
    assert bool((leaf.grad != 0).any())


class Residual(nn.Module):
    """Two stages that share a part, change values in place, and add what came before."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.rectify, self.last = nn.ReLU(inplace=True), nn.Linear(4, 3)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        before = self.rectify(self.first(images))
        found = self.second(before)
        found += before
        return self.last(self.rectify(found).mean((2, 3)))


@pytest.mark.parametrize("layer", ["first", "rectify", "second", "rectify#2", "last"])
def test_what_comes_before_a_layer_is_kept_and_changes_nothing(layer: str) -> None:
    module = Residual()
    classifier, images = TorchClassifier(module), torch.rand(5, 1, 6, 6)
    classifier.check(images)
    rows, computed = torch.tensor([3, 0, 3]), []

    def doubled(values: torch.Tensor) -> torch.Tensor:
        return 2 * values

    with torch.no_grad():
        with classifier.perturbed(layer, doubled):
            plain = classifier.log_probs(images[rows])
        kept = classifier.before(layer, images, 4, 10**6)
        assert kept is not None
        own = module.first._conv_forward
        module.first._conv_forward = lambda *given: computed.append("first") or own(*given)
        with classifier.resumed(kept.of(rows)), classifier.perturbed(layer, doubled):
            assert torch.equal(classifier.log_probs(images[rows]), plain)
        assert "first" not in computed, "a convolution before the layer is not computed again"
        with classifier.perturbed(layer, doubled):
            classifier.log_probs(images[rows])
        assert "first" in computed, "and afterwards all is as it was"


def test_nothing_is_kept_before_the_images_or_beyond_the_memory_there_is() -> None:
    classifier, images = TorchClassifier(Residual()), torch.rand(5, 1, 6, 6)
    classifier.check(images)
    assert classifier.before("input", images, 4, 10**6) is None
    assert classifier.before("last", images, 4, 100) is None
