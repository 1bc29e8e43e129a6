"""Brittle as a library: what a call leaves behind in the process, and what it offers to an editor."""

import ctypes
import inspect
from types import SimpleNamespace

import pytest

import brittle
from brittle.allocator import keep_mapped
from brittle.hardening.options import HardeningOptions
from brittle.measures import measures
from brittle.registry import options_of
from brittle.training.options import TrainingOptions


def test_only_public_names_are_offered():
    brittle.measure("bundled:plain", "sample", "affine", samples=1, count=2)
    assert "api" in vars(brittle), "imported, and not public"
    assert dir(brittle) == sorted(brittle.__all__)


def test_a_library_call_leaves_the_allocator_alone(monkeypatch):
    loaded = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name: loaded.append(name) or SimpleNamespace(mallopt=None))
    keep_mapped.cache_clear()
    brittle.measure("bundled:plain", "sample", "affine", samples=1, count=4, device="cpu")
    assert loaded == []


MEASURES = {
    "affinity": "augmentation",
    "breaking_points": "breaking-points",
    "compare": "robustness",
    "connect": "connectedness",
    "corruption_error": "corruption-error",
    "cue_conflict": "cue-conflict",
    "error_consistency": "error-consistency",
    "failure_points": "failure-points",
    "layer_changes": "layer-changes",
    "layer_noise": "layer-noise",
    "line": "line",
    "measure": "robustness",
    "occlusion": "occlusion",
    "perturb": "perturbation",
    "rank": "ranking",
    "sample": "weak-points",
    "shuffling": "shuffling",
}
OPTIONS = {name: measures.get(kind) for name, kind in MEASURES.items()}
OPTIONS |= {"harden": HardeningOptions, "train": TrainingOptions}
# What a call says itself: which images, and how their number is told to a measure.
OWN = {
    ("sample", "count"),
    ("perturb", "count"),
    ("perturb", "targets"),
    ("line", "id"),
    ("affinity", "of"),
    ("occlusion", "shares"),
}


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_a_function_has_every_option_of_its_measure_with_its_default(name):
    given = inspect.signature(getattr(brittle, name)).parameters
    options = {field.name: field.default for field in options_of(OPTIONS[name]).values()}
    assert options.keys() <= given.keys()
    for key in options.keys() - {own for function, own in OWN if function == name}:
        default = given[key].default
        assert default in (options[key], None), key


@pytest.mark.parametrize("name", sorted({*OPTIONS, "run", "agreement"}))
def test_signatures_are_written_out(name):
    kinds = {each.kind for each in inspect.signature(getattr(brittle, name)).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_every_measure_is_asked_for_alike(name):
    """The same words for which images, where, and what is kept."""
    given = inspect.signature(getattr(brittle, name)).parameters
    assert list(given)[-8:] == ["count", "where", "ids", "seed", "device", "batch", "out", "progress"]
