"""What a first measurement waits for: imports of what it uses alone, and each trial once. In counts, since seconds
differ from machine to machine; `make bench` takes those."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import brittle
from brittle.cached import cached
from brittle.engine.check import before_work, nuisance_trial
from brittle.registry.entry_points import _searched
from brittle.statistics import betting

MEASURED = """
import sys
import numpy as np, torch
import brittle
torch.manual_seed(0)  # classes that seem to be in another order are looked into with scipy.optimize
network = torch.nn.Sequential(torch.nn.AvgPool2d(7), torch.nn.Flatten(), torch.nn.Linear(16, 10))
images = np.random.default_rng(0).integers(0, 256, (40, 28, 28), dtype=np.uint8)
print(brittle.measure(network, (images, np.arange(40) % 10), "affine:alpha=50", samples=2, progress=False))
print(sorted(sys.modules), file=sys.stderr)
"""


def test_a_measurement_imports_what_it_uses_alone():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", MEASURED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    imported = set(eval(done.stderr.strip().splitlines()[-1]))
    assert "brittle.nuisances.geometry.affine" in imported
    others = ("brittle.nuisances.weather.", "brittle.measures.connectedness.measure", "brittle.classifiers.onnx_file")
    slow = ("matplotlib", "scipy.stats", "scipy.optimize", "onnxruntime", "sklearn", "transformers", "timm")
    slow += ("torch._dynamo", "torch._inductor", "sympy")
    assert not [name for name in imported if name.startswith((*others, *slow))]


def test_what_is_remembered_is_marked_as_torch_marks_constants():
    """`cached` sets the mark itself: torch's own function imports its compiler."""

    def marked_by_torch():
        return 3

    torch.compiler.assume_constant_result(marked_by_torch)
    remembered = cached(4)(lambda: 3)
    assert remembered() == 3
    ((name, value),) = vars(marked_by_torch).items()
    assert vars(remembered)[name] is value


@pytest.fixture
def called(monkeypatch):
    """How often a function of a module has been called since."""

    def counted(module, name):
        found, inner = [], getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, **named: found.append(name) or inner(*given, **named))
        return found

    return counted


def few(classes=10, count=40):
    images = np.random.default_rng(0).integers(0, 256, (count, 28, 28), dtype=np.uint8)
    return images, np.arange(count) % classes


def network(classes=10):
    return nn.Sequential(nn.AvgPool2d(7), nn.Flatten(), nn.Linear(16, classes))


@pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of", "did not reach p")
def test_each_trial_is_made_once_however_many_measures_and_nuisances_there_are(called):
    trials, gradients = called(before_work, "try_classifier"), called(before_work, "gradients_flow")
    made = called(nuisance_trial, "_failure")
    measures = {
        "robustness": "robustness:samples=1",
        "towards": "perturbation:per-class=1,steps=1",
        "again": {"kind": "perturbation", "per-class": 1, "steps": 1, "share": 0.6},
    }
    both = {"a": network(), "b": network()}
    sets = {"x": brittle.image_set(few()), "y": brittle.image_set(few(count=20))}
    brittle.run(both, sets, ["affine:alpha=50", "noise:sigma=0.1"], measures)
    assert (len(trials), len(gradients)) == (4, 4)  # of two classifiers on two image sets
    assert len(made) == 2  # of two nuisances on images of one size


@pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")
def test_intervals_of_many_classes_are_computed_together(called):
    ends = called(betting, "lower_end")
    brittle.measure(network(), few(10, 200), "affine:alpha=50", samples=1)
    of_ten = len(ends)
    ends.clear()
    brittle.measure(network(100), few(100, 200), "affine:alpha=50", samples=1)
    assert len(ends) == of_ten


@pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")
def test_entry_points_are_searched_once(monkeypatch):
    brittle.measure(network(), few(), "affine:alpha=50", samples=1)
    before = _searched.cache_info().misses
    brittle.measure(network(), few(), "noise:sigma=0.1", samples=1)
    assert _searched.cache_info().misses == before
