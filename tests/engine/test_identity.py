"""What a run knows a live object by: whatever may change an answer, and nothing else."""

import functools
import types

import pytest
import torch
from torch import nn

import brittle
from brittle.engine.identity import identity
from brittle.errors import BrittleError

NUISANCE = "rotation:sigma=15"
GLOBAL = nn.Linear(784, 10)
FACTOR = 1.0


def network(shift: float = 0.0) -> nn.Module:
    torch.manual_seed(0)
    made = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    with torch.no_grad():
        made[1].bias += shift
    return made


class Scaled(nn.Module):
    def __init__(self, temperature=1.0, activation=torch.tanh):
        super().__init__()
        self.inner, self.temperature, self.activation = network(), temperature, activation
        self._seen: dict[int, torch.Tensor] = {}

    @functools.cached_property
    def offset(self):
        return torch.zeros(10)

    def forward(self, images):
        self._seen[len(images)] = images
        return self.activation(self.inner(images)) / self.temperature + self.offset


class Holder:
    def __init__(self, module):
        self.module = module

    def scores(self, images):
        return self.module(images)


def closing(module):
    return lambda images: module(images)


def of_a_global(images):
    return GLOBAL(images.flatten(1)) * FACTOR


def doubled(module, inputs, outputs):
    return outputs * 2


def hooked():
    found = network()
    found[1].register_forward_hook(doubled)
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: Holder(network()).scores, lambda: Holder(network(0.01)).scores),
        (lambda: closing(network()), lambda: closing(network(0.01))),
        (lambda: Scaled(), lambda: Scaled(temperature=2.0)),
        (lambda: Scaled(), lambda: Scaled(activation=torch.relu)),
        (lambda: network(), hooked),
    ],
    ids=["the network of a method", "what a function closes over", "a value", "an activation", "a hook"],
)
def test_what_may_change_an_answer_makes_another_object(one, other):
    assert identity(one()) == identity(one())
    assert identity(one()) != identity(other())


def test_a_function_is_known_by_the_globals_that_it_uses(monkeypatch):
    before = identity(of_a_global)
    assert identity(of_a_global) == before
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert identity(of_a_global) != before
    monkeypatch.undo()
    with torch.no_grad():
        GLOBAL.bias += 0.01
    assert identity(of_a_global) != before


def test_what_a_call_leaves_behind_and_training_mode_do_not_count():
    module = Scaled()
    before = identity(module)
    module(torch.zeros(2, 1, 28, 28))
    assert identity(module.train()) == before


def test_the_order_of_a_set_does_not_count():
    def chosen(label):
        return label in {0, 8}

    consts = [frozenset([8, 0]) if isinstance(each, frozenset) else each for each in chosen.__code__.co_consts]
    assert list(frozenset([8, 0])) != list(frozenset([0, 8]))  # as it is from one process to the next
    again = types.FunctionType(chosen.__code__.replace(co_consts=tuple(consts)), chosen.__globals__)
    assert identity(again) == identity(chosen)


def test_a_kept_run_refuses_a_method_of_an_object_that_holds_another_network(tmp_path):
    call = functools.partial(brittle.measure, nuisance=NUISANCE, samples=2, count=5, out=tmp_path / "run")
    call(Holder(network()).scores, "sample")
    with pytest.raises(BrittleError, match="is not the one that the run in"):
        call(Holder(network(0.01)).scores, "sample")
