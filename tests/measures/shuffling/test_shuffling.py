"""Shuffled patches of images made so that the answer is known."""

import pytest
import torch
from torch import nn

import brittle
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.measures.draws import draw_theta
from brittle.measures.shuffling.measure import Shuffling
from brittle.random import stream_root


def quarters(count=400):
    """One bright quarter; which one is the label."""
    images, labels = torch.zeros(count, 1, 8, 8), torch.arange(count) % 4
    for place, label in enumerate(labels.tolist()):
        y, x = divmod(label, 2)
        images[place, :, 4 * y : 4 * y + 4, 4 * x : 4 * x + 4] = 0.9
    return images, labels


class Where(nn.Module):
    """Which quarter is bright."""

    def forward(self, images):
        return 20 * nn.functional.avg_pool2d(images.mean(1, keepdim=True), 4).flatten(1)


class HowBright(nn.Module):
    def forward(self, images):
        mean = images.mean((1, 2, 3))
        return torch.stack([mean, 0.4 - mean], 1) * 20


def test_a_permutation_leaves_a_patch_where_it_is_once_in_four():
    """P(a patch stays) is 1/4 for a uniform permutation of four, and 0 in a cycle."""
    found = brittle.shuffling(Where(), quarters(), grids=(2,), samples=10)
    (two,) = found["shuffled"]
    assert two["accuracy"] == pytest.approx(0.25, abs=0.03)
    assert two["points_lost"] == pytest.approx(100 * (1 - two["accuracy"]))
    assert two["identity"] == pytest.approx(1 / 24)
    (cycle,) = brittle.shuffling(Where(), quarters(40), grids=(2,), samples=5, moves="cycle")["shuffled"]
    assert (cycle["accuracy"], cycle["identity"]) == (0, 0)


def test_shuffling_takes_nothing_from_one_that_reads_only_brightness():
    images = torch.cat([torch.rand(30, 1, 8, 8) * 0.3, 0.5 + torch.rand(30, 1, 8, 8) * 0.3])
    found = brittle.shuffling(HowBright(), (images, torch.tensor([1] * 30 + [0] * 30)), grids=(2, 4, 8), samples=3)
    assert [(each["grid"], each["accuracy"], each["points_lost"]) for each in found["shuffled"]] == [
        (2, 1, 0),
        (4, 1, 0),
        (8, 1, 0),
    ]


class Sharp(nn.Module):
    """Says 0 of every image with an edge in the middle."""

    def forward(self, images):
        edge = (images[..., 3] - images[..., 4]).abs().amax((1, 2))
        right = 20 * nn.functional.one_hot((images.mean((1, 2, 3)) * 10).long(), 3).float()
        return torch.where(edge[:, None] > 0.5, torch.tensor([50.0, 0, 0]), right)


def ramps(count=60):
    """A smooth ramp has an edge only once it is shuffled."""
    return torch.linspace(0, 0.55, 8).expand(count, 1, 8, 8).clone(), torch.full((count,), 2)


def test_what_errors_go_to_is_told_and_read_against_chance():
    """One that always says 0 of shuffled images sends every error there. At random they would go to 0 and 1 alike."""
    (found,) = brittle.shuffling(Sharp(), ramps(), grids=(2,), samples=4)["shuffled"]
    assert found["top_class"] == "0"
    assert found["points_to_top"] == pytest.approx(found["points_lost"])
    assert 0.5 < found["points_by_chance"] / found["points_lost"] < 0.6
    assert found["di"] > found["chance_spread"]["high"]


def test_over_runs_of_a_model_it_is_told_too():
    nets, groups = {"a": Sharp(), "b": Sharp(), "c": Where()}, {"a": "sharp", "b": "sharp"}
    found = brittle.shuffling(nets, ramps(), grids=(2,), samples=4, groups=groups)
    (row,) = found["interference"]
    assert (row["group"], row["runs"], row["agreeing_runs"], row["nuisance"]) == ("sharp", 2, 2, "2×2 patches")
    assert row["points_to_top"] == pytest.approx(found["results"][0]["shuffled"][0]["points_to_top"])


def test_rows_are_what_the_classifier_says_of_that_shuffle():
    """Each row made again by itself: θ of (seed, grid, image, draw)."""
    images, plain = image_set("sample").take(range(6)), brittle.classifier("bundled:plain")
    found = brittle.shuffling(plain, images, grids=(4, 2), samples=3, seed=11)
    measure, place = Shuffling(grids=(4, 2), samples=3), {id: at for at, id in enumerate(images.ids.tolist())}
    assert found.rows.num_rows == 6 * 2 * 3
    for row in found.rows.to_pylist():
        one, space = images.batch([place[row["image"]]]), measure.shuffle(row["grid"])
        root = stream_root(11, measure.stream(row["grid"]))
        again = space.apply(one, draw_theta(space, one, torch.tensor([row["draw"]]), root))
        said = plain.log_probs(again)[0].detach()
        assert int(said.argmax()) == row["predicted"]
        assert float(said.max()) == pytest.approx(row["log_p_predicted"], abs=1e-4)


@pytest.mark.parametrize("batch", [7, 512])
def test_batch_size_and_order_of_images_change_nothing(batch):
    whole = image_set("sample")
    forwards, backwards = whole.take(range(40)), whole.take(range(39, -1, -1))
    one = brittle.shuffling("bundled:plain", forwards, batch=64)
    other = brittle.shuffling("bundled:plain", backwards, batch=batch)
    keys = [("image", "ascending"), ("grid", "ascending"), ("draw", "ascending")]
    exact = ["image", "grid", "draw", "predicted", "rank"]
    assert one.rows.select(exact).sort_by(keys) == other.rows.select(exact).sort_by(keys)
    for mine, theirs in zip(one["shuffled"], other["shuffled"], strict=True):
        assert mine["accuracy"] == pytest.approx(theirs["accuracy"])


@pytest.mark.warned("have no label")
def test_images_without_labels_are_measured_against_clean_predictions():
    images, _ = quarters(40)
    found = brittle.shuffling({"a": Where(), "b": Where()}, images, grids=(2,), samples=6)
    first = found.of("a")
    assert first["reference"] == "clean prediction"
    assert first["accuracy_clean"] == 1
    assert first["shuffled"][0]["accuracy"] == pytest.approx(0.25, abs=0.1)


@pytest.mark.parametrize(("grids", "said"), [((2, 2), "names 2 twice"), ((16,), "does not fit"), ((), "1 or more")])
def test_grids_that_make_no_sense_are_refused(grids, said):
    with pytest.raises(BrittleError, match=said):
        brittle.shuffling(Where(), quarters(4), grids=grids)
