"""What the engine promises a measure: its units as planned, what it reads and nothing past a stop, any tables of any
length, and one line where it breaks its own word."""

from typing import ClassVar

import pyarrow.parquet as pq
import pytest
from engine_runs import run, run_study
from odd_measures import KINDS, Borrower

from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.measures import measures
from brittle.measures.base import Read
from brittle.study import Study

pytestmark = pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    measures.names()
    monkeypatch.setattr(measures, "_kinds", dict(measures.loaded()))
    for name, kind in KINDS.items():
        measures._kinds.pop(name, None)
        measures.register(name)(kind)


@pytest.fixture
def study(things):
    """A study of both classifiers and the measures given, without a nuisance."""

    def make(**entries):
        made = things.study("first", "second", nuisances=[]) | entries
        del made["robustness"]
        return made

    return make


def said(found, name):
    return {key: value for key, value in found["measures"][name].items() if key != "kind"}


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_units_have_any_number_of_rows_and_tables_stand_beside_one_another(things, study, batch):
    ids = image_set(f"npz:{things.folder}/images.npz").choose(None, 0).ids.tolist()
    found = run(study(scattered={}), out=things.out, batch=batch)
    assert said(found, "scattered") == {
        "rows": [id for id in ids for _ in range(id % 4)] * 2,
        "pictures": [id for id in ids if id % 5 == 0] * 2,
    }
    assert run(study(scattered={}), out=None, batch=batch) == found
    names = {path.name.split(".", 1)[1] for path in (things.out / "units" / "scattered").rglob("*.parquet")}
    assert names == {"rows.parquet", "pictures.parquet"}
    assert run(study(scattered={}), out=things.out) == found


@pytest.mark.warned("was damaged or incomplete")
def test_a_picture_that_was_lost_has_its_unit_done_again(things, study, small_units, unmerged):
    small_units(2)
    found = run(study(scattered={}), out=things.out)
    pictures = sorted((things.out / "units" / "scattered").rglob("*.pictures.parquet"))
    assert len(pictures) > 4
    pictures[3].unlink()
    assert run(study(scattered={}), out=things.out) == found
    assert sorted((things.out / "units" / "scattered").rglob("*.pictures.parquet")) == pictures


def test_a_measure_that_looks_at_no_image_is_carried_out_and_resumed(things, study, small_units, unmerged):
    small_units(1)
    found = run(study(layers={}), out=things.out)
    assert said(found, "layers") == {name: [layer * len(name) for layer in range(6)] for name in ("first", "second")}
    files = sorted((things.out / "units" / "layers" / "first").glob("*.parquet"))
    assert len(files) == 6
    files[2].unlink()
    assert run(study(layers={}), out=things.out) == found


def test_a_measure_may_ask_no_classifier_and_have_units_without_images(things, study):
    whole = image_set(f"npz:{things.folder}/images.npz").choose(None, 0)
    found = said(run(study(brightness={}, layers={}), out=things.out), "brightness")
    assert found["images"] == [*whole.ids.tolist(), -1]
    assert found["means"][-1] == 60
    assert found["means"][:-1] == pytest.approx(whole.batch(range(60)).images.mean((1, 2, 3)).tolist(), abs=1e-6)
    assert [path.parts[-2] for path in (things.out / "units" / "brightness").rglob("*.parquet")] == ["toy"]


def test_a_study_without_nuisances_is_carried_out_where_no_measure_wants_one(things, study):
    found = run(study(clean={}), out=things.out)
    assert [row["images"] for row in said(found, "clean")["results"]] == [60, 60]
    assert {path.parent.name for path in (things.out / "units").rglob("*.parquet")} == {"toy"}


def test_measures_of_one_kind_are_computed_for_what_each_is_restricted_to(things, own):
    entries = {
        "one": {"kind": "robustness", "samples": 4, "classifiers": ["first"], "nuisances": ["affine:alpha=20"]},
        "two": {"kind": "robustness", "samples": 6, "classifiers": ["second"], "nuisances": ["rotation:sigma=20"]},
    }
    both = things.study("first", "second", measures=entries)
    del both["robustness"]
    found = run(both, out=things.out)
    assert (things.rows("first"), things.rows("second")) == (things.CHECKED + 60 * 5, things.CHECKED + 60 * 7)
    for name, entry in entries.items():
        alone = things.study(*entry["classifiers"], nuisances=entry["nuisances"])
        wanted = run(alone | {"robustness": {"samples": entry["samples"]}}, out=None)["measures"]["robustness"][
            "results"
        ]
        assert list(map(own, found["measures"][name]["results"])) == list(map(own, wanted))
    assert found["calls"] == {"first": 300, "second": 420}


@pytest.mark.warned("are also among its training images")
def test_images_only_trained_on_are_classified_only_where_a_measure_names_them(things, study):
    spec = f"npz:{things.folder}/images.npz"
    images = {"toy": {"spec": spec, "train": "old", "count": 10}, "old": {"spec": spec, "count": 30}}
    found = run(study(images=images, clean={}), out=None)
    assert [row["image_set"] for row in said(found, "clean")["results"]] == ["toy", "toy"]
    assert things.rows("first") == things.CHECKED + 10
    measured = study(images=images, measures={"all": {"kind": "clean", "images": ["toy", "old"]}})
    assert [row["images"] for row in said(run(measured, out=None), "all")["results"]] == [10, 10, 30, 30]


def test_a_required_read_is_computed_only_as_far_as_it_is_needed(things):
    things.write_images(count=3000)
    study = things.study(nuisances=["affine:alpha=20"], robustness={"samples": 5, "tolerance": 0.1})
    found = run(study, out=things.out)
    (row,) = found["measures"]["robustness"]["results"]
    assert row["tolerance_reached"]
    clean = sum(pq.read_metadata(path).num_rows for path in things.unit_files("clean"))
    assert row["images"] <= clean < 1000
    assert things.rows() < things.CHECKED + 1000 * 6
    assert "clean" not in found["measures"]


def test_what_a_derived_measure_reads_is_carried_out_although_nobody_asks_for_it(things, study):
    found = run(study(onlooker={}), out=things.out)
    assert said(found, "onlooker")["rows"] == {"first toy": 5, "second toy": 5}
    assert list(found["measures"]) == ["onlooker"]
    assert run(study(onlooker={}), out=things.out) == found


@pytest.mark.parametrize("batch", [1, 64])
def test_readers_never_see_rows_past_a_stopping_point(things, study, batch):
    found = run(study(patient={"enough": 9}, onlooker={}), out=things.out, batch=batch)
    assert said(found, "onlooker") == {table: {"first toy": 9, "second toy": 9} for table in ("rows", "notes")}
    assert said(found, "patient") == {"seen": [[[place, 1, 1] for place in range(9)]] * 2}
    stored = [
        pq.read_metadata(path).num_rows for path in (things.out / "units").rglob("patient/first/**/*.rows.parquet")
    ]
    assert sum(stored) > 9, "nothing was computed past the stop: the test tests nothing"


def borrowed(things, **entries):
    made = things.study(nuisances=["affine:alpha=20", "rotation:sigma=20"]) | entries
    return said(run(made, out=None), "borrower")


def test_an_optional_read_is_given_where_the_study_has_it_and_it_can_not_stop_early(things):
    everywhere = {"affine:alpha=20": [4], "rotation:sigma=20": [4]}
    nowhere = {"affine:alpha=20": [-1], "rotation:sigma=20": [-1]}
    assert borrowed(things, borrower={}, robustness={"samples": 4}) == everywhere
    assert borrowed(things, borrower={}, robustness={"samples": 4, "tolerance": 0.4}) == nowhere
    here = {"samples": 4, "nuisances": ["rotation:sigma=20"]}
    assert borrowed(things, borrower={}, robustness=here) == {"affine:alpha=20": [-1], "rotation:sigma=20": [4]}
    made = things.study(nuisances=["affine:alpha=20", "rotation:sigma=20"], borrower={})
    del made["robustness"]
    assert said(run(made, out=None), "borrower") == nowhere


def test_units_that_read_what_may_stop_early_are_refused_before_work_begins(things, study):
    class Hasty(Borrower):
        over: ClassVar = frozenset({"classifier", "images"})
        reads: ClassVar = (Read("patient"),)

    measures.register("hasty")(Hasty)
    with pytest.raises(BrittleError, match="'hasty' reads rows of 'patient', which may stop before it has them all"):
        run(study(hasty={}), out=things.out)
    assert not (things.out / "units").exists()


def test_a_measure_that_names_no_image_is_read_whole(things, study):
    found = run(study(**{"layer-reader": {}}), out=things.out)
    assert said(found, "layer-reader") == {"first": [6 * 5], "second": [6 * 6]}
    assert run(study(**{"layer-reader": {}}), out=things.out) == found


def test_a_classifier_that_lacks_what_a_measure_needs_is_refused_before_work_begins(things, study):
    with pytest.raises(
        BrittleError, match="'dreams' needs a dreaming classifier, and 'first' is not one: it has no dream"
    ):
        run(study(dreams={}), out=things.out)
    assert not (things.out / "units").exists()


def test_what_a_measure_checks_is_checked_before_work_begins(things, study):
    with pytest.raises(BrittleError, match=r"first on images\.npz can't be measured"):
        run(study(careless={"how": "check"}), out=things.out)
    assert not (things.out / "units").exists()


WRONG = {
    "no unit": "a table 'rows' whose first column is not 'unit'",
    "unit last": "a table 'rows' whose first column is not 'unit'",
    "not sorted": "a table 'rows' that is not sorted by unit",
    "others' units": "a table 'rows' that is not sorted by unit, or of units that it was not asked for",
    "no rows": "gives no table 'rows'",
    "a wrong name": "a table 'My Pictures', whose name is not",
    "nothing": "gives nothing of the classifier 'first'",
}


@pytest.mark.parametrize(("how", "words"), WRONG.items(), ids=WRONG)
def test_tables_that_could_not_be_read_again_are_refused_with_the_measures_name(things, study, how, words):
    with pytest.raises(BrittleError, match="the measure 'careless' ") as error:
        run(study(careless={"how": how}), out=things.out)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_summary_that_is_not_plain_is_refused_and_the_rows_are_kept(things, study):
    with pytest.raises(BrittleError, match=r"'careless' sums up in what is not a plain value: .*float32"):
        run(study(careless={}), out=things.out)
    kept = list((things.out / "units" / "careless").rglob("*.parquet"))
    assert sum(pq.read_metadata(path).num_rows for path in kept) == 120


def test_a_view_says_what_its_measure_is_asked_about(things):
    spec = things.study("first", "second")["classifiers"]
    entries = {"first": {"spec": spec["first"], "group": "wide", "width": 8}, "second": spec["second"]}
    measure = {"r": {"kind": "robustness", "samples": 2}}
    made = things.study(classifiers=entries, nuisances=["rotation"], measures=measure)
    del made["robustness"]
    done = run_study(Study.of(made), None)
    view = done.view("r")
    assert (view.name, view.seed, list(view.nuisances)) == ("r", 0, ["rotation"])
    assert {name: each.group for name, each in view.classifiers.items()} == {"first": "wide", "second": ""}
    assert view.classifiers["first"].attributes == {"width": 8}
    assert len(view.classifiers["first"].labels) == 4
    assert view.images["toy"].population == 60
    assert view.read("clean").name == "clean"
    assert view.read("weak-points") is None
    assert view.references("first", "toy").tolist() == view.images["toy"].labels.tolist()
    cells = list(view.cells())
    assert cells == [view.cell("first", "toy", "rotation"), view.cell("second", "toy", "rotation")]
    assert sum(part.num_rows for part in view.rows(cells[0])) == 120
    assert view.plan(cells[0]) == done.job.plan(cells[0])
    assert view.about(cells[0]).nuisance_name == "rotation"
