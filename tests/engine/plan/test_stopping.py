"""A tolerance stops a run early, and where it stops depends on the contiguous prefix of the plan alone."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_runs import run_study

from brittle.api import compare, measure, run
from brittle.measures.robustness.estimate import meets_tolerance
from brittle.measures.robustness.summary import findings
from brittle.study import Study

pytestmark = pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")

TOLERANCE = {"samples": 5, "tolerance": 0.06}


def results(study, out=None, **options):
    return run(study, out=out, **options)["measures"]["robustness"]["results"]


@pytest.fixture
def study(things):
    things.write_images(count=700)
    return lambda *names, **changed: things.study(*names, nuisances=["affine:alpha=20"], robustness=TOLERANCE | changed)


def by_classifier(found):
    return {row["classifier"]: row for row in found["measures"]["robustness"]["results"]}


@pytest.mark.parametrize("estimand", ["population", "drawn", "set"])
def test_the_answer_is_the_same_whatever_the_batch_size(things, study, estimand):
    changed = {"estimand": estimand} | (
        {"samples": 300, "tolerance": 0.04} if estimand == "set" else {"tolerance": 0.09}
    )
    first, *others = (results(study(**changed), None, batch=batch)[0] for batch in (7, 64, 1000))
    assert first["tolerance_reached"]
    assert first["images"] * first["samples"] < (700 * 300 if estimand == "set" else 700 * 5)
    for other in others:
        assert (other["images"], other["samples"]) == (first["images"], first["samples"])
        assert other["rho"] == pytest.approx(first["rho"], abs=1e-6)
        assert other["interval"] == pytest.approx(first["interval"], abs=1e-6)


def test_the_answer_is_the_same_one_image_at_a_time(study):
    one, many = (results(study(), None, batch=batch)[0] for batch in (1, 256))
    assert one["tolerance_reached"]
    assert one["images"] == many["images"] < 700
    assert one["rho"] == pytest.approx(many["rho"], abs=1e-6)


def test_it_stops_at_the_first_checkpoint_that_is_narrow_enough(things, study):
    done = run_study(Study.of(study()), things.out)
    measure = done.job.assignments["robustness"].measure
    finding = findings(done.view("robustness"), "toy", "affine:alpha=20")["first"]
    assert finding.reach.enough
    assert finding.reach.images > 32
    earlier = [finding.reach._replace(images=images, enough=False) for images in range(32, finding.reach.images, 32)]
    assert not any(meets_tolerance(measure, finding.tally, reach, 700) for reach in earlier)


@pytest.mark.warned("was damaged or incomplete")
@pytest.mark.parametrize("batch", [64, 1000])
def test_what_lies_past_the_stopping_point_is_discarded(things, study, batch):
    before = results(study(), things.out, batch=batch)
    rows = [pq.read_table(path) for path in things.unit_files("affine")]
    stop = before[0]["images"] * 5
    table = pa.concat_tables(rows)
    assert len(table) > stop or batch == 64
    garbage = pa.array([-50.0] * (len(table) - stop), pa.float32())
    place = table.column_names.index("log_p_label")
    spoiled = pa.chunked_array([*table.column(place).slice(0, stop).chunks, garbage])
    table, at = table.set_column(place, "log_p_label", spoiled), 0
    for path, part in zip(things.unit_files("affine"), rows, strict=True):
        pq.write_table(table.slice(at, len(part)), path)
        at += len(part)
    assert results(study(), things.out, batch=batch) == before


def test_a_classifier_stops_where_it_stops_alone(study, own):
    together = by_classifier(run(study("first", "second"), out=None))
    for name in ("first", "second"):
        assert own(together[name]) == own(by_classifier(run(study(name), out=None))[name])
    assert together["first"]["images"] != together["second"]["images"], "both stop at once: the test tests nothing"


def test_a_classifier_that_has_stopped_is_not_asked_again_for_the_others_sake(things, study):
    found = by_classifier(run(study("first", "second"), out=None, batch=32))
    early, late = sorted(found, key=lambda name: found[name]["images"])
    rows = {name: things.rows(name) for name in found}
    assert rows[early] < rows[late]


def test_adding_a_classifier_later_gives_what_both_at_once_give(things, study):
    run(study("first"), out=things.out)
    assert run(study("first", "second"), out=things.out) == run(study("first", "second"), out=None)


def test_paired_differences_are_taken_over_what_both_have_seen(study):
    found = run(study("first", "second"), out=None)["measures"]["robustness"]
    assert found["comparisons"][0]["images"] == min(row["images"] for row in found["results"])


def test_images_that_run_out_before_the_tolerance_are_not_a_failure():
    found = measure("bundled:plain", "sample", "affine", count=64, tolerance=0.01)
    assert found["tolerance_reached"] is False
    assert (found["images"], found["samples"]) == (64, 10)
    assert found["half_width"] == pytest.approx((found["interval"][1] - found["interval"][0]) / 2)


def test_a_tolerance_that_was_not_reached_is_said_with_the_width_that_was():
    found = measure("bundled:plain", "sample", "affine", count=64, tolerance=0.01)
    assert f"half-width of {found['half_width']:.4f}" in " ".join(str(found).split())


def test_without_a_tolerance_every_image_is_used():
    found = measure("bundled:plain", "sample", "affine", count=64, samples=3)
    assert (found["images"], found["samples"], found["calls"], found["tolerance_reached"]) == (64, 3, 64 * 4, None)
    assert compare({"a": "bundled:plain"}, "sample", "affine", count=64, samples=3)["results"][0]["rho"] == found["rho"]
