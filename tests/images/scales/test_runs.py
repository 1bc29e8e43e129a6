"""An image set in scales in a study: its shifts stand in the nuisance's place of its own cells and of no others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cns_folder import CLASSES, SCALES, SEEDS, SHIFTS, make, relative, write
from torch import Tensor

import brittle
from brittle.errors import BrittleError
from brittle.report.html import write_report

pytestmark = pytest.mark.warned(
    "by number",
    "is near chance on the untouched images",
    "has a mean confidence of",
    "are not followed, since images are missing",
)


class ByColour:
    """Says goldfish where red is low, hammerhead where it is high, and nothing of either above some blue."""

    labels = tuple(map(str, range(6)))
    can = frozenset[str]()
    named = False

    def log_probs(self, images: Tensor) -> Tensor:
        red, blue = images[:, 0].mean((1, 2)), images[:, 2].mean((1, 2))
        label = torch.where(red > 0.45, 4, 1).where(blue < 0.5, 0)
        return torch.nn.functional.one_hot(label, 6).float().mul(5).log_softmax(-1)


def study(root: Path, **more: Any) -> dict[str, Any]:
    plain = {"classifiers": {"plain": "bundled:plain"}, "images": {"cns": f"cns:{root},channels=grey"}}
    return plain | more


def cells(summary: Mapping[str, Any], measure: str = "robustness") -> set[tuple[str, str]]:
    return {(row["image_set"], row["nuisance"]) for row in summary["measures"][measure]["results"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "cns")


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """Pictures as large as the bundled classifiers want them; at scale 0 one for every shift."""
    rng = np.random.default_rng(0)
    origin: dict[tuple[int, int], tuple[int, int, int]] = {}
    for shift, label, seed, scale in itertools.product(SHIFTS, CLASSES, SEEDS, SCALES):
        red, green, blue = map(int, rng.integers(0, 255, 3))
        colour = (red, green, blue) if scale else origin.setdefault((label, seed), (red, green, blue))
        write(tmp_path / "wide" / relative(shift, label, seed, scale), colour, side=28)
    return tmp_path / "wide"


def test_robustness_over_a_shift_is_the_mean_over_its_scales(root: Path) -> None:
    """Red tells the classes apart, and only at scale 2.5 blue hides them: a third of all draws."""
    found = brittle.compare({"it": ByColour()}, f"cns:{root}", samples=200)
    assert [row["nuisance"] for row in found["results"]] == sorted(SHIFTS)
    for row in found["results"]:
        assert row["accuracy_clean"] == 1
        assert row["accuracy_nuisance"] == pytest.approx(2 / 3, abs=0.06)


def test_a_study_measures_each_set_under_its_own(wide: Path) -> None:
    asked = study(wide, nuisances=["noise"], robustness={"samples": 4})
    asked["images"]["sample"] = {"spec": "sample", "count": 5}
    assert cells(brittle.run(asked)) == {("cns", SHIFTS[0]), ("cns", SHIFTS[1]), ("sample", "noise")}


def test_a_measure_that_names_nuisances_means_these_on_every_set(wide: Path) -> None:
    asked = study(wide, nuisances=["noise"], robustness={"samples": 4, "nuisances": ["noise"]})
    assert cells(brittle.run(asked)) == {("cns", "noise")}


def test_a_nuisance_that_no_set_would_use_is_refused(wide: Path) -> None:
    with pytest.raises(BrittleError, match="the nuisance 'noise' would be used on no image set"):
        brittle.run(study(wide, nuisances=["noise"], robustness={"samples": 4}))


def test_a_shift_named_as_a_nuisance_or_as_another_shift_is_refused(wide: Path) -> None:
    with pytest.raises(BrittleError, match="which is also the name of a nuisance of the study"):
        brittle.run(study(wide, nuisances={SHIFTS[0]: "noise"}))
    twice = study(wide)
    twice["images"]["again"] = twice["images"]["cns"]
    with pytest.raises(BrittleError, match="which is also the name of one that 'cns' brings"):
        brittle.run(twice)
    twice["images"]["again"] += ",prefix=again-"
    found = brittle.run(twice | {"robustness": {"samples": 2}})
    assert ("again", f"again-{SHIFTS[0]}") in cells(found)


@pytest.mark.warned("are left out, since some shift lacks scales of them")
def test_a_measure_that_needs_every_image_refuses_a_shift_that_lacks_some(tmp_path: Path) -> None:
    root = make(tmp_path / "cns", missing=[relative(SHIFTS[0], 1, 34, 1.0)])
    with pytest.raises(BrittleError, match=f"the shift '{SHIFTS[0]}' lacks scales of 1 images"):
        brittle.compare({"it": ByColour()}, f"cns:{root}", samples=2)
    found = brittle.compare({"it": ByColour()}, f"cns:{root},paths=all", samples=2)
    assert {row["images"] for row in found["results"]} == {len(CLASSES) * len(SEEDS) - 1}
    assert any("seed_0034" in warning for warning in found.summary["warnings"])


def test_one_result_is_not_chosen_among_several_shifts(root: Path) -> None:
    with pytest.raises(BrittleError, match="there are 2 results, each with its own 'rho'"):
        _ = brittle.measure(ByColour(), f"cns:{root}", samples=2)["rho"]
    assert brittle.measure(ByColour(), f"cns:{root},shifts={SHIFTS[0]}", samples=2)["nuisance"] == SHIFTS[0]
    assert brittle.measure(ByColour(), f"cns:{root}", "noise", samples=2)["nuisance"] == "noise"


def test_breaking_points_follow_even_scales(tmp_path: Path) -> None:
    """Blue is 80 · scale of 255, and predictions change where it passes one half: at none of the scales but 2.5."""
    root = make(
        tmp_path / "cns", missing=[relative(*each) for each in itertools.product(SHIFTS, CLASSES, SEEDS, [2.5])]
    )
    found = brittle.breaking_points(ByColour(), f"cns:{root},shifts={SHIFTS[0]}", repeats=1)
    assert (found["step"], found["limit"], found["unbroken"]) == (0.5, 1.0, 1.0)
    with pytest.raises(BrittleError, match="not evenly spaced"):
        brittle.breaking_points(ByColour(), f"cns:{make(tmp_path / 'all')},shifts={SHIFTS[0]}", repeats=1)


def test_the_command_needs_no_nuisance(wide: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    about = ("measure", "bundled:plain", f"cns:{wide},channels=grey", "--samples", 3, "--json")
    said = cli(*about).json
    assert [row["nuisance"] for row in said["results"]] == list(SHIFTS)
    named = cli(
        "measure", "bundled:plain", f"cns:{wide},channels=grey", "--nuisance", "noise", "--samples", 3, "--json"
    )
    assert named.json["nuisance"] == "noise"


@pytest.mark.parametrize("command", ["measure", "fail", "ranking"])
def test_a_command_without_a_nuisance_names_the_option(cli: Callable[..., Any], command: str) -> None:
    said = cli(command, "bundled:plain", "sample", "--against", "bundled:augmented").complaint(2)
    assert "no nuisance is given" in said
    assert "--nuisance" in said


@pytest.mark.warned("no failure point is averaged")
def test_a_run_is_kept_resumed_and_reported_also_without_its_images(wide: Path, tmp_path: Path) -> None:
    asked = study(wide, robustness={"samples": 4}, **{"failure-points": {}})
    first = brittle.run(asked, out=tmp_path / "run")
    assert brittle.run(asked, out=tmp_path / "run")["measures"] == first["measures"]
    text = write_report(tmp_path / "run").read_text()
    assert SHIFTS[0] in text
    assert SHIFTS[1] in text
    wide.rename(tmp_path / "gone")
    assert SHIFTS[0] in write_report(tmp_path / "run").read_text()
    assert SHIFTS[0] in write_report(tmp_path / "run", nothing_loaded=True).read_text()


def test_a_changed_picture_above_scale_0_is_noticed_on_resuming(wide: Path, tmp_path: Path) -> None:
    asked = study(wide, robustness={"samples": 4})
    brittle.run(asked, out=tmp_path / "run")
    write(wide / relative(SHIFTS[1], 4, 3, 1.0), (9, 9, 9), side=28)
    with pytest.raises(BrittleError, match="the image set 'cns' is no longer what it was"):
        brittle.run(asked, out=tmp_path / "run")


def test_failure_points_lie_at_the_scale_where_colour_hides_the_class(tmp_path: Path) -> None:
    """Blue hides every class at scale 2.5 and none before. A path that lacks a scale has no rows there."""
    root = make(tmp_path / "cns", missing=[relative(SHIFTS[0], 1, 34, 1.0)])
    found = brittle.failure_points(ByColour(), f"cns:{root}")
    assert [(row["nuisance"], row["paths"]) for row in found["results"]] == [(SHIFTS[0], 5), (SHIFTS[1], 6)]
    for row in found["results"]:
        assert (row["mean"], row["median"], row["never"], row["unit"]) == (2.5, 2.5, 0, "scale")
        assert [each["accuracy"] for each in row["severities"]] == [1, 1, 1, 0]
    assert [row["incomplete"] for row in found["results"]] == [1, 0]
    rows = found.rows.to_pylist()
    assert len(rows) == (5 + 6) * len(SCALES[1:])
    assert {row["severity"] for row in rows if row["rank"] > 0} == {2.5}


def test_a_path_that_lacks_a_scale_is_warned_of_once_and_counted(wide: Path, cli: Callable[..., Any]) -> None:
    (wide / relative(SHIFTS[0], 1, 34, 1.0)).unlink()
    said = cli("fail", "bundled:plain", f"cns:{wide},channels=grey")
    assert said.err.count("not followed") == 1
    assert "as they are stored; 1 image not stored at every scale is left out" in " ".join(said.out.split())
    assert "asked for" not in said.err


def test_a_shift_that_none_of_the_chosen_images_has_costs_the_others_nothing(tmp_path: Path) -> None:
    images = brittle.image_set(f"cns:{make(tmp_path / 'cns', missing=[relative(SHIFTS[0], 1, 34, 1.0)])}")
    lacking = [each for each in images.ids.tolist() if not images.shifts[SHIFTS[0]].exists(np.array([each]))[0]]
    both = {"a": ByColour(), "b": ByColour()}
    found = brittle.failure_points(both, images, ids=lacking)
    assert [row["images"] for row in found["results"]] == [0, 0, 1, 1]
    assert [row["mean"] for row in found["results"]] == [None, None, 2.5, 2.5]
    ranked = brittle.ranking(both, images, ids=lacking)
    assert {row["nuisance"] for row in ranked["results"]} == {SHIFTS[1]}


def test_failure_points_do_not_depend_on_the_batch(root: Path) -> None:
    one, other = (brittle.failure_points(ByColour(), f"cns:{root}", batch=size).rows for size in (1, 7))
    assert one.equals(other)


def test_classes_outside_the_set_are_masked_out_only_where_that_is_asked_for(root: Path) -> None:
    """At scale 2.5 the answer is class 0, which the set does not have, and next comes the right class."""

    def second_best(images: Tensor) -> Tensor:
        label = torch.where(images[:, 0].mean((1, 2)) > 0.45, 4, 1)
        hidden = (images[:, 2].mean((1, 2)) > 0.5).float()
        logits = torch.nn.functional.one_hot(label, 6).float() * 5
        logits[:, 0] += 9 * hidden
        return logits

    images = brittle.image_set(f"cns:{root},shifts={SHIFTS[0]}")
    assert images.own_classes() == {"goldfish": [1], "hammerhead": [4]}
    plain = brittle.classifier(second_best, output="logits")
    masked = brittle.classifier(second_best, output="logits", classes=images.own_classes())
    found = brittle.failure_points({"plain": plain, "masked": masked}, images)
    accuracy = {row["classifier"]: [each["accuracy"] for each in row["severities"]] for row in found["results"]}
    assert accuracy == {"plain": [1, 1, 1, 0], "masked": [1, 1, 1, 1]}


def test_derived_measures_read_shifts_that_lack_some_paths(tmp_path: Path) -> None:
    """By hand: errors over the scales above 0 are 0, 0, 1 in both shifts, and the reference's own are the same."""
    root = make(tmp_path / "cns", missing=[relative(SHIFTS[0], 1, 34, 1.0)])
    found = brittle.corruption_error({"it": ByColour(), "other": ByColour()}, f"cns:{root}", reference="other")
    assert [row["mce"] for row in found["results"]] == [1, 1]
