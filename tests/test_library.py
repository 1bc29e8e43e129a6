"""Brittle as a library: what a call leaves behind in the process, and what it offers to an editor."""

import ctypes
import inspect
import subprocess
import sys
from types import SimpleNamespace

import pytest
from without_classifiers import MAKING

import brittle
import brittle.results
from brittle.allocator import keep_mapped
from brittle.commands import ExecutionOptions, SelectionOptions
from brittle.hardening.options import HardeningOptions
from brittle.measures import measures
from brittle.measures.commands import built_in
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


COMMANDS = {command.function: command for command in built_in()}
OPTIONS = {name: measures.get(command.measure) for name, command in COMMANDS.items()}
OPTIONS |= {"harden": HardeningOptions, "train": TrainingOptions}
OF_NO_CLASSIFIER = (
    "generate",
    "train-sliders",
    "train-tokens",
)  # asked for by what they make, not by what they measure
# What a call says itself: how many images.
OWN = {("weak_points", "count"), ("perturbation", "count"), ("line", "id")}


def test_the_functions_are_what_the_options_say():
    """Otherwise: `make api`. In a process of its own, in which no other test has registered anything."""
    said = subprocess.run(
        [sys.executable, "-m", "brittle.api.generate", "--check"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr


def test_every_measure_has_a_function_and_a_dataclass_in_python():
    for command in COMMANDS.values():
        assert command.function in brittle.__all__
        assert getattr(brittle.measures, measures.get(command.measure).__name__) is measures.get(command.measure)
        for short in command.short:
            assert short == "break" or getattr(brittle, short) is getattr(brittle, command.function)
    own = {name for name in measures.names() if measures.get(name).__module__.startswith("brittle.")}
    others = own - {command.measure for command in COMMANDS.values()}
    assert others == {"before-after", *MAKING}, "hardening has the first"
    assert {name.replace("-", "_") for name in MAKING} <= set(brittle.__all__)


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_a_function_has_every_option_of_its_measure_with_its_default(name):
    given = inspect.signature(getattr(brittle, name)).parameters
    options = {field.name: field.default for field in options_of(OPTIONS[name]).values()}
    assert options.keys() <= given.keys()
    for key in options.keys() - {own for function, own in OWN if function == name}:
        assert given[key].default == options[key], key


@pytest.mark.parametrize("name", sorted({*OPTIONS, "run"}))
def test_signatures_are_written_out_and_explained(name):
    function = getattr(brittle, name)
    given = inspect.signature(function).parameters
    assert inspect.Parameter.VAR_KEYWORD not in {each.kind for each in given.values()}
    assert all(f"{key}: " in function.__doc__ for key in given)


def test_hardly_a_parameter_is_written_by_hand():
    """Of what people call: public functions, and methods of results. `pytest -s` lists them."""
    functions = [getattr(brittle, name) for name in brittle.__all__]
    kinds = [kind for kind in vars(brittle.results).values() if inspect.isclass(kind)]
    functions += [
        thing for kind in kinds for name, thing in vars(kind).items() if not name.startswith("_") and callable(thing)
    ]
    counted = {
        function: [name for name in inspect.signature(function).parameters if name != "self"]
        for function in functions
        if inspect.isfunction(function) and not function.__module__.startswith("brittle.api.generated")
    }
    for function, names in counted.items():
        print(f"{function.__qualname__}({', '.join(names)})")
    total = sum(map(len, counted.values()))
    print(f"{total} parameters written by hand")
    assert {brittle.export, brittle.classifier, brittle.results.Result.of} <= counted.keys()
    assert total < 60


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_measure_is_asked_for_alike(name):
    """The same words for which images, where, how and what is kept."""
    given = list(inspect.signature(getattr(brittle, name)).parameters)
    shared = [field.name for kind in (SelectionOptions, ExecutionOptions) for field in options_of(kind).values()]
    assert given[-len(shared) - 1 :] == [*shared, "progress"]
    assert given[:2] == ["classifiers", "images"]
