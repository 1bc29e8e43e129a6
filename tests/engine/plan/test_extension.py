"""A run is extended by anything: only the new cells are computed, and what was there stays as it was. What was lost is
computed again, and no number changes."""

import pytest
from engine_runs import run

from brittle.engine.open import open_inputs
from brittle.errors import BrittleError

pytestmark = pytest.mark.warned(
    "is near chance on the untouched images", "has a mean confidence of", "this prior may destroy the label"
)

IMAGES, SAMPLES = 60, 5


@pytest.fixture
def study(things):
    """Two classifiers, one image set, two nuisances; `changed` replaces entries."""

    def make(**changed):
        small = {"nuisances": ["affine:alpha=20", "rotation:sigma=20"], "robustness": {"samples": SAMPLES}}
        return things.study("first", "second", **(small | changed))

    return make


def files(things):
    """Every unit file: which one it is, when it was written."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (things.out / "units").rglob("*.parquet")}


def calls(things):
    return things.rows("first"), things.rows("second")


def old_results(found, before, own):
    """Of the results those that were there before, without what depends on how many there are."""
    keys = ("classifier", "image_set", "nuisance")
    known = {tuple(row[key] for key in keys) for row in before["measures"]["robustness"]["results"]}
    return [own(row) for row in found["measures"]["robustness"]["results"] if tuple(row[key] for key in keys) in known]


def other_images(things):
    return {"toy": f"npz:{things.folder}/images.npz", "few": {"spec": f"npz:{things.folder}/images.npz", "count": 20}}


EXTENSIONS = {
    "a nuisance": (
        lambda things: {"nuisances": ["affine:alpha=20", "rotation:sigma=20", "translation:sigma=0.2"]},
        IMAGES * SAMPLES,
    ),
    "an image set": (lambda things: {"images": other_images(things)}, 20 * (1 + 2 * SAMPLES)),
    "a measure": (lambda things: {"clean": {}}, 0),
    "a measure of the same kind": (
        lambda things: {"measures": {"more": {"kind": "robustness", "samples": 3, "nuisances": ["rotation:sigma=20"]}}},
        IMAGES * 3,
    ),
}


@pytest.mark.parametrize(("change", "new"), EXTENSIONS.values(), ids=EXTENSIONS)
def test_an_extension_computes_only_the_new_cells(things, study, own, change, new):
    before = run(study(), out=things.out)
    kept, _ = files(things), calls(things)
    changed = change(things)
    checks = things.CHECKED * len(changed.get("images", [0]))
    after = run(study(**changed), out=things.out)
    assert calls(things) == (checks + new, checks + new)
    assert (new == 0) == (files(things) == kept)
    assert {path: files(things).get(path) for path in kept} == kept
    assert old_results(after, before, own) == list(map(own, before["measures"]["robustness"]["results"]))
    assert after == run(study(**changed), out=things.folder / "at once")


def test_an_extension_by_a_search_leaves_all_that_is_there_alone(things, study):
    run(study(), out=things.out, batch=4)
    kept, _ = files(things), calls(things)
    extended = study(**{"weak-points": {"budget": 40, "count": 2, "keep": 4}})
    after = run(extended, out=things.out, batch=4)
    most = things.CHECKED + 2 * 2 * 40 * 2  # the last batch of each evaluation is padded
    assert all(things.CHECKED < each <= most for each in calls(things))
    assert {path: files(things)[path] for path in kept} == kept
    assert after == run(extended, out=None, batch=4)


def test_an_extension_by_a_classifier_computes_only_the_new_one(things, study, own):
    first = {"classifiers": things.study("first")["classifiers"]}
    before = run(study(**first), out=things.out)
    kept, _ = files(things), calls(things)
    after = run(study(), out=things.out)
    assert calls(things) == (things.CHECKED, things.CHECKED + IMAGES * (1 + 2 * SAMPLES))
    assert {path: files(things)[path] for path in kept} == kept
    assert old_results(after, before, own) == list(map(own, before["measures"]["robustness"]["results"]))
    assert after == run(study(), out=None)


def test_a_run_is_extended_by_everything_at_once_and_several_times(things, study):
    run(study(classifiers=things.study("first")["classifiers"], nuisances=["affine:alpha=20"]), out=things.out)
    run(study(nuisances=["affine:alpha=20"]), out=things.out)
    whole = study(images=other_images(things), clean={})
    assert run(whole, out=things.out) == run(whole, out=None)


def test_title_groups_and_attributes_may_change(things, study):
    before = run(study(title="one"), out=things.out)
    entries = {name: {"spec": spec, "group": "linear", "width": 64} for name, spec in study()["classifiers"].items()}
    calls(things)
    after = run(study(title="another", classifiers=entries), out=things.out)
    assert calls(things) == (things.CHECKED, things.CHECKED)
    assert after["measures"]["robustness"]["results"] == before["measures"]["robustness"]["results"]
    assert after["classifiers"]["first"]["group"] == "linear"
    assert after["classifiers"]["first"]["attributes"] == {"width": 64}
    assert open_inputs(things.out / "study.toml").study.title == "another"


CHANGED = {
    "a measure's option": ({"breaking-points": {"limit": 3}}, r"measures\.breaking-points\.limit: 2\.0 → 3\.0"),
    "a restriction": (
        {"robustness": {"samples": 5, "nuisances": ["affine:alpha=20"]}},
        r"measures\.robustness\.nuisances: nothing → \['affine:alpha=20'\]",
    ),
    "a measure removed": (
        {"robustness": {"samples": 5}, "clean": None},
        r"measures\.clean: \{.*\} → nothing",
    ),
    "a nuisance removed": ({"nuisances": ["affine:alpha=20"]}, r"nuisances\.rotation:sigma=20: '.*' → nothing"),
    "a nuisance renamed": (
        {"nuisances": {"affine:alpha=20": "affine:alpha=20", "turn": "rotation:sigma=20"}},
        r"nuisances\.rotation:sigma=20: '.*' → nothing; nuisances\.turn: nothing → 'rotation:sigma=20'",
    ),
    "images trained on": (
        {"images": {"toy": {"spec": "SPEC", "train": "other"}, "other": "SPEC"}},
        r"images\.toy\.train: nothing → 'other'",
    ),
}


@pytest.mark.parametrize(("change", "words"), CHANGED.values(), ids=CHANGED)
def test_a_changed_or_removed_entry_is_refused_with_the_difference_shown(things, study, change, words):
    begun = study(clean={}, **{"breaking-points": {"limit": 2}})
    run(begun, out=things.out)
    kept = (files(things), (things.out / "study.toml").read_bytes())
    spec = f"npz:{things.folder}/images.npz"
    images = {
        name: spec if entry == "SPEC" else entry | {"spec": spec} for name, entry in change.get("images", {}).items()
    }
    changed = begun | change | ({"images": images} if images else {})
    with pytest.raises(BrittleError, match=words) as refusal:
        run({key: value for key, value in changed.items() if value is not None}, out=things.out)
    assert "\n" not in str(refusal.value)
    assert refusal.value.exit_status == 2
    assert (files(things), (things.out / "study.toml").read_bytes()) == kept


def test_an_entry_written_another_way_is_not_a_change(things, study):
    before = run(study(), out=things.out)
    long = study(measures={"robustness": {"kind": "robustness", "samples": SAMPLES, "worst_of": 10}})
    del long["robustness"]
    kept = files(things)
    assert run(long, out=things.out) == before
    assert files(things) == kept


# What was lost


@pytest.mark.warned("was damaged or incomplete")
@pytest.mark.parametrize(
    "robustness", [{"samples": 5}, {"samples": 5, "tolerance": 0.12}], ids=["samples", "tolerance"]
)
@pytest.mark.parametrize("how", ["deleted", "truncated", "emptied"])
def test_a_lost_clean_unit_is_computed_again_and_no_number_changes(things, study, how, robustness):
    things.write_images(count=600)
    small = study(robustness=robustness, nuisances=["affine:alpha=20"])
    before = run(small, out=things.out)
    clean = things.unit_files("clean", "first")
    assert clean
    for path in clean:
        content = path.read_bytes()
        path.unlink()
        if how != "deleted":
            path.write_bytes(content[:100] if how == "truncated" else b"")
    kept, _ = files(things), calls(things)
    assert run(small, out=things.out) == before
    first, second = calls(things)
    assert things.CHECKED < first <= things.CHECKED + 600
    assert second == things.CHECKED
    assert all(files(things)[path] == known for path, known in kept.items() if path not in clean)
    assert things.unit_files("clean", "first")


def test_lost_rows_of_one_cell_are_computed_again_for_it_alone(things, study):
    before = run(study(), out=things.out)
    (lost,) = things.unit_files("rotation", "second")
    lost.unlink()
    kept, _ = files(things), calls(things)
    assert run(study(), out=things.out) == before
    assert calls(things) == (things.CHECKED, things.CHECKED + IMAGES * SAMPLES)
    assert {path: files(things)[path] for path in kept} == kept
