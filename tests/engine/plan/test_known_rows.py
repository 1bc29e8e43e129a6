"""A run goes on with more draws, repeats or images: finished rows stay, and the rest is that of a run made at once."""

import contextlib
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from engine_runs import run_study
from torch import nn

import brittle
from brittle.errors import BrittleError
from brittle.measures import measures
from brittle.registry import extending

pytestmark = [
    pytest.mark.warned(
        "is near chance on the untouched images", "has a mean confidence of", "this prior may destroy the label"
    ),
    pytest.mark.filterwarnings("ignore::brittle.BrittleWarning"),
]


def run(study, out):
    """What is said in the end; without a report."""
    return run_study(study, out).summary


def tables(folder: Path) -> dict[tuple[str, str], list[dict]]:
    """Every table of every cell, as rows, whatever files they lie in."""
    found = {}
    for path in sorted((folder / "units").rglob("*.parquet")):
        key = (str(path.parent.relative_to(folder)), path.name.split(".")[1])
        found.setdefault(key, []).extend(pq.read_table(path).to_pylist())
    return found


def differing(one, other, where=""):
    """Where two values differ by more than last digits, which may depend on what else is in a batch."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for key in one for found in differing(one[key], other[key], f"{where} {key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for mine, theirs in zip(one, other, strict=True) for found in differing(mine, theirs, where)]
    if isinstance(one, float) and isinstance(other, float):
        same = math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-5) or (math.isnan(one) and math.isnan(other))
    else:
        same = one == other
    return [] if same else [where]


def assert_alike(one, other):
    assert differing(one, other) == []


def assert_same(one: Path, other: Path) -> None:
    """The same rows, in the same order, in the same units."""
    assert_alike(tables(one), tables(other))


def aside(folder: Path) -> list[Path]:
    return list(folder.rglob("*.earlier"))


def asked(things, images=None, **measures):
    toy = {"spec": f"npz:{things.folder}/images.npz"} | ({} if images is None else {"count": images})
    return things.study("first", "second", nuisances=["patch", "rotation:sigma=20"], images={"toy": toy}) | {
        "robustness": None,
        **measures,
    }


def without(study):
    return {key: value for key, value in study.items() if value is not None}


CHAIN = {"sampler": "metropolis", "chains": 2, "steps": 10, "burn_in": 5, "tries": 4, "keep": 4} | {
    "nuisances": ["rotation:sigma=20"]
}
CASES = {
    "robustness, samples": ("robustness", {"samples": 5}, {"samples": 12}),
    "robustness of the set": ("robustness", {"samples": 5, "estimand": "set"}, {"samples": 12, "estimand": "set"}),
    "robustness, another estimand": ("robustness", {"samples": 5}, {"samples": 7, "estimand": "set"}),
    "breaking points": ("breaking-points", {"repeats": 1, "limit": 2}, {"repeats": 3, "limit": 2}),
    "breaking points, fresh": (
        "breaking-points",
        {"repeats": 1, "limit": 2, "noise": "fresh"},
        {"repeats": 3, "limit": 2, "noise": "fresh"},
    ),
    "failure points": ("failure-points", {"repeats": 1}, {"repeats": 3}),
    "failure points, narrowed": (
        "failure-points",
        {"repeats": 1, "tolerance": 0.1, "only": "first"},
        {"repeats": 2, "tolerance": 0.1, "only": "first"},
    ),
    "occlusion": ("occlusion", {"repeats": 1, "nuisances": ["patch"]}, {"repeats": 3, "nuisances": ["patch"]}),
    "shuffling, samples": ("shuffling", {"samples": 2}, {"samples": 5}),
    "shuffling, grids": ("shuffling", {"samples": 2, "grids": [4]}, {"samples": 3, "grids": [2, 4]}),
    "augmentation": (
        "augmentation",
        {"samples": 1, "of": ["mixup", "rotation:sigma=20"]},
        {"samples": 3, "of": ["mixup", "rotation:sigma=20"]},
    ),
    "weak points": ("weak-points", {"budget": 20, "keep": 4, "count": 3}, {"budget": 20, "keep": 4, "count": 7}),
    "weak points of a chain": (
        "weak-points",
        {**CHAIN, "count": 3},
        {**CHAIN, "count": 7},
    ),
}  # fmt: skip


@pytest.mark.parametrize("small", [False, True], ids=["large units", "small units"])
@pytest.mark.parametrize(("kind", "fewer", "more"), CASES.values(), ids=CASES)
def test_more_places_leave_finished_rows_and_add_the_rest(things, monkeypatch, kind, fewer, more, small):
    if small:
        module = kind.replace("-", "_")
        with contextlib.suppress(AttributeError):
            monkeypatch.setattr(f"brittle.measures.{module}.measure.rows_per_unit", lambda _: 24)
        monkeypatch.setattr("brittle.engine.plan.missing.BATCHES_PER_SPAN", 1e-9)
    things.write_images(count=14)
    run(without(asked(things, **{kind: fewer})), things.out)
    things.rows()
    found = run(without(asked(things, **{kind: more})), things.out)
    extended = things.rows()
    at_once = things.folder / "at once"
    assert_alike((run(without(asked(things, **{kind: more})), at_once)), found)
    assert extended < things.rows()
    assert_same(things.out, at_once)
    assert aside(things.out) == []
    run(without(asked(things, **{kind: more})), things.out)
    assert things.rows() == things.CHECKED, "nothing is left to do"


IMAGES = {
    "robustness": {"samples": 3},
    "robustness, drawn": {"samples": 3, "estimand": "drawn"},
    "breaking-points": {"limit": 2},
    "failure-points": {"tolerance": 0.1},
    "occlusion": {"nuisances": ["patch"]},
    "shuffling": {},
    "augmentation": {"of": ["mixup", "rotation:sigma=20"]},
    "weak-points": {"budget": 20, "keep": 4, "nuisances": ["rotation:sigma=20"]},
    "clean": {},
}


@pytest.mark.parametrize("wanted", [16, None], ids=["some", "all"])
@pytest.mark.parametrize("name", IMAGES)
def test_more_images_leave_finished_rows_and_add_the_rest(things, name, wanted):
    kind, options = name.split(",")[0], IMAGES[name]
    begun = 12
    things.write_images(count=20)
    run(without(asked(things, begun, **{kind: options})), things.out)
    things.rows()
    found = run(without(asked(things, wanted, **{kind: options})), things.out)
    extended = things.rows()
    at_once = things.folder / "at once"
    assert_alike((run(without(asked(things, wanted, **{kind: options})), at_once)), found)
    assert extended < things.rows()
    assert_same(things.out, at_once)
    assert aside(things.out) == []


def test_a_smaller_tolerance_goes_on_where_the_run_stopped(things, monkeypatch):
    monkeypatch.setattr("brittle.engine.plan.missing.BATCHES_PER_SPAN", 1e-9)
    things.write_images(count=400)
    run(without(asked(things, robustness={"tolerance": 0.2})), things.out)
    first = things.rows() - things.CHECKED
    found = run(without(asked(things, robustness={"tolerance": 0.1})), things.out)
    second = things.rows() - things.CHECKED
    at_once = things.folder / "at once"
    assert run(without(asked(things, robustness={"tolerance": 0.1})), at_once) == found
    assert second > 0
    assert first + second == things.rows() - things.CHECKED
    assert_same(things.out, at_once)


def test_fewer_are_served_from_the_rows_there_are_and_nothing_is_removed(things):
    run(without(asked(things, 40, robustness={"samples": 6})), things.out)
    things.rows()
    few = run(without(asked(things, 20, robustness={"samples": 3})), things.out)
    assert things.rows() == things.CHECKED
    assert few == run(without(asked(things, 20, robustness={"samples": 3})), None)
    assert aside(things.out)
    things.rows()
    assert run(without(asked(things, 40, robustness={"samples": 6})), things.out) == run(
        without(asked(things, 40, robustness={"samples": 6})), None
    )
    assert things.rows() == 2 * things.CHECKED + 40 * (1 + 2 * 6), "the one in memory"
    assert aside(things.out) == []


def test_options_of_the_summary_alone_may_change(things):
    run(without(asked(things, robustness={"samples": 3})), things.out)
    things.rows()
    other = without(asked(things, robustness={"samples": 3, "confidence": 0.5, "worst_of": 2}))
    found = run(other, things.out)
    assert things.rows() == things.CHECKED
    assert found == run(other, None)


def test_a_run_that_was_killed_while_it_was_extended_goes_on(things, monkeypatch, small_units):
    small_units(64)
    run(without(asked(things, 20, robustness={"samples": 3})), things.out)
    written, write = [], brittle.engine.store.unit_store.FolderStore.write

    def dying(self, cell, span, found):
        written.append(cell)
        if len(written) > 6:
            raise KeyboardInterrupt
        write(self, cell, span, found)

    more = without(asked(things, 31, robustness={"samples": 7}))
    monkeypatch.setattr("brittle.engine.store.unit_store.FolderStore.write", dying)
    with pytest.raises(KeyboardInterrupt):
        run(more, things.out)
    monkeypatch.setattr("brittle.engine.store.unit_store.FolderStore.write", write)
    for most in (more, without(asked(things, 33, robustness={"samples": 9}))):
        found, at_once = run(most, things.out), things.folder / f"at once {most['robustness']['samples']}"
        assert found == run(most, at_once)
        assert_same(things.out, at_once)
    assert aside(things.out) == []


def test_an_extension_by_draws_and_a_classifier_at_once(things):
    begun = without(asked(things, 20, robustness={"samples": 3}))
    run(begun | {"classifiers": {"first": begun["classifiers"]["first"]}}, things.out)
    more = without(asked(things, 25, robustness={"samples": 5}))
    at_once = things.folder / "at once"
    assert run(more, things.out) == run(more, at_once)
    assert_same(things.out, at_once)


def test_pixels_that_changed_are_noticed_when_a_run_is_extended(things):
    random = np.random.default_rng(0)
    run(without(asked(things, 20, robustness={"samples": 3})), things.out)
    pixels = random.integers(0, 256, (60, 8, 8), dtype=np.uint8)
    labels = random.integers(0, 4, 60)
    np.savez(things.folder / "images.npz", images=255 - pixels, labels=labels)
    for count in (15, 30):
        with pytest.raises(BrittleError, match="image set 'toy' is no longer what it was"):
            run(without(asked(things, count, robustness={"samples": 3})), things.out)


def test_weak_points_bind_the_draws_that_they_read(things):
    searched = {"weak-points": {"budget": 40, "keep": 4, "count": 3}}
    begun = without(asked(things, robustness={"samples": 3}, **searched))
    run(begun, things.out)
    with pytest.raises(
        BrittleError, match=r"\(robustness: samples: 3 → 6\), and rows of 'weak-points' depend on that"
    ) as refused:
        run(begun | {"robustness": {"samples": 6}}, things.out)
    assert "\n" not in str(refused.value)
    assert run(begun, things.out)


def test_an_odd_number_of_images_in_pairs_is_not_extended(things):
    mixed = {"augmentation": {"of": ["mixup"]}}
    run(without(asked(things, 11, **mixed)), things.out)
    with pytest.raises(BrittleError, match=r"\(augmentation: images: 11 → 12\), and rows of 'augmentation' depend on"):
        run(without(asked(things, 12, **mixed)), things.out)


# Networks


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.ReLU(), nn.Linear(8, 10))


NETWORKS = {
    "layer noise, repeats": ("layer-noise", {"repeats": 1, "networks": 2}, {"repeats": 3, "networks": 4}, 6, 6),
    "layer noise, which": ("layer-noise", {"repeats": 2, "layers": ["0-1"]}, {"repeats": 2, "layers": ["0-3"]}, 6, 6),
    "layer noise, images": ("layer-noise", {"repeats": 1, "networks": 2}, {"repeats": 2, "networks": 2}, 4, 7),
    "layer changes": ("layer-changes", {"targets": 1, "steps": 20}, {"targets": 3, "steps": 20}, 4, 6),
    "perturbation, count": ("perturbation", {"steps": 20, "count": 3}, {"steps": 20, "count": 6}, 8, 8),
    "perturbation, images": ("perturbation", {"steps": 20}, {"steps": 20}, 3, 6),
    "perturbation, per class": (
        "perturbation",
        {"steps": 20, "per_class": 1},
        {"steps": 20, "per_class": 2},
        30,
        30,
    ),
}


@pytest.mark.parametrize(("kind", "fewer", "more", "count", "most"), NETWORKS.values(), ids=NETWORKS)
def test_more_of_networks_leaves_finished_rows_and_adds_the_rest(tmp_path, kind, fewer, more, count, most):
    def study(images, options):
        return {
            "classifiers": {"mine": network()},
            "images": {"sample": {"spec": "sample", "count": images}},
            kind: {"step": 0.5} | options if kind == "layer-noise" else options,
        }

    run(study(count, fewer), tmp_path / "run")
    before = tables(tmp_path / "run")
    found = run(study(most, more), tmp_path / "run")
    assert found == run(study(most, more), tmp_path / "at once")
    assert_same(tmp_path / "run", tmp_path / "at once")
    assert sum(map(len, tables(tmp_path / "run").values())) > sum(map(len, before.values()))
    assert aside(tmp_path / "run") == []


def test_connectedness_takes_more_images_only_where_its_classes_stay_as_they_are(tmp_path):
    def study(count, **options):
        images = {"sample": {"spec": "sample", "count": count}}
        return {"classifiers": {"mine": network()}, "images": images, "connectedness": {"steps": 4} | options}

    run(study(20), tmp_path / "run")
    with pytest.raises(
        BrittleError, match=r"\(connectedness: images: 20 → 30\), and rows of 'connectedness' depend on"
    ):
        run(study(30), tmp_path / "run")
    run(study(200, per_class=2), tmp_path / "few")
    found = run(study(300, per_class=2), tmp_path / "few")
    assert found == run(study(300, per_class=2), tmp_path / "at once")
    assert_same(tmp_path / "few", tmp_path / "at once")


# As people ask for it


def test_the_command_line_extends_a_run(tmp_path, cli):
    asked = ("measure", "bundled:plain", "sample", "--nuisance", "rotation:sigma=15", "--json", "--out")
    assert cli(*asked, tmp_path / "run", "--samples", 2, "--count", 20).status == 0
    extended = cli(*asked, tmp_path / "run", "--samples", 4, "--count", 30)
    assert extended.status == 0, extended
    at_once = cli(*asked, tmp_path / "at once", "--samples", 4, "--count", 30)
    assert_alike(extended.json, at_once.json)
    assert_same(tmp_path / "run", tmp_path / "at once")


def test_a_call_from_python_extends_a_run(tmp_path):
    def measured(out, **asked):
        return brittle.measure(network(), "sample", "rotation:sigma=15", out=out, **asked)

    measured(tmp_path / "run", samples=2, count=10)
    found = measured(tmp_path / "run", samples=3, count=20)
    assert_alike(dict(found), dict(measured(tmp_path / "at once", samples=3, count=20)))
    assert_same(tmp_path / "run", tmp_path / "at once")


def test_what_would_change_finished_rows_is_refused_with_the_difference(things):
    run(without(asked(things, **{"breaking-points": {"limit": 2}})), things.out)
    with pytest.raises(BrittleError, match=r"measures\.breaking-points\.limit: 2\.0 → 3\.0\. Undo"):
        run(without(asked(things, **{"breaking-points": {"limit": 3, "repeats": 2}})), things.out)


def test_every_option_that_extends_a_run_is_documented():
    text = (Path(__file__).parents[3] / "docs" / "studies.md").read_text(encoding="utf-8")
    for kind, measure in measures.loaded().items():
        for key in extending(measure):
            (line,) = [line for line in text.splitlines() if line.startswith("|") and f"`{kind}`" in line]
            assert f"`{key}`" in line, (kind, key)
