"""Which measure is asked about what, and what it reads: all of it follows from the study's entries."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import pytest
from engine_runs import run_study

from brittle.engine.job import Job
from brittle.engine.plan.assignments import assign
from brittle.engine.view import summary
from brittle.errors import BrittleError
from brittle.measures import measures
from brittle.measures.base import Cell, Derived, Read
from brittle.registry import option
from brittle.study import Study


@dataclass(frozen=True)
class PerClassifier(Derived):
    """Plans nothing: says something of each classifier from robustness's rows."""

    over: ClassVar = frozenset({"classifier"})
    reads: ClassVar = (Read("robustness"),)

    def summarise(self, run):
        return {}


@dataclass(frozen=True)
class Picky(Derived):
    """Reads a robustness that must have been measured in a certain way."""

    reads: ClassVar = (Read("robustness", options={"samples": 7, "worst-of": 3}),)

    def summarise(self, run):
        return {}


@dataclass(frozen=True)
class Windy(Derived):
    """Brings a nuisance of its own."""

    level: int = option(1, "how strong")

    def nuisances(self):
        return (f"rotation:sigma={self.level}",)

    def summarise(self, run):
        return {}


@dataclass(frozen=True)
class Echo(Derived):
    """Reads itself by way of another."""

    reads: ClassVar = (Read("echo-of-echo"),)

    def summarise(self, run):
        return {}


@dataclass(frozen=True)
class EchoOfEcho(Echo):
    reads: ClassVar = (Read("echo"),)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    measures.loaded()
    monkeypatch.setattr(measures, "_kinds", dict(measures.loaded()))
    kinds = {"derived": PerClassifier, "picky": Picky, "windy": Windy, "echo": Echo, "echo-of-echo": EchoOfEcho}
    for name, kind in kinds.items():
        measures.register(name)(kind)


def assigned(**entries):
    """The assignments of a study with two classifiers, three image sets (one only trained on) and two nuisances."""
    study = Study.of(
        {
            "classifiers": {"a": "bundled:plain", "b": "bundled:augmented"},
            "images": {"x": {"spec": "sample", "train": "t"}, "y": "sample", "t": "sample"},
            "nuisances": {"n": "affine", "m": "rotation"},
        }
        | entries
    )
    training = {name: each.train for name, each in study.images.items() if each.train}
    return assign(study.measures, list(study.classifiers), list(study.images), list(study.nuisances), training)


def about(assignment):
    return assignment.classifiers, assignment.images, assignment.nuisances


def test_a_measure_without_restrictions_is_asked_about_everything_but_what_is_only_trained_on():
    found = assigned(robustness={})["robustness"]
    assert about(found) == (("a", "b"), ("x", "y"), ("n", "m"))
    assert [cell[1:] for cell in found.cells()][:4] == [
        ("a", "x", "n"), ("b", "x", "n"), ("a", "x", "m"), ("b", "x", "m"),
    ]  # fmt: skip
    assert len(list(found.cells())) == 8


def test_a_training_set_takes_part_where_a_measure_names_it():
    found = assigned(measures={"r": {"kind": "robustness", "images": ["x", "t"]}, "c": {"kind": "clean"}})
    assert found["r"].images == ("x", "t")
    assert found["c"].images == ("x", "y")


def test_a_measure_that_asks_for_training_sets_is_given_them(monkeypatch):
    def image_sets(measure, asked, trained_on):
        return {trained_on[name]: True for name in asked if name in trained_on}

    monkeypatch.setattr(Picky, "image_sets", image_sets)
    found = assigned(
        measures={"p": {"kind": "picky"}, "y": {"kind": "picky", "images": ["y"]}, "r": {"kind": "robustness"}}
    )
    assert found["p"].images == ("x", "y", "t")
    assert found["y"].images == ("y",)
    assert found["r"].images == ("x", "y")


def test_several_measures_of_one_kind_are_restricted_each_on_its_own():
    found = assigned(
        measures={
            "fine": {"kind": "robustness", "classifiers": ["b"], "samples": 50},
            "coarse": {"kind": "robustness", "images": ["y"], "nuisances": ["m"], "samples": 5},
        }
    )
    assert about(found["fine"]) == (("b",), ("x", "y"), ("n", "m"))
    assert about(found["coarse"]) == (("a", "b"), ("y",), ("m",))
    assert [cell.measure for cell in found["coarse"].cells()] == ["coarse", "coarse"]
    assert found["fine"].reads == found["coarse"].reads == {"clean": "clean"}


def test_a_required_read_that_the_study_lacks_is_added_with_defaults_and_covers_its_readers():
    found = assigned(
        measures={
            "one": {"kind": "robustness", "classifiers": ["b"], "images": ["y"]},
            "two": {"kind": "robustness", "images": ["x"], "nuisances": ["m"]},
        }
    )
    assert list(found) == ["clean", "one", "two"]
    assert not found["clean"].asked
    assert found["clean"].measure == measures.make("clean", {})
    assert set(found["clean"].classifiers) == {"a", "b"}
    assert set(found["clean"].images) == {"x", "y"}
    assert Cell("clean", "a", "x") in found["clean"].cells()


def test_a_read_of_a_read_covers_all_that_the_last_reader_needs():
    """Both derived measures read one robustness, which nobody asks for, and that reads clean predictions."""
    found = assigned(
        measures={
            "one": {"kind": "derived", "classifiers": ["a"], "images": ["x"], "nuisances": ["n"]},
            "two": {"kind": "derived", "classifiers": ["b"], "images": ["y"], "nuisances": ["m"]},
        }
    )
    assert list(found) == ["clean", "robustness", "one", "two"]
    for name in ("clean", "robustness"):
        assert [set(names) for names in about(found[name])] == [{"a", "b"}, {"x", "y"}, {"n", "m"}]
    assert list(found["one"].cells()) == [Cell("one", "a")]


def test_an_optional_read_is_not_added():
    assert list(assigned(**{"weak-points": {}})) == ["clean", "weak-points"]


def test_readers_come_after_what_they_read_however_the_study_has_them():
    assert list(assigned(**{"weak-points": {}, "robustness": {}, "clean": {}})) == [
        "clean", "robustness", "weak-points",
    ]  # fmt: skip


SEVERAL = {"r1": {"kind": "robustness"}, "r2": {"kind": "robustness", "samples": 3}}


def test_which_of_several_is_read_is_named():
    found = assigned(measures=SEVERAL | {"d": {"kind": "derived", "reads": ["r2"]}})
    assert found["d"].reads == {"robustness": "r2"}


def test_a_required_read_that_could_be_several_is_refused():
    with pytest.raises(BrittleError, match=r"'d' reads 'robustness', of which .* several: r1, r2. Name one of them"):
        assigned(measures=SEVERAL | {"d": {"kind": "derived"}})


def test_an_optional_read_that_could_be_several_is_given_where_it_is_named_and_left_out_otherwise():
    weak = {"kind": "weak-points"}
    assert assigned(measures=SEVERAL | {"w": weak})["w"].reads == {"clean": "clean"}
    named = assigned(measures=SEVERAL | {"w": weak | {"reads": ["r1"]}})
    assert named["w"].reads == {"clean": "clean", "robustness": "r1"}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"kind": "derived", "reads": ["c"]}, "'d' has no use for 'c', .* It reads: robustness."),
        ({"kind": "clean", "reads": ["r1"]}, "'d' has no use for 'r1', .* It reads no other measure."),
        ({"kind": "derived", "reads": ["r3"]}, "names 'r3', which the study does not have. Known: c, d, r1"),
    ],
)
def test_a_read_that_makes_no_sense_is_refused(entry, words):
    with pytest.raises(BrittleError, match=words):
        assigned(measures={"r1": {"kind": "robustness"}, "c": {"kind": "clean"}, "d": entry})


def test_options_that_a_read_must_have_are_looked_for_and_added():
    found = assigned(picky={})["robustness"]
    assert (found.measure.samples, found.measure.worst_of, found.asked) == (7, 3, False)
    fitting = {"kind": "robustness", "samples": 7, "worst-of": 3}
    found = assigned(measures={"other": {"kind": "robustness"}, "mine": fitting, "p": {"kind": "picky"}})
    assert found["p"].reads == {"robustness": "mine"}


def test_a_read_is_not_put_in_the_place_of_a_measure_of_the_study():
    with pytest.raises(
        BrittleError, match=r"reads 'robustness' with samples = 7, worst-of = 3, and the study's has other"
    ):
        assigned(picky={}, robustness={"samples": 8})
    with pytest.raises(BrittleError, match="or is of another kind"):
        assigned(measures={"clean": {"kind": "windy"}, "r": {"kind": "robustness"}})


def test_measures_that_read_one_another_in_a_circle_are_refused():
    with pytest.raises(BrittleError, match=r"in a circle: .*echo"):
        assigned(echo={})


@pytest.mark.parametrize("entries", [{"clean": {}}, {"windy": {}}])
def test_a_study_needs_no_nuisance_where_no_measure_wants_one_or_one_brings_its_own(entries):
    assert assigned(nuisances=[], **entries)


def test_a_measure_that_brings_its_own_nuisances_uses_them_where_the_study_names_none():
    assert assigned(nuisances=[], windy={"level": 4})["windy"].nuisances == ("rotation:sigma=4",)
    assert assigned(windy={"level": 4})["windy"].nuisances == ("n", "m")


@pytest.mark.parametrize(("entries", "name"), [({"robustness": {}}, "robustness"), ({"derived": {}}, "robustness")])
def test_a_measure_that_needs_a_nuisance_is_refused_where_there_is_none(entries, name):
    with pytest.raises(BrittleError, match=f"the measure '{name}' needs a nuisance, and none is named"):
        assigned(nuisances=[], **entries)


@pytest.mark.parametrize("sort", ["classifiers", "images", "nuisances"])
def test_a_restriction_to_what_the_study_does_not_have_is_refused(sort):
    with pytest.raises(BrittleError, match=rf"measures\.r\.{sort} names 'z', which the study does not have"):
        assigned(measures={"r": {"kind": "robustness", sort: ["z"]}})


@pytest.mark.parametrize("sort", ["classifiers", "images", "nuisances"])
def test_a_restriction_to_nothing_is_refused(sort):
    with pytest.raises(BrittleError, match=rf"measures\.r\.{sort}: .*at least 1"):
        assigned(measures={"r": {"kind": "robustness", sort: []}})


@pytest.mark.parametrize("count", [5, 10])
def test_a_summary_asks_what_a_cell_reads_as_often_however_many_cells_there_are(things, monkeypatch, count):
    nuisances = [f"affine:alpha={alpha}" for alpha in range(10, 10 + count)]
    done = run_study(Study.of(things.study(nuisances=nuisances, robustness={"samples": 2})))
    asked, reads = Counter(), Job.reads

    def counted(job, cell):
        asked[cell] += 1
        return reads(job, cell)

    monkeypatch.setattr(Job, "reads", counted)
    assert summary(done.job, done.store)["measures"] == done.summary["measures"]
    assert len(asked) >= count
    assert max(asked.values()) <= 4
