"""What a run knows a live object by: whatever may change an answer, and nothing else."""

import collections
import dataclasses
import datetime
import enum
import functools
import os
import subprocess
import sys
import types
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.data import TensorDataset

import brittle
from brittle.engine.hashes.object_hash import ObjectHash, object_hash, private_values
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


class Slotted:
    __slots__ = ("factor", "module")

    def __init__(self, factor):
        self.module, self.factor = network(), factor

    def __call__(self, images):
        return self.module(images) * self.factor


class Stateful:
    """Says itself what its state is, in which a handle has no place."""

    def __init__(self, factor):
        self.factor, self.handle = factor, (each for each in ())

    def __getstate__(self):
        return {"factor": self.factor}


class Kind(enum.Enum):
    SOFT, HARD = 1, 2


@dataclasses.dataclass
class Settings:
    factor: float


Pair = collections.namedtuple("Pair", "first second")


def closing(value):
    return lambda images: (value, images)


def defaulting(value):
    def scores(images, factor=value):
        return images * factor

    return scores


def with_attribute(value):
    def scores(images):
        return images * scores.factor

    scores.factor = value
    return scores


def of_a_global(images):
    return GLOBAL(images.flatten(1)) * FACTOR


def through_a_helper(images):
    return of_a_global(images)


def doubled(module, inputs, outputs):
    return outputs * 2


def changed(change):
    found = network()
    change(found)
    return found


def buffered(value, persistent):
    return changed(lambda net: net.register_buffer("scale", torch.tensor(value), persistent=persistent))


def with_value(name, value):
    return changed(lambda net: setattr(net[1], name, value))


def with_class_value(value):
    torch.manual_seed(0)
    return type("Own", (nn.Linear,), {"factor": value})(3, 2)


def patched(factor):
    """A library's module whose `forward` somebody has replaced."""

    def forward(self, images):
        return nn.functional.linear(images, self.weight, self.bias) * factor

    return changed(lambda net: setattr(net[1], "forward", types.MethodType(forward, net[1])))


def normed(dim):
    return changed(lambda net: parametrizations.weight_norm(net[1], dim=dim))


def hooked(register, hook):
    return changed(lambda net: getattr(net[1], register)(hook))


def traced(factor):
    class Times(nn.Module):
        def forward(self, images):
            return images * factor

    return torch.fx.symbolic_trace(Times())


def scripted(shift):
    return torch.jit.script(network(shift))


class Shifted(nn.Module):
    def __init__(self, shift):
        super().__init__()
        self._shift = torch.full((100,), shift)

    def forward(self, images):
        return images + self._shift.sum()


def compiled(shift):
    return torch.compile(network(shift))


PAIRS = {
    "the network of a method": (lambda: Holder(network()).scores, lambda: Holder(network(0.01)).scores),
    "a network that a function closes over": (lambda: closing(network()), lambda: closing(network(0.01))),
    "a value": (lambda: Scaled(), lambda: Scaled(temperature=2.0)),
    "an activation": (lambda: Scaled(), lambda: Scaled(activation=torch.relu)),
    "a buffer": (lambda: buffered(1.0, True), lambda: buffered(2.0, True)),
    "a buffer that is not persistent": (lambda: buffered(1.0, False), lambda: buffered(2.0, False)),
    "a private tensor": (lambda: with_value("_t", torch.ones(2)), lambda: with_value("_t", torch.zeros(2))),
    "a private number": (lambda: with_value("_t", 1.0), lambda: with_value("_t", 2.0)),
    "a private list of arrays": (
        lambda: with_value("_t", [np.ones(2)]),
        lambda: with_value("_t", [np.zeros(2)]),
    ),
    "a patched forward": (lambda: patched(1.0), lambda: patched(2.0)),
    "a forward that was not patched": (network, lambda: patched(1.0)),
    "a class's value": (lambda: with_class_value(np.ones(2)), lambda: with_class_value(np.zeros(2))),
    "a forward hook": (network, lambda: hooked("register_forward_hook", doubled)),
    "a hook ahead of forward": (network, lambda: hooked("register_forward_pre_hook", lambda module, inputs: inputs)),
    "a hook on gradients": (network, lambda: hooked("register_full_backward_hook", lambda module, a, b: a)),
    "a parametrization": (lambda: normed(0), lambda: normed(1)),
    "a traced module": (lambda: traced(1.0), lambda: traced(2.0)),
    "a scripted module": (lambda: scripted(0.0), lambda: scripted(0.01)),
    "a private tensor of a scripted module": (
        lambda: torch.jit.script(Shifted(1.0)),
        lambda: torch.jit.script(Shifted(1.00001)),
    ),
    "a compiled module": (lambda: compiled(0.0), lambda: compiled(0.01)),
    "slots": (lambda: Slotted(1.0), lambda: Slotted(2.0)),
    "what __getstate__ tells": (lambda: Stateful(1.0), lambda: Stateful(2.0)),
    "a partial": (lambda: functools.partial(closing, 1), lambda: functools.partial(closing, 2)),
    "a default": (lambda: defaulting(1.0), lambda: defaulting(2.0)),
    "an attribute of a function": (lambda: with_attribute(1.0), lambda: with_attribute(2.0)),
    "a cached function": (lambda: functools.cache(closing(1)), lambda: functools.cache(closing(2))),
    "a decorated function": (lambda: torch.no_grad()(closing(1)), lambda: torch.no_grad()(closing(2))),
    "a compiled function": (lambda: torch.compile(closing(1)), lambda: torch.compile(closing(2))),
}  # fmt: skip
VALUES = {
    "np.float32": (np.float32(1), np.float32(2)),
    "np.datetime64": (np.datetime64("2020"), np.datetime64("2021")),
    "the type of a number": (1, 1.0),
    "Decimal": (Decimal("1.5"), Decimal("2.5")),
    "Fraction": (Fraction(1, 2), Fraction(1, 3)),
    "complex": (1j, 2j),
    "bytes": (b"a", b"b"),
    "bytearray": (bytearray(b"a"), bytearray(b"b")),
    "datetime": (datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)),
    "a path": (Path("a"), Path("b")),
    "an enum": (Kind.SOFT, Kind.HARD),
    "a dataclass": (Settings(1.0), Settings(2.0)),
    "a named tuple": (Pair(1, 2), Pair(1, 3)),
    "a set": ({1, "a"}, {2, "a"}),
    "a frozenset": (frozenset({1}), frozenset({2})),
    "a deque": (collections.deque([1, 2]), collections.deque([1, 3])),
    "a proxy of a mapping": (types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2})),
    "a mapping inside a list": ([{"a": (1, 2)}], [{"a": (1, 3)}]),
    "a dtype": (torch.float32, torch.float16),
    "an array of objects": (np.array([1, "a"], object), np.array([2, "a"], object)),
    "a sparse tensor": (torch.eye(3).to_sparse(), (2 * torch.eye(3)).to_sparse()),
    "a complex tensor": (torch.ones(2) * 1j, torch.ones(2) * 2j),
    "a conjugate": (torch.ones(2) * (1 + 1j), (torch.ones(2) * (1 + 1j)).conj()),
    "an empty tensor": (torch.zeros(0, 2), torch.zeros(2, 0)),
    "torch's generator": (torch.Generator().manual_seed(0), torch.Generator().manual_seed(1)),
    "numpy's generator": (np.random.default_rng(0), np.random.default_rng(1)),
    "a slotted object": (Slotted(1.0), Slotted(2.0)),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("one", "other"), PAIRS.values(), ids=PAIRS)
def test_what_may_change_an_answer_makes_another_object(one, other):
    assert object_hash(one()).unknown == ""
    assert object_hash(one()) == object_hash(one())
    assert object_hash(one()) != object_hash(other())


HOLDERS = {
    "as an attribute": Holder,
    "closed over": closing,
    "in a library's module": lambda value: with_value("_t", value),
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize(("one", "other"), VALUES.values(), ids=VALUES)
def test_every_kind_of_value_is_told_apart(one, other, holder):
    assert object_hash(holder(one)).unknown == ""
    assert object_hash(holder(one)) == object_hash(holder(one))
    assert object_hash(holder(one)) != object_hash(holder(other))


def test_a_function_is_known_by_the_globals_that_it_and_its_helpers_use(monkeypatch):
    before = object_hash(of_a_global), object_hash(through_a_helper)
    assert (object_hash(of_a_global), object_hash(through_a_helper)) == before
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert object_hash(of_a_global) != before[0]
    assert object_hash(through_a_helper) != before[1]
    monkeypatch.undo()
    with torch.no_grad():
        GLOBAL.bias += 0.01
    assert object_hash(of_a_global) != before[0]
    assert object_hash(through_a_helper) != before[1]


def test_a_function_is_known_by_what_it_reads_in_modules_of_the_users(monkeypatch):
    helpers = types.ModuleType("helpers_of_mine")
    helpers.factor, helpers.other = 1.0, 1.0
    monkeypatch.setitem(sys.modules, "helpers_of_mine", helpers)
    monkeypatch.setitem(globals(), "helpers_of_mine", helpers)

    def inside(images):
        import helpers_of_mine as mine

        return images * mine.factor

    def around(images):
        return images * helpers_of_mine.factor  # noqa: F821

    before = object_hash(inside), object_hash(around)
    helpers.other = 2.0
    assert (object_hash(inside), object_hash(around)) == before
    helpers.factor = 2.0
    assert object_hash(inside) != before[0]
    assert object_hash(around) != before[1]


def test_a_librarys_class_whose_forward_was_replaced_makes_another_object(monkeypatch):
    before, forward = object_hash(network()), nn.Linear.forward
    monkeypatch.setattr(nn.Linear, "forward", lambda self, images: 2 * forward(self, images))
    assert object_hash(network()) != before


def test_training_mode_and_what_a_network_was_trained_with_do_not_count():
    module = Scaled()
    before = object_hash(module)
    module.data = TensorDataset(torch.zeros(3))
    module.optimiser = torch.optim.SGD(module.parameters(), 0.1)
    assert object_hash(module.train()) == before


def test_what_calls_leave_behind_is_private_and_seen_to_change():
    module = Scaled()
    before = object_hash(module)
    assert private_values(module) == before.private
    module(torch.zeros(2, 1, 28, 28))
    after = object_hash(module)
    assert after.value == before.value
    assert {name for name in after.private if after.private[name] != before.private[name]} == {"_seen"}


def test_the_order_of_a_set_does_not_count():
    def chosen(label):
        return label in {0, 8}

    consts = [frozenset([8, 0]) if isinstance(each, frozenset) else each for each in chosen.__code__.co_consts]
    assert list(frozenset([8, 0])) != list(frozenset([0, 8]))  # as it is from one process to the next
    again = types.FunctionType(chosen.__code__.replace(co_consts=tuple(consts)), chosen.__globals__)
    assert object_hash(again) == object_hash(chosen)


def test_another_process_finds_the_same_identity():
    code = "from test_object_hash import *; print(object_hash(Scaled()).whole, object_hash(Slotted({'a', 'b'})).whole)"
    here, found = Path(__file__).parent, []
    for seed in ("1", "2"):
        ordered = {**os.environ, "PYTHONHASHSEED": seed}
        asked = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, cwd=here, env=ordered)
        found.append(asked.stdout)
    assert found[0] == found[1] != b""


UNKNOWN = {
    "a generator": (lambda: (each for each in ()), "generator"),
    "an open file": (lambda: open(__file__), "TextIOWrapper"),  # noqa: SIM115
}


@pytest.mark.parametrize(("make", "kind"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_has_no_value_makes_an_object_that_is_not_known_again(make, kind):
    for held in (Holder(make()), with_value("_private", make())):
        found = object_hash(held)
        assert found.value == ""
        assert kind in found.unknown
        assert "module" in found.unknown or "_private" in found.unknown
    assert isinstance(found, ObjectHash)


# In a run


@pytest.fixture
def kept(tmp_path):
    return functools.partial(
        brittle.measure, images="sample", nuisances=NUISANCE, samples=2, count=5, out=tmp_path / "r"
    )


def test_a_kept_run_refuses_a_method_of_an_object_that_holds_another_network(kept):
    kept(Holder(network()).scores)
    with pytest.raises(BrittleError, match="is not the one that the run in"):
        kept(Holder(network(0.01)).scores)


class Tinted(nn.Module):
    """Holds a private tensor, and a cache that the first call fills."""

    def __init__(self, tint):
        super().__init__()
        self.inner, self._tint, self._grid = network(), torch.tensor(tint), None

    def forward(self, images):
        if self._grid is None:
            self._grid = torch.ones(10)
        return (self.inner(images) + self._tint) * self._grid


@pytest.mark.parametrize("warm", [False, True], ids=["fresh", "called before"])
def test_a_cache_is_no_change_and_a_private_tensor_is(kept, warm):
    first = Tinted(0.0)
    if warm:
        first(torch.zeros(1, 1, 28, 28))
    found = kept(first)
    assert kept(first)["rho"] == found["rho"]
    assert kept(Tinted(0.0))["rho"] == found["rho"]
    with pytest.raises(BrittleError, match=r"its values of _tint are others\. Give that one") as refused:
        kept(Tinted(1.0))
    assert "\n" not in str(refused.value)


@pytest.mark.warned("this run can't be resumed with the classifier 'classifier'")
def test_what_can_not_be_compared_is_said_and_not_resumed(kept):
    held = Holder(network())
    held.stream = (each for each in ())
    found = kept(held.scores)
    assert any("can't be resumed with the classifier" in text for text in found["warnings"])
    with pytest.raises(
        BrittleError, match=r"can't be resumed: its classifier 'classifier' can't be compared"
    ) as refused:
        kept(held.scores)
    assert "\n" not in str(refused.value)
