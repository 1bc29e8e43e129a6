"""Failure points of trajectories that are known beforehand, and of a linear classifier."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from engine_runs import run_study
from scipy.special import expit
from torch import nn

import brittle
from brittle.errors import BrittleError, Failure
from brittle.images import image_set
from brittle.measures.base import About, MeasureInputs
from brittle.measures.draws import draw_theta
from brittle.measures.failure_points.measure import FailurePoints
from brittle.measures.failure_points.pooled import over_images
from brittle.measures.failure_points.trajectories import trajectories
from brittle.measures.severities import severities_of
from brittle.nuisances import nuisance, nuisances
from brittle.nuisances.base.gaussian import GaussianNuisance
from brittle.random import stream_root
from brittle.statistics.betting_ratio import ratio_of_sums
from brittle.types import SeverityScale

STEPS = 5
# What is said of eight images at severities 0 to 5: 0 is the label.
SAID = np.array(
    [
        [0, 0, 0, 0, 0, 0],  # never fails
        [0, 0, 1, 1, 1, 1],  # fails at 2
        [0, 1, 0, 0, 2, 0],  # fails at 1, comes back, fails again
        [2, 2, 2, 2, 2, 2],  # wrong at 0
        [1, 0, 0, 0, 0, 0],  # wrong at 0 and right ever after
        [0, 0, 0, 0, 0, 1],  # fails at the last
        [0, 2, 2, 2, 2, 2],  # fails at 1
        [0, 0, 2, 0, 0, 0],  # fails at 2 and comes back
    ]
)
FIRST = [6, 2, 1, 0, 0, 5, 1, 2]  # the place of the first failure; 6: never
WRONG = SAID != 0


@pytest.fixture(scope="module", autouse=True)
def own_nuisances():
    """For as long as these tests last: others look at every nuisance there is."""
    nuisances.names()
    own = {"written-severity": WrittenSeverity, "darker": Darker}
    for name, kind in own.items():
        nuisances.register(name)(kind)
    yield
    for name in own:
        del nuisances._kinds[name]


@dataclass(frozen=True)
class WrittenSeverity(GaussianNuisance):
    """Writes the severity into the first pixel and leaves the rest; θ is 1 for every draw."""

    factor: float = 1.0

    parameters = ("one",)

    def centre(self, batch):
        return torch.zeros(1, dtype=torch.float64)

    def deviations(self, batch):
        return torch.ones(1, dtype=torch.float64)

    def push(self, z, batch):
        return torch.ones_like(z[..., :1])

    def apply(self, batch, theta):
        images = batch.images.clone()
        images[:, 0, 0, 0] = theta[:, 0] * self.factor / 16
        return images

    def describe(self, height, width):
        return "a number in a corner"


def images(labels=None):
    """Eight images: the second pixel says which they are."""
    pixels = torch.zeros(len(SAID), 1, 2, 2)
    pixels[:, 0, 0, 1] = torch.arange(len(SAID)) / 16
    return pixels, torch.zeros(len(SAID), dtype=torch.int64) if labels is None else labels


def told(pixels):
    """Logits of what SAID has of the image and the severity that the pixels hold."""
    severity, image = ((16 * pixels[:, 0, 0, at]).round().long() for at in (0, 1))
    said = torch.from_numpy(SAID)[image, severity.clamp(max=STEPS)]
    return 4.0 * nn.functional.one_hot(said, 3).float()


def steady(pixels):
    """Class 0 whatever the image."""
    return torch.tensor([3.0, 0.0, 0.0]).expand(len(pixels), 3)


OPTIONS = {"severities": (1, 2, 3, 4, 5)}


def found_with(**options):
    return brittle.failure_points(told, images(), "written-severity", **(OPTIONS | options))


@pytest.mark.parametrize("batch", [1, 3, 16, 1000])
def test_known_trajectories_are_found_whatever_the_batch(batch):
    found = found_with(batch=batch)
    rows = found.rows.to_pandas()
    rows["index"] = found.places
    by = rows.pivot(index="index", columns="place", values="predicted")
    assert (by.to_numpy() == SAID[:, 1:]).all()
    assert [entry["first_failures"] for entry in found["severities"]] == [FIRST.count(place) for place in range(6)]
    assert [entry["wrong"] for entry in found["severities"]] == WRONG.sum(0).tolist()
    assert [entry["accuracy"] for entry in found["severities"]] == pytest.approx(1 - WRONG.mean(0))
    assert [entry["drop"] for entry in found["severities"]] == pytest.approx(WRONG.mean(0) - WRONG.mean(0)[0])
    ever = np.logical_or.accumulate(WRONG, 1).mean(0)
    assert [entry["failed"] for entry in found["severities"]] == pytest.approx(ever)
    assert found["never"] == 1 / 8
    assert found["wrong_at_0"] == 2
    assert found["recovered"] == 3
    assert found["correct"] == 6
    assert found["mean"] == pytest.approx(np.mean([5, 2, 1, 5, 1, 2]))
    assert found["median"] == 2
    assert found["calls"] == 40


@pytest.mark.parametrize("only", [None, "first"])
def test_classes_are_mapped_severity_by_severity(only):
    """Accuracy of each class or, where paths end at their first failure, the share of it that has failed by then."""
    labels = torch.arange(len(SAID)) % 2
    found = brittle.failure_points(told, images(labels), "written-severity", only=only, **OPTIONS)
    wrong = labels.numpy()[:, None] != SAID
    expected = ~wrong if only is None else np.logical_or.accumulate(wrong, 1)
    assert [(each["label"], each["images"]) for each in found["classes"]] == [(0, 4), (1, 4)]
    for each in found["classes"]:
        assert each["failed" if only else "accuracy"] == pytest.approx(expected[each["label"] :: 2].mean(0), abs=1e-4)


def test_pooled_drops_belong_to_their_images_where_some_lack_a_shift():
    """Image 0 has one shift, image 1 the other, image 2 both: totals 1, 0.5 and 0.25 of 1, 1 and 2 paths."""
    drops = {"one": np.array([1.0, 0.5]), "other": np.array([0.5, -0.25])}
    places = {"one": np.array([0, 2]), "other": np.array([1, 2])}
    found = over_images(drops, places, 4, 0.9)
    assert found["drop"] == pytest.approx(1.75 / 4)
    assert found["drop_interval"] == pytest.approx(
        ratio_of_sums([1, 0.5, 0.25], [1, 1, 2], 0.9, support=(-1.0, 1.0)).interval
    )


def test_first_failures_are_those_of_whole_paths_and_cost_fewer_calls():
    whole, short = found_with(), found_with(only="first")
    assert short["calls"] == sum(min(first, STEPS) for first in FIRST)
    assert short["calls_saved"] == whole["calls"] - short["calls"]
    same = ("images", "wrong_at_0", "never", "never_interval", "mean", "mean_interval", "median", "correct")
    assert {key: short[key] for key in same} == {key: whole[key] for key in same}
    for one, other in zip(whole["severities"], short["severities"], strict=True):
        assert one["first_failures"] == other["first_failures"]
        assert one["failed"] == other["failed"]
        assert one["falls"] == other["falls"]
    assert short["recovered"] is None
    assert [entry["accuracy"] for entry in short["severities"]] == [6 / 8, None, None, None, None, None]


def test_labels_that_images_fall_into_are_counted_at_their_first_failure():
    falls = [entry["falls"] for entry in found_with()["severities"]]
    assert [(each["label"], each["paths"]) for each in falls[1]] == [("1", 1), ("2", 1)]
    assert [(each["label"], each["paths"]) for each in falls[2]] == [("1", 1), ("2", 1)]
    assert falls[3] == falls[4] == []
    assert [(each["label"], each["share"]) for each in falls[5]] == [("1", 1.0)]


def test_calibration_and_nll_at_a_severity_are_those_of_all_answers():
    """Every answer has p = e⁴/(e⁴ + 2), so that ECE is |p − accuracy|."""
    top, other = (np.exp(z) / (np.exp(4) + 2) for z in (4, 0))
    for place, entry in enumerate(found_with()["severities"]):
        error = WRONG[:, place].mean()
        assert entry["ece"] == pytest.approx(abs(top - (1 - error)), abs=1e-6)
        assert entry["nll"] == pytest.approx(-(1 - error) * np.log(top) - error * np.log(other), abs=1e-5)
        assert entry["mean_confidence"] == pytest.approx(top, abs=1e-6)


@pytest.mark.warned("have no label")
def test_images_without_labels_are_left_out_and_said_so():
    labels = torch.tensor([0, -1, 0, 0, 0, 0, 0, -1])
    found = brittle.failure_points(told, images(labels), "written-severity", **OPTIONS)
    assert found["images"] == 6
    assert found["mean"] == pytest.approx(np.mean([5, 1, 5, 1]))
    assert set(found.places) == {0, 2, 3, 4, 5, 6}
    assert any("2 of the 8 images" in text and "no failure point" in text for text in found["warnings"])


def test_no_labels_at_all_are_refused():
    with pytest.raises(BrittleError, match="have no labels"):
        brittle.failure_points(told, images()[0], "written-severity", **OPTIONS)


def test_several_shifts_of_the_same_images_stay_apart_and_pool_image_by_image():
    study = {
        "classifiers": {"told": told},
        "images": {"eight": image_set(images())},
        "nuisances": {"whole": WrittenSeverity(), "none": WrittenSeverity(factor=0.0)},
        "failure-points": OPTIONS,
    }
    said = run_study(study).summary["measures"]["failure-points"]
    whole, none = said["results"]
    assert [entry["first_failures"] for entry in whole["severities"]] == [FIRST.count(place) for place in range(6)]
    assert [entry["first_failures"] for entry in none["severities"]] == [2, 0, 0, 0, 0, 0]
    drops = WRONG[:, 1:].mean(1) - WRONG[:, 0]
    (pooled,) = said["pooled"]
    assert pooled["nuisances"] == ["whole", "none"]
    assert pooled["drop"] == pytest.approx(drops.mean() / 2)
    low, high = pooled["drop_interval"]
    assert low < pooled["drop"] < high
    assert [entry["drop"] for entry in pooled["severities"]] == pytest.approx(
        (WRONG[:, 1:].mean(0) - WRONG[:, 0].mean()) / 2
    )


@pytest.mark.parametrize(
    ("options", "match"), [({"tolerance": 0.1}, "some scales only"), ({"repeats": 2}, "one stored")]
)
def test_stored_paths_are_neither_narrowed_nor_repeated(options, match):
    about = About(0, nuisance=Stored(), nuisance_name="snow")
    with pytest.raises(BrittleError, match=match):
        FailurePoints(**options).check(about, MeasureInputs({}, {}, {}))


class Doubled:
    """A run of which a row is there twice."""

    def __init__(self, view):
        self.view = view

    def __getattr__(self, name):
        return getattr(self.view, name)

    def fold(self, cell):
        found = self.view.fold(cell)
        found.update(None, {"rows": self.view.table(cell).slice(7, 1)}, {})
        return found


def test_duplicate_rows_are_an_error():
    found = found_with()
    view = found.run.view("failure-points")
    with pytest.raises(Failure, match="there twice"):
        trajectories(Doubled(view), "classifier", found["image_set"], "written-severity")


def linear(scale=8.0):
    """p(class 1) = σ(scale·(mean pixel − ½)): wrong as soon as a bright image falls to ½."""
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    with torch.no_grad():
        module[1].weight.copy_(scale * torch.tensor([[0.0] * 4, [0.25] * 4]))
        module[1].bias.copy_(torch.tensor([0.0, -scale / 2]))
    return module


@dataclass(frozen=True)
class Darker(WrittenSeverity):
    """x − s/20: a bright grey image of value v is black-and-white borderline at s = 20·(v − ½)."""

    def apply(self, batch, theta):
        return batch.images - theta.view(-1, 1, 1, 1) / 20


def test_narrowed_failure_points_are_those_of_the_closed_form():
    values = torch.linspace(0.52, 0.98, 40)
    bright = values.view(-1, 1, 1, 1).expand(-1, 1, 2, 2).clone()
    found = brittle.failure_points(
        linear(), (bright, torch.ones(40, dtype=torch.int64)), "darker", step=1.5, limit=8, tolerance=0.01
    )
    exact = 20 * (values.numpy().astype(np.float64) - 0.5)
    fails = exact <= 7.5
    rows = found.refined
    places = {int(image): place for image, place in zip(found.rows["image"].to_numpy(), found.places, strict=True)}
    own = exact[[places[int(image)] for image in rows["image"].to_numpy()]]
    low, high = (rows[name].to_numpy() for name in ("low", "high"))
    assert rows.num_rows == fails.sum()
    assert (high - low).max() <= 0.01
    assert (low <= own + 1e-5).all()
    assert (own <= high + 1e-5).all()
    assert found["refined"]["mean"] == pytest.approx(np.where(fails, exact, 7.5).mean(), abs=0.01)
    # 1.5 is halved eight times until it is below 0.01.
    assert rows["calls"].to_pylist() == [8] * int(fails.sum())
    assert found["mean"] == pytest.approx(np.minimum(np.ceil(exact / 1.5 - 1e-5) * 1.5, 7.5).mean())


def test_accuracy_along_a_linear_classifier_is_confident_as_its_margin_says():
    bright = torch.full((3, 1, 2, 2), 0.75)
    found = brittle.failure_points(linear(), (bright, torch.ones(3, dtype=torch.int64)), "darker", severities=(2, 4, 6))
    margins = 8 * (0.75 - np.array([0, 2, 4, 6]) / 20 - 0.5)
    assert [entry["mean_confidence"] for entry in found["severities"]] == pytest.approx(
        expit(np.abs(margins)), abs=1e-5
    )
    assert [entry["nll"] for entry in found["severities"]] == pytest.approx(-np.log(expit(margins)), abs=1e-5)


def test_risk_is_averaged_over_the_answers_kept_the_most_confident_first():
    values = torch.tensor([0.53, 0.9, 0.62, 0.71, 0.58])
    labels = torch.tensor([0, 1, 1, 0, 1])
    found = brittle.failure_points(
        linear(), (values.view(-1, 1, 1, 1).expand(-1, 1, 2, 2).clone(), labels), "darker", severities=(0.2,)
    )
    # Confidence falls in the order 0.9, 0.71, 0.62, 0.58, 0.53, of which the second and the last are wrong.
    expected = np.mean([0, 1 / 2, 1 / 3, 1 / 4, 2 / 5])
    assert [entry["aurc"] for entry in found["severities"]] == pytest.approx([expected, expected])


@pytest.mark.parametrize(
    ("spec", "unit", "first", "last"),
    [
        ("fog", "median level", 1 / 3, 5 / 3),
        ("fog:level=1,spread=0", "level", 1, 5),
        ("noise:level=2", "level", 0.5, 2.5),
        ("contrast:level=1", "level", 1, 5),
        ("noise:sigma=0.1", "σ of 255", 10 / 25.5, 100 / 25.5),
        ("affine", "severity", 0.5, 2.5),
    ],
)
def test_severities_are_told_in_a_nuisances_own_unit(spec, unit, first, last):
    grid = severities_of(nuisance(spec))
    assert grid.unit == unit
    assert grid.tensor()[[0, -1]].tolist() == pytest.approx([first, last])


def test_severities_that_do_not_rise_or_are_given_twice_are_refused():
    space = nuisance("affine")
    with pytest.raises(BrittleError, match="must rise"):
        severities_of(space, (1, 1))
    with pytest.raises(BrittleError, match="as a list and as steps"):
        severities_of(space, (1, 2), step=1)
    with pytest.raises(BrittleError, match="no severity"):
        severities_of(space, step=2, limit=1)
    assert severities_of(space, step=0.1, limit=0.3).values == pytest.approx((0.1, 0.2, 0.3))


class Stored(WrittenSeverity):
    """A shift whose pictures were made beforehand, at three scales."""

    severity_scale = SeverityScale("scale", 1.0, (1.0, 2.0, 4.0), 1.0, 4.0, fixed=True)

    def exists(self, ids):
        return ids >= 0

    def fingerprint(self):
        return b""


def test_stored_scales_are_the_grid_and_no_others_exist():
    assert severities_of(Stored()).values == (1.0, 2.0, 4.0)
    assert severities_of(Stored(), (1.0, 4.0)).values == (1.0, 4.0)
    with pytest.raises(BrittleError, match="no images at scale 3"):
        severities_of(Stored(), (3,))


def test_classifiers_are_compared_over_the_images_that_all_get_right():
    found = brittle.failure_points({"told": told, "steady": steady}, images(), "written-severity", **OPTIONS)
    (pair,) = found["comparisons"]
    assert pair["images"] == 6
    assert pair["difference"] == pytest.approx(np.mean([5, 2, 1, 5, 1, 2]) - 5)
    assert pair["interval"][0] <= pair["difference"] <= pair["interval"][1]
    assert pair["drop_difference"] == pytest.approx((WRONG[:, 1:].mean(1) - WRONG[:, 0]).mean())


def test_rows_are_the_same_with_several_classifiers_as_alone():
    def other(pixels):
        return told(pixels).roll(1, 1)

    both = brittle.failure_points({"a": told, "b": other}, images(), "written-severity", **OPTIONS).rows.to_pandas()
    alone = found_with().rows.to_pandas().drop(columns="classifier")
    first = both[both.classifier == "a"].drop(columns="classifier").reset_index(drop=True)
    assert first.equals(alone)


def test_theta_is_drawn_once_per_path_and_scaled_by_severity():
    chosen, space, net = brittle.image_set("sample").take(range(6)), nuisance("affine"), "bundled:plain"
    rows = brittle.failure_points(net, chosen, space, severities=(0.5, 1.5), repeats=2).rows.to_pandas()
    batch, net = chosen.batch(range(6)), brittle.classifier(net)
    for repeat, (place, severity) in itertools.product(range(2), enumerate((0.5, 1.5))):
        theta = draw_theta(space, batch, torch.full((6,), repeat), stream_root(0, "affine"))
        log_probs = net.log_probs(space.apply(batch, space.at(theta, severity, batch))).detach()
        own = log_probs.gather(1, batch.labels[:, None])[:, 0].numpy()
        here = rows[(rows["repeat"] == repeat) & (rows.place == place)].set_index("image")
        assert here.loc[batch.ids.numpy(), "log_p_label"].to_numpy() == pytest.approx(own, abs=1e-5)


def test_repeats_are_paths_of_their_own_in_the_order_of_images_and_severities():
    found = brittle.failure_points(
        linear(), (torch.rand(6, 1, 2, 2), torch.ones(6, dtype=torch.int64)), "noise:sigma=0.2", repeats=4
    )
    rows = found.rows.to_pandas()
    assert len(rows) == 6 * 4 * 10
    assert not rows.duplicated(["image", "repeat", "place"]).any()
    keys = list(zip(rows.image, rows["repeat"], rows.place, strict=True))
    assert [key[1:] for key in keys[:40]] == list(itertools.product(range(4), range(10)))


@pytest.mark.parametrize("options", [{}, {"only": "first"}])
def test_rows_of_a_network_do_not_depend_on_the_batch(options):
    found = [
        brittle.failure_points(
            {"a": "bundled:plain", "b": "bundled:augmented"},
            "sample",
            "affine",
            count=24,
            repeats=2,
            tolerance=0.2,
            batch=batch,
            **options,
        )
        for batch in (7, 500)
    ]
    exact = ["classifier", "image", "repeat", "place", "severity", "predicted", "rank"]
    assert found[0].rows.select(exact).equals(found[1].rows.select(exact))
    assert found[0].refined.equals(found[1].refined)
    assert found[0]["comparisons"] == found[1]["comparisons"]


def test_where_nothing_fails_nothing_is_narrowed():
    found = brittle.failure_points(steady, images(), "written-severity", tolerance=0.1, **OPTIONS)
    assert found["never"] == 1
    assert found["median"] is None
    assert found["refined"]["calls"] == 0
    assert found["refined"]["mean"] == 5


@pytest.mark.warned("is classified correctly")
@pytest.mark.parametrize("only", [None, "first"])
def test_where_everything_is_wrong_at_0_there_is_no_mean(only):
    found = brittle.failure_points(
        steady, images(torch.ones(len(SAID)).long()), "written-severity", only=only, **OPTIONS
    )
    assert found["wrong_at_0"] == found["images"] == len(SAID)
    assert found["mean"] is None
    assert found["never"] == 0
    assert "–" in str(found)
    assert any("none of the 8 images" in text for text in found["warnings"])
