"""CutOcclusion and iOcclusion of classifiers built so that the answer is known."""

import math

import numpy as np
import pytest
import torch

import brittle
from brittle.errors import BrittleError, BrittleWarning

pytestmark = pytest.mark.warned("has no iOcclusion")

SIDE = 9


def images(pixels, labels, name="test"):
    return brittle.image_set((np.asarray(pixels, np.float32), np.asarray(labels)), name=name)


def bright(count):
    return images(np.full((count, 1, SIDE, SIDE), 0.8), np.ones(count, int))


def one_pixel(row, column):
    """Class 1 where that pixel is bright, class 0 where it is not."""

    def classify(pixels):
        lit = (pixels[:, 0, row, column] > 0.5).float()
        return torch.stack((1 - lit, lit), 1) * 0.98 + 0.01

    return classify


def numbered(count, first=0):
    """Constant images whose brightness is their number; classes 0 and 1 in turn."""
    level = (np.arange(first, first + count) + 1) / 1000
    return np.broadcast_to(level[:, None, None, None], (count, 1, SIDE, SIDE)).astype(np.float32)


class Memory:
    """Right about the images that it has seen, unless a pixel of them is changed; otherwise class 0."""

    def __init__(self, pixels, labels):
        self.known = {pixel.tobytes(): label for pixel, label in zip(np.float32(pixels), labels, strict=True)}

    def __call__(self, pixels):
        said = [self.known.get(each.numpy().tobytes(), 0) for each in pixels]
        return torch.nn.functional.one_hot(torch.tensor(said), 2) * 0.98 + 0.01


def close(found, expected, count):
    """Within five standard deviations of a mean of so many draws."""
    return abs(found - expected) <= 5 * math.sqrt(max(expected * (1 - expected), 0) / count) + 1e-9


def test_a_classifier_of_one_pixel_is_wrong_as_often_as_a_patch_hides_it():
    """A side of m pixels has 10 − m places, of which min(m, 10 − m) reach the middle and 1 reaches the corner."""
    for row, places in ((4, lambda m: min(m, 10 - m)), (0, lambda m: 1)):
        found = brittle.occlusion(one_pixel(row, row), bright(3000), "patch", shares=(0.05, 0.2, 0.5, 0.8))
        for point in found["points"]:
            m = round(math.sqrt(point["share"]) * SIDE)
            hit = (places(m) / (10 - m)) ** 2
            assert point["hidden"] == pytest.approx(m * m / 81)
            assert close(point["accuracy"], 1 - hit, 3000)
            assert point["accuracy_interval"][0] <= 1 - hit <= point["accuracy_interval"][1]


def test_a_classifier_of_one_pixel_under_tiles_is_wrong_with_exactly_the_share():
    nuisance = brittle.nuisance("tiles", grid=3)
    found = brittle.occlusion(one_pixel(4, 4), bright(4000), nuisance, shares=(1 / 9, 4 / 9, 7 / 9))
    for point in found["points"]:
        assert point["hidden"] == pytest.approx(point["share"], abs=1e-6)
        assert close(point["accuracy"], 1 - point["share"], 4000)
        assert point["relative"] == point["accuracy"]


@pytest.mark.parametrize("spec", ["fourier-mask", "patch:fill=1"])
def test_what_hides_nothing_that_matters_changes_nothing(spec):
    """A bright fill leaves a classifier of one bright pixel as it was; a dark one can only take away."""
    found = brittle.occlusion(one_pixel(4, 4), bright(200), spec, shares=(0.3, 1.0))
    accuracies = [point["accuracy"] for point in found["points"]]
    assert accuracies == ([1.0, 1.0] if "fill=1" in spec else [accuracies[0], 0.0])


def test_a_memory_is_at_chance_as_soon_as_anything_is_hidden():
    """Training accuracy 1, test accuracy 1/2; under any mask class 0 for all: the gap goes from 1/2 to exactly 0."""
    labels = np.arange(60) % 2
    seen, unseen = numbered(60), numbered(60, 60)
    found = brittle.occlusion(
        Memory(seen, labels), images(unseen, labels), "patch", train=images(seen, labels, "seen"), shares=(0.1, 0.9)
    )
    assert (found["train_accuracy_clean"], found["accuracy_clean"], found["gap"]) == (1.0, 0.5, 0.5)
    for point in found["points"]:
        assert (point["train_accuracy"], point["accuracy"], point["gap"]) == (0.5, 0.5, 0.0)
        assert point["iocclusion"] == 0
        assert point["iocclusion_interval"][0] < 0 < point["iocclusion_interval"][1]


@pytest.mark.parametrize("spec", ["patch:fill=mean", "fourier-mask:fill=mean", "tiles:fill=mean"])
def test_full_invariance_gives_one(spec):
    """Constant images whose hidden pixels become the image's mean stay as they were."""
    labels = np.arange(80) % 2
    level = np.broadcast_to(0.125 * labels[:, None, None, None], (80, 1, SIDE, SIDE))
    seen, unseen = level + 0.25, level + 0.75

    def classify(pixels):
        """Right below 0.5; above it, always class 0."""
        level = pixels.mean((1, 2, 3))
        one = (level > 0.3) & (level < 0.5)
        return torch.stack((~one, one), 1).float() * 0.98 + 0.01

    found = brittle.occlusion(classify, images(unseen, labels), spec, train=images(seen, labels, "seen"))
    assert len(found["points"]) == 9
    for point in found["points"]:
        assert point["iocclusion"] == 1
        assert point["relative"] == 1
        for name in ("iocclusion", "relative"):
            low, high = point[f"{name}_interval"]
            assert low < 0.95 < 1 < 1.05 < high  # 80 images can't say that it is so of all


def test_above_one_the_gap_has_widened():
    """Occluded, a classifier is right about all that it has seen and wrong about all else; clean, less extremely so."""
    labels, kinds = np.ones(100, int), np.where(np.arange(100) < 75, 0.4, 0.6)
    seen = np.broadcast_to(kinds[:, None, None, None], (100, 1, SIDE, SIDE))
    unseen = np.broadcast_to(1.3 - kinds[:, None, None, None], (100, 1, SIDE, SIDE))

    def classify(pixels):
        occluded = (pixels == 0).flatten(1).any(1)
        level = pixels.amax((1, 2, 3))
        right = torch.where(occluded, level < 0.65, (level < 0.5) | ((level > 0.65) & (level < 0.8)))
        return torch.stack((~right, right), 1).float() * 0.98 + 0.01

    train, shares = images(seen, labels, "seen"), (0.1, 0.3, 0.7)
    found = brittle.occlusion(classify, images(unseen, labels), "patch", train=train, shares=shares)
    assert (found["train_accuracy_clean"], found["accuracy_clean"]) == (0.75, 0.25)
    for point in found["points"]:
        assert (point["train_accuracy"], point["accuracy"], point["iocclusion"]) == (1.0, 0.0, 2.0)


@pytest.mark.warned("which holds the same images")
def test_a_gap_too_small_to_divide_by_is_said_and_not_divided_by():
    pixels, labels = numbered(40), np.arange(40) % 2
    found = brittle.occlusion(one_pixel(0, 0), images(pixels, labels), "patch", train=images(pixels, labels, "seen"))
    assert found["gap"] == 0
    assert not found["divisible"]
    assert [point["iocclusion"] for point in found["points"]] == [None] * 9
    assert all(point["train_accuracy"] is not None for point in found["points"])
    assert any("too small to divide by" in text for text in found["warnings"])


def test_a_gap_below_zero_is_not_divided_by_and_said_to_be_so():
    """Half of the training images are labelled wrongly, so that test images are the easier ones."""
    count = 80
    train = images(np.full((count, 1, SIDE, SIDE), 0.8), np.arange(count) % 2, "seen-before")
    found = brittle.occlusion(one_pixel(4, 4), bright(count), "patch", train=train, shares=(0.3,))
    assert found["gap"] == pytest.approx(-0.5)
    assert [point["iocclusion"] for point in found["points"]] == [None]
    (said,) = found["warnings"]
    assert "'seen-before' and 'test', −50.0 points" in said
    assert said.endswith("is below 0")


def test_interference_beside_it_is_of_test_images_alone():
    """Whatever is not dark goes to class 0 where everything is hidden: half of the test images,
    and all of the training images."""

    def classify(pixels):
        level = (3 * pixels[:, 0, 4, 4]).long().clamp(max=2)
        return torch.nn.functional.one_hot(level, 3) * 0.96 + 0.01

    level = np.array([0.1, 0.5, 0.1, 0.9])[np.arange(80) % 4]
    test = images(np.broadcast_to(level[:, None, None, None], (80, 1, SIDE, SIDE)), (3 * level).astype(int))
    train = images(np.full((80, 1, SIDE, SIDE), 0.9), np.full(80, 2), "seen")
    found = brittle.occlusion(classify, test, "patch", train=train, shares=(1.0,))
    (row,) = found.summary["measures"]["occlusion"]["interference"]
    assert (row["image_set"], row["points_lost"]) == ("test", pytest.approx(50.0))


def test_without_training_images_there_is_only_accuracy():
    found = brittle.occlusion(one_pixel(4, 4), bright(40), "patch", shares=(0.5,))
    assert found["train_set"] is None
    assert found["gap"] is None
    assert found["points"][0]["iocclusion"] is None
    assert not found["warnings"]


@pytest.mark.parametrize("spec", ["salient", "salient:which=least,fill=noise", "fourier-mask"])
def test_exactly_the_share_is_hidden(spec):
    found = brittle.occlusion("bundled:plain", "sample", spec, count=20, shares=(0.1, 0.35, 0.9))
    for row in found.rows.to_pylist():
        assert row["hidden"] == pytest.approx(round(row["share"] * 784) / 784)


@pytest.mark.parametrize("spec", ["salient", "tiles", "patch:fill=noise"])
def test_rows_depend_neither_on_the_batch_nor_on_the_neighbours(spec):
    whole = brittle.occlusion("bundled:plain", "sample", spec, count=24, repeats=2, batch=64)
    few = sorted(set(whole.rows["image"].to_pylist()))[::3]
    alone = brittle.occlusion("bundled:plain", "sample", spec, ids=few, repeats=2, batch=5)
    keys = [("image", "ascending"), ("repeat", "ascending"), ("share", "ascending")]
    first = whole.rows.filter(np.isin(whole.rows["image"], few)).sort_by(keys)
    second = alone.rows.sort_by(keys)
    assert first.num_rows == len(few) * 2 * 9
    exact = ["image", "repeat", "share", "hidden", "predicted", "rank"]
    assert first.select(exact).equals(second.select(exact))
    np.testing.assert_allclose(first["log_p_label"], second["log_p_label"], atol=1e-4)


def test_masks_of_one_path_are_nested_and_others_are_other_draws():
    """Once the middle pixel is hidden it stays hidden, in each repeat by itself."""
    found = brittle.occlusion(one_pixel(4, 4), bright(50), "fourier-mask", repeats=3)
    seen = {}
    for row in found.rows.sort_by("share").to_pylist():
        seen.setdefault((row["image"], row["repeat"]), []).append(row["rank"])
    assert len(seen) == 150
    assert all(ranks == sorted(ranks) for ranks in seen.values())
    assert len({tuple(seen[0, repeat]) for repeat in range(3)}) > 1


def test_a_nuisance_that_draws_its_share_has_a_single_point():
    for spec in ("patch:law=uniform", "patch:law=uniform,low=0.7,high=1,place=overhanging", "occlusion"):
        found = brittle.occlusion(one_pixel(4, 4), bright(400), spec)
        assert found["as_drawn"]
        (point,) = found["points"]
        assert point["share"] is None
        assert 0 < point["hidden"] < 1
    beta = brittle.occlusion(one_pixel(4, 4), bright(4000), "patch:law=beta")["points"][0]
    assert beta["hidden"] == pytest.approx(2 / 3, abs=0.02)


def test_the_share_is_of_what_the_nuisance_says():
    found = brittle.occlusion(one_pixel(4, 4), bright(10), "patch:of=side", shares=(1 / 3, 2 / 3))
    assert found["share_of"] == "sides"
    assert [point["hidden"] for point in found["points"]] == pytest.approx([1 / 9, 4 / 9])


@pytest.mark.warned("is biased low")
def test_runs_of_one_model_are_averaged_in_two_ways():
    """Worked out from the runs' own gaps: the ratio of the means is not the mean of the ratios."""
    labels = np.arange(60) % 2
    seen, unseen = numbered(60), numbered(60, 60)
    runs = {"a": Memory(seen, labels), "b": one_pixel(0, 0), "c": Memory(seen[:40], labels[:40])}
    half = np.where(np.arange(60) < 55, 0.8, 0.2)[:, None, None, None]
    seen_by_all = np.concatenate((seen, np.broadcast_to(half, (60, 1, SIDE, SIDE))))
    unseen_by_all = np.concatenate((unseen, np.broadcast_to(1 - half, (60, 1, SIDE, SIDE))))
    both = np.concatenate((labels, np.ones(60, int)))
    found = brittle.occlusion(
        runs,
        images(unseen_by_all, both),
        "patch",
        train=images(seen_by_all, both, "seen"),
        groups={"a": "model", "b": "model", "c": "other"},
        shares=(0.2,),
    )
    own = {each["classifier"]: each for each in found["results"]}
    model, other = found["groups"]
    assert (model["group"], model["runs"], other["runs"]) == ("model", 2, 1)
    gaps = [own[name]["points"][0]["gap"] for name in "ab"]
    clean = [own[name]["gap"] for name in "ab"]
    ratios = [own[name]["points"][0]["iocclusion"] for name in "ab"]
    point = model["points"][0]
    assert point["ratio_of_means"] == pytest.approx(sum(gaps) / sum(clean))
    assert point["mean_of_ratios"] == pytest.approx(np.mean(ratios))
    assert point["ratio_of_means"] != pytest.approx(point["mean_of_ratios"])
    assert point["spread_of_ratios"] == pytest.approx(np.std(ratios, ddof=1))
    assert point["accuracy"] == pytest.approx(np.mean([own[name]["points"][0]["accuracy"] for name in "ab"]))
    assert [(pair["first"], pair["second"]) for pair in found["comparisons"]] == [("model", "other")]


def test_differences_are_paired_over_the_same_images_and_masks():
    """Two classifiers of neighbouring pixels, mostly hidden together: the difference is far surer than either."""
    both = {"one": one_pixel(4, 4), "next": one_pixel(4, 5)}
    found = brittle.occlusion(both, bright(600), "patch", shares=(0.3,))
    (pair,) = found["comparisons"]
    point, own = pair["points"][0], [each["points"][0] for each in found["results"]]
    assert point["accuracy"] == pytest.approx(own[0]["accuracy"] - own[1]["accuracy"])
    assert point["accuracy_interval"][1] - point["accuracy_interval"][0] < 0.12
    rows = found.rows
    ranks = [rows.filter(np.asarray(rows["classifier"]) == name)["rank"].to_numpy() == 0 for name in both]
    assert point["accuracy"] == pytest.approx((ranks[0].astype(float) - ranks[1]).mean())


REFUSED = {
    "affine": (lambda: bright(5), "affine", "hide pixels, and 'affine' does not"),
    "unlabelled": (lambda: images(np.full((5, 1, SIDE, SIDE), 0.8), np.full(5, -1)), "patch", "have no label"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused(case):
    make, spec, said = REFUSED[case]
    with pytest.raises(BrittleError, match=said):
        brittle.occlusion(one_pixel(4, 4), make(), spec)


def test_training_images_that_are_the_test_images_are_said_to_be():
    same = images(numbered(40), np.arange(40) % 2)
    said = "holds the same images: a gap between the two says nothing"
    with pytest.warns(BrittleWarning, match=said), pytest.warns(BrittleWarning, match="has no iOcclusion"):
        found = brittle.occlusion(one_pixel(0, 0), same, "patch", train=same, shares=(0.5,))
    assert found["points"][0]["iocclusion"] is None


@pytest.mark.warned("of iOcclusion are rough")
def test_test_images_that_were_trained_on_are_counted():
    study = {
        "classifiers": ["bundled:plain"],
        "images": {"test": {"spec": "sample", "count": 50, "train": "train"}, "train": {"spec": "sample", "count": 20}},
        "nuisances": ["patch"],
        "occlusion": {"shares": [0.5]},
    }
    with pytest.warns(
        BrittleWarning, match="20 of the 50 images of 'test' are also among its training images, 'train'"
    ):
        brittle.run(study)


def test_the_share_that_is_left_of_the_accuracy_stands_beside_it():
    """CutOcclusion itself says less: of a classifier that is right half of the time, it halves."""
    half = images(np.full((200, 1, SIDE, SIDE), 0.8), np.arange(200) % 2)
    found = brittle.occlusion(one_pixel(0, 0), half, "tiles:grid=3", shares=(1 / 3,))
    (point,) = found["points"]
    assert found["accuracy_clean"] == 0.5
    assert f"A/A₀ 1 {point['relative']:.3f}" in " ".join(str(found).split())


@pytest.mark.warned("of iOcclusion are rough", "which holds the same images")
@pytest.mark.parametrize("value", [0.8, 0.2], ids=["nothing wrong", "everything wrong"])
@pytest.mark.parametrize("repeats", [1, 3])
def test_no_interval_of_twenty_images_has_width_zero(value, repeats):
    level = np.full((20, 1, SIDE, SIDE), value)
    test, train = (images(level, np.ones(20, int), name) for name in ("test", "seen"))
    both = {"one": one_pixel(4, 4), "same": one_pixel(4, 4)}
    corner = "tiles:grid=3,fill=mean"
    found = brittle.occlusion(both, test, corner, train=train, shares=(0.1, 0.5), repeats=repeats)
    told = [found["results"][0], *found["results"][0]["points"], *found["comparisons"][0]["points"]]
    intervals = {(key, *each[key]) for each in told for key in each if key.endswith("interval") and each[key]}
    assert len({key for key, *_ in intervals}) >= 5
    assert all(high - low > 0.1 for _, low, high in intervals), intervals


def test_a_gap_that_chance_may_have_enlarged_is_said_to_bias_iocclusion():
    labels = np.ones(60, int)
    level = np.where(np.arange(60) < 53, 0.8, 0.2)[:, None, None, None]
    test, train = (
        images(np.broadcast_to(level, (60, 1, SIDE, SIDE)), labels),
        images(np.full((60, 1, SIDE, SIDE), 0.8), labels, "seen"),
    )
    with pytest.warns(
        BrittleWarning, match=r"iOcclusion of .* is biased low: the gap .* is only 2\.\d standard errors"
    ):
        brittle.occlusion(one_pixel(4, 4), test, "patch", train=train, shares=(0.5,))


@pytest.mark.warned("is biased low")
def test_all_at_once_counts_both_differences_and_each_nuisances_own_shares():
    both = {"one": one_pixel(4, 4), "next": one_pixel(4, 5)}
    alone = brittle.occlusion(both, bright(40), ["patch", "patch:law=uniform"], shares=(0.1, 0.5))
    assert {pair["family"] for pair in alone["comparisons"]} == {3}
    train = images(numbered(40), np.arange(40) % 2, "seen")
    trained = brittle.occlusion(both, bright(40), ["patch", "patch:law=uniform"], train=train, shares=(0.1, 0.5))
    assert {pair["family"] for pair in trained["comparisons"]} == {6}
