"""One name per measure: every option means the same in a study, on the command line and in Python."""

import inspect
from pathlib import Path
from typing import Any

import pytest

import brittle
from brittle.commands import Command
from brittle.engine.inputs import Inputs
from brittle.engine.open import open_inputs
from brittle.engine.run import FinishedRun
from brittle.measures import measures
from brittle.measures.commands import built_in
from brittle.registry import options_of
from brittle.registry.spec import written

COUNT = 6
FIVE = {name: f"bundled:{'plain' if name in 'ace' else 'augmented'}" for name in "abcde"}
# Every option with another value than its default, in sets that may be given together; the first is carried out too.
ASKED: dict[str, list[dict[str, Any]]] = {
    "augmentation": [{"of": ("mixup",), "samples": 2, "confidence": 0.9}, {"reference": "a"}],
    "breaking-points": [
        {"noise": "fresh", "step": 30.0, "limit": 90.0, "repeats": 2, "confidence": 0.9},
        {"search": "bisect"},
    ],
    "clean": [{"confidence": 0.9}],
    "connectedness": [
        {"per_class": 2, "tries": 2, "steps": 8, "points": 16, "pictures": 0, "method": "torch", "confidence": 0.9},
        {"kappa": 5.0, "until": 0.9},
    ],
    "corruption-error": [{"reference": "b", "confidence": 0.9, "resamples": 100}],
    "cue-conflict": [{"decisions": ("one.csv", "two.csv"), "resamples": 100, "confidence": 0.9}],
    "error-consistency": [{"resamples": 100, "confidence": 0.9}, {"decisions": ("one.csv",)}],
    "failure-points": [
        {"severities": (1.0, 2.0), "repeats": 2, "confidence": 0.9},
        {"only": "first"},
        {"step": 1.0, "limit": 2.0, "tolerance": 0.5},
    ],
    "interference": [{"simulations": 200, "confidence": 0.9}],
    "layer-changes": [
        {"layers": ("1",), "targets": 2, "share": 0.6, "rate": 0.1, "steps": 3, "confidence": 0.9},
    ],
    "layer-noise": [
        {"layers": ("1",), "noise": "fresh", "step": 0.5, "limit": 1.0, "repeats": 1, "networks": 2, "confidence": 0.9}
    ],
    "line": [{"confidence": 0.9, "baseline": tuple("abcde")}, {"family": "kind", "covariates": ("width",)}],
    "occlusion": [{"shares": (0.2, 0.6), "repeats": 2, "confidence": 0.9}],
    "perturbation": [
        {"targets": ("1",), "share": 0.6, "rate": 0.1, "steps": 3, "clip": False, "per_class": 1, "cap": 0.4},
        {"method": "i-fgsm", "iterations": 2, "draw": 1, "quality": 50, "confidence": 0.9},
    ],
    "ranking": [{"sigma": 2.0, "confidence": 0.9}],
    "robustness": [
        {"samples": 3, "confidence": 0.9, "worst_of": 2, "extra": ("nll", "top5")},
        {"tolerance": 0.4, "estimand": "set", "design": "sobol"},
    ],
    "shuffling": [{"grids": (2,), "samples": 2, "moves": "cycle", "confidence": 0.9}],
    "weak-points": [
        {"sampler": "metropolis", "chains": 2, "steps": 4, "burn_in": 2, "start": "prior", "tries": 2, "keep": 4},
        {"budget": 50, "failing": True},
    ],
}  # fmt: skip
COMMANDS = {command.measure: command for command in built_in()}
OTHERWISE = {"weak-points": {"count"}, "perturbation": {"count"}, "line": {"id"}}  # which every call says itself
SETS = [(kind, place) for kind, several in ASKED.items() for place in range(len(several))]


class Stopped(Exception):
    """Raised in place of a run."""


def classifiers(kind: str) -> dict[str, str]:
    return FIVE if kind == "line" else {"a": FIVE["a"], "b": FIVE["b"]}


def nuisances(command: Command) -> list[str]:
    return [] if command.nuisance == "none" else ["noise"] if command.nuisance == "optional" else ["rotation"]


def in_python(kind: str, options: dict[str, Any], **more: Any) -> Any:
    command = COMMANDS[kind]
    given = {"nuisances": nuisances(command)} if nuisances(command) and kind != "occlusion" else {}
    return getattr(brittle, command.function)(classifiers(kind), "sample", count=COUNT, **given, **options, **more)


def in_a_study(kind: str, options: dict[str, Any]) -> Inputs:
    command = COMMANDS[kind]
    entry: dict[str, Any] = {key.replace("_", "-"): value for key, value in options.items()}
    if command.images_option:
        entry[command.images_option] = COUNT
    read = {other: {"samples": 5} if other == "robustness" else {} for other in command.reads}
    return open_inputs(
        {
            "classifiers": classifiers(kind),
            "images": {"sample": {"spec": "sample", "count": COUNT}},
            "nuisances": nuisances(command) if kind != "occlusion" else [],
            **read,
            kind: entry,
        }
    )


def typed(kind: str, options: dict[str, Any]) -> list[Any]:
    """What a user types for it."""
    command, (first, *others) = COMMANDS[kind], [f"{name}={spec}" for name, spec in classifiers(kind).items()]
    words: list[Any] = [kind, first, "sample", "--count", COUNT]
    words += [word for other in others for word in ("--against", other)]
    words += [word for name in nuisances(command) if kind != "occlusion" for word in ("--nuisance", name)]
    for key, value in options.items():
        flag = f"--{key.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        elif isinstance(value, tuple) and isinstance(value[0], str) and kind != "robustness":
            words += [word for each in value for word in (flag, each)]
        else:
            words += [flag, written(value)]
    return words


@pytest.fixture
def captured(monkeypatch):
    """What would be run, from Python and from the command line."""
    found: list[Inputs] = []

    def stop(inputs, out, how, progress):
        found.append(inputs)
        raise Stopped

    monkeypatch.setattr("brittle.engine.run.run", stop)
    return found


def test_every_option_of_every_measure_is_asked_for_here():
    assert ASKED.keys() == COMMANDS.keys()
    for kind, several in ASKED.items():
        options = {field.name for field in options_of(measures.get(kind)).values()}
        assert {key for each in several for key in each} | OTHERWISE.get(kind, set()) == options, kind


@pytest.mark.parametrize(("kind", "place"), SETS, ids=[f"{kind}-{place}" for kind, place in SETS])
def test_an_option_means_the_same_in_a_study_a_command_and_python(kind, place, captured, cli):
    options = ASKED[kind][place]
    with pytest.raises(Stopped):
        in_python(kind, options)
    assert "Stopped" in cli(*typed(kind, options)).err
    python, command = captured
    assert command.study.resolved() == python.study.resolved()
    study = in_a_study(kind, options).study
    assert study.measures[kind].measure == python.study.measures[kind].measure
    defaults = measures.get(kind)()
    asked = {key: getattr(python.study.measures[kind].measure, key) for key in options}
    assert asked == options
    assert all(getattr(defaults, key) != value for key, value in options.items())


def test_a_command_is_four_calls_from_the_engine(monkeypatch, cli):
    passed = []

    def stop(*arguments):
        passed.extend(f"{Path(each.filename).stem}.{each.function}" for each in inspect.stack()[1:])
        raise Stopped

    monkeypatch.setattr("brittle.engine.run.run", stop)
    cli(*typed("clean", {}))
    called = ["running.run_inputs", "running.run_measure", "measuring._run_measure"]
    assert passed[: passed.index("build.call")] == called


@pytest.mark.warned("")
@pytest.mark.parametrize("kind", sorted(set(ASKED) - {"cue-conflict"}))  # stimuli, as its own tests have them
def test_a_study_and_a_function_give_the_same_rows(kind):
    options = ASKED[kind][0]
    found: FinishedRun = in_python(kind, options, progress=False).run
    again = brittle.run(in_a_study(kind, options).study, progress=False).run
    assert found.summary["measures"][kind] == again.summary["measures"][kind]
    for measure in found.job.assignments:
        view, other = found.view(measure), again.view(measure)
        assert list(view.cells()) == list(other.cells())
        for cell in (each for each in view.cells() if len(view.plan(each))):
            assert view.table(cell).equals(other.table(cell))
