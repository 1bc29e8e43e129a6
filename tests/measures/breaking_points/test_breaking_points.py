"""Breaking points against closed forms of linear classifiers, and what holds whatever the batch."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import nn

import brittle
from brittle.errors import BrittleError
from brittle.measures.draws import draw_theta
from brittle.nuisances import nuisance
from brittle.random import stream_root
from brittle.types import Batch

SIDE = 6
COUNT = 3000
KOLMOGOROV = 1.95  # quantile 0.999 of √n·sup|F̂ − F|


def linear(seed=0, scale=40.0):
    """Two classes: z = (0, w·x + b), with b such that the grey image has a margin of 1 standard deviation of noise at
    σ = 0.1."""
    torch.manual_seed(seed)
    weight = torch.randn(SIDE * SIDE) * scale / SIDE
    margin = 0.1 * weight.norm()
    module = nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, 2))
    with torch.no_grad():
        module[1].weight.copy_(torch.stack((torch.zeros_like(weight), weight)))
        module[1].bias.copy_(torch.stack((torch.tensor(0.0), margin - 0.5 * weight.sum())))
    return module


def grey(count):
    return torch.full((count, 1, SIDE, SIDE), 0.5), torch.ones(count, dtype=torch.int64)


EXACT = ["image", "repeat", "broke", "place", "severity", "predicted"]
RATIO = 0.1 * 255  # m / ‖w‖ on the scale of 255


def test_along_a_path_the_breaking_point_has_the_distribution_of_a_linear_classifier():
    """P(σ* ≤ s) = Φ(−m / (s‖w‖)) ≤ ½, so that half of the paths never break and the mean is infinite."""
    found = brittle.breaking_points(
        linear(), grey(1), nuisances="noise:clip=no", step=4, limit=200, repeats=COUNT, batch=2048
    )
    rows = found.rows.to_pandas()
    values = 4.0 * np.arange(1, 51)
    seen = np.array([(rows.broke & (4 * (rows.place + 1) <= value)).mean() for value in values])
    assert np.abs(seen - norm.cdf(-RATIO / values)).max() < KOLMOGOROV / math.sqrt(COUNT)
    assert found["unbroken"] == 1 - seen[-1]
    assert found["unbroken"] > 0.5


def test_with_fresh_noise_the_chance_to_survive_is_a_product_over_the_steps():
    """P(σ* > σ_k) = Π_{j ≤ k} Φ(m / (σ_j‖w‖)), which falls as the step shrinks."""
    means = {}
    for step in (2.0, 8.0):
        found = brittle.breaking_points(
            linear(), grey(1), nuisances="noise:clip=no", noise="fresh", step=step, limit=160, repeats=COUNT, batch=2048
        )
        rows = found.rows.to_pandas()
        values = step * np.arange(1, int(160 / step) + 1)
        survive = np.cumprod(norm.cdf(RATIO / values))
        seen = np.array([((rows.place + 1) * step > value).mean() for value in values[:-1]])
        assert np.abs(seen - survive[:-1]).max() < KOLMOGOROV / math.sqrt(COUNT)
        expected = step * (1 + survive[:-1].sum())
        means[step] = found["mean"]
        assert found["mean"] == pytest.approx(expected, rel=0.03)
    assert means[2.0] < means[8.0]


def test_the_restricted_mean_and_its_interval_are_those_of_the_paths():
    images = torch.rand(60, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    module = linear()
    labels = module(images).argmax(1)
    found = brittle.breaking_points(module, (images, labels), step=2, repeats=3)
    values = (found.rows["place"].to_numpy() + 1) * 2.0
    assert found["mean"] == pytest.approx(values.mean())
    assert found["interval"][0] < found["mean"] < found["interval"][1]
    assert found["percent"] == pytest.approx(100 * values.mean() / 255)
    assert found["unbroken"] == pytest.approx(1 - found.rows["broke"].to_numpy(zero_copy_only=False).mean())
    assert found["correct"] == 60


def test_only_images_that_are_classified_correctly_are_averaged():
    images = torch.rand(60, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    module = linear()
    labels = module(images).argmax(1)
    labels[:25] = 1 - labels[:25]
    found = brittle.breaking_points(module, (images, labels), step=2)
    right = (module(images).argmax(1) == labels).numpy()[found.places]
    values = 2.0 * (found.rows["place"].to_numpy() + 1)
    assert found["correct"] == found["averaged"] == 35
    assert found["mean"] == pytest.approx(values[right].mean())


@pytest.mark.parametrize("noise", ["path", "fresh"])
def test_rows_do_not_depend_on_the_batch_or_on_other_images(noise):
    images = torch.rand(16, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(2))
    module, labels = linear(), torch.zeros(16, dtype=torch.int64)
    options = {"noise": noise, "step": 3, "repeats": 2}
    whole = brittle.breaking_points(module, (images, labels), batch=64, **options).rows
    for batch in (1, 7, 1000):
        other = brittle.breaking_points(module, (images, labels), batch=batch, **options).rows
        assert other.select(EXACT).equals(whole.select(EXACT))
        assert other["log_p_predicted"].to_numpy() == pytest.approx(whole["log_p_predicted"].to_numpy(), abs=1e-4)
    ids = whole["image"].to_pylist()[::2]
    some = brittle.breaking_points(module, (images, labels), ids=ids[5:9], **options).rows.to_pandas()
    expected = whole.to_pandas().set_index(["image", "repeat"]).loc[list(zip(some.image, some.repeat, strict=True))]
    assert (some.place.to_numpy() == expected.place.to_numpy()).all()


def test_the_same_noise_field_is_scaled_along_a_path():
    """The break happens between the two severities that the field itself says, computed by hand."""
    images = torch.rand(20, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(4))
    module = linear()
    labels = module(images).argmax(1)
    found = brittle.breaking_points(module, (images, labels), nuisances="noise:clip=no", step=1, limit=300)
    rows = found.rows.to_pandas()
    ids = torch.tensor(rows.image.to_numpy())
    space = nuisance("noise:clip=no")
    order = found.places  # of the rows' images in the set
    batch = Batch(images[order], labels[order], ids)
    theta = draw_theta(
        space, batch, torch.zeros(20, dtype=torch.int64), stream_root(0, found.run.job.stream("noise:clip=no"))
    )
    with torch.no_grad():
        logits = module(images[order])
        slope = theta @ (module[1].weight[1] - module[1].weight[0])
    crossing = 255 * 0.1 * (-(logits[:, 1] - logits[:, 0]) / slope)
    breaks = (crossing > 0) & (crossing <= 300)
    assert (rows.broke.to_numpy() == breaks.numpy()).all()
    assert (rows.place[rows.broke] + 1).to_numpy() == pytest.approx(np.ceil(crossing[breaks].numpy()))


def test_any_nuisance_with_a_severity_can_break_a_classifier():
    found = brittle.breaking_points("bundled:plain", "sample", nuisances="rotation", count=20, step=0.5, limit=5)
    assert found["unit"] == "severity"
    assert found["percent"] is None
    assert 0 < found["mean"] <= 5


def test_a_grid_without_a_severity_is_refused():
    with pytest.raises(BrittleError, match="a step of 9 up to 3 makes no severity"):
        brittle.breaking_points("bundled:plain", "sample", count=2, step=9, limit=3)


def test_several_classifiers_are_compared_on_the_images_that_all_get_right():
    images = torch.rand(80, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    one, other = linear(), linear()
    with torch.no_grad():
        other[1].bias[1] += 8.0
    labels = one(images).argmax(1)
    found = brittle.breaking_points({"one": one, "other": other}, (images, labels), step=2)
    both = (one(images).argmax(1) == labels) & (other(images).argmax(1) == labels)
    assert [row["common"]["averaged"] for row in found["results"]] == [int(both.sum())] * 2
    (pair,) = found["comparisons"]
    means = {row["classifier"]: row["common"]["mean"] for row in found["results"]}
    assert pair["difference"] == pytest.approx(means["one"] - means["other"])
    assert pair["interval"][0] < pair["difference"] < pair["interval"][1]


def test_a_classifier_that_fails_under_noise_is_named_with_image_and_severity():
    class Fragile(nn.Module):
        def forward(self, images):
            scores = torch.stack((images.mean((1, 2, 3)), 1 - images.mean((1, 2, 3))), 1)
            return scores / (images.std((1, 2, 3)) < 0.2)[:, None]  # infinite, or no number at all

    with pytest.raises(BrittleError, match=r"NaN or infinite outputs at severity .* for the image"):
        brittle.breaking_points(Fragile(), grey(3), step=20)


def test_images_of_several_shapes_are_swept_together():
    generator = torch.Generator().manual_seed(1)
    images = [torch.rand(1, side, side, generator=generator).numpy() for side in (6, 9, 6, 7)]

    class Mean(nn.Module):
        def forward(self, images):
            return 90 * torch.stack((images.mean((1, 2, 3)) - 0.5, 0.5 - images.mean((1, 2, 3))), 1)

    labels = [int(image.mean() < 0.5) for image in images]
    found = brittle.breaking_points(Mean(), (images, labels), step=10, repeats=3)
    assert found.rows.num_rows == 12
    assert found["correct"] == 4


@pytest.mark.warned("is classified correctly")
def test_a_classifier_that_is_never_right_is_said_to_have_no_mean():
    images, labels = grey(4)
    found = brittle.breaking_points(linear(), (images, 1 - labels), step=20)
    assert found["mean"] is None
    assert any("none of the 4 images" in warning for warning in found["warnings"])


@pytest.mark.parametrize("repeats", [1, 5])
def test_the_share_not_yet_broken_lies_in_a_band_that_has_room_everywhere_above_0(repeats):
    """Before the first break and after the last one too."""
    found = brittle.breaking_points(linear(), grey(20), nuisances="noise:clip=no", step=4, limit=200, repeats=repeats)
    share, low, high = (np.array(found["survival"][name]) for name in ("share", "low", "high"))
    assert share[0] == low[0] == high[0] == 1
    assert share[1] == 1
    assert (low <= share).all()
    assert (share <= high).all()
    assert (high - low)[1:].min() > 0.1


class Counted(nn.Module):
    """A module that counts the images that it is shown."""

    def __init__(self, module):
        super().__init__()
        self.module, self.shown = module, 0

    def forward(self, images):
        self.shown += len(images)
        return self.module(images)


def shown_by(measured, *arguments, **options):
    module = Counted(linear())
    found = measured(module, *arguments, **options)
    return found, module.shown


@pytest.mark.warned("is near chance")
@pytest.mark.parametrize("batch", [8, 64, 128])
def test_as_many_images_are_shown_as_first_breaks_need_in_whole_batches(batch):
    """Beyond those that a measurement of untouched images shows; paths are searched in batches of an eighth."""
    images = torch.rand(30, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(0)), torch.zeros(30).long()
    found, shown = shown_by(brittle.breaking_points, images, step=12, batch=batch)
    needed, together = int((found.rows["place"].to_numpy() + 1).sum()), batch // 8
    assert found["calls"] == needed == 503
    assert shown - shown_by(brittle.clean, images, batch=batch)[1] == -(-needed // together) * together


class Spread(nn.Module):
    """Two classes of images by their standard deviation, which noise raises: the second between two of 255."""

    def __init__(self, low, high):
        super().__init__()
        self.low, self.high = low, high

    def forward(self, images):
        spread = images.std((1, 2, 3)) * 255
        second = ((spread > self.low) & (spread < self.high)).float()
        return 9 * torch.stack((1 - second, second), 1)


ALL_STEPS = {"nuisances": "noise:clip=no", "step": 1, "limit": 255}


def test_halving_finds_the_first_breaks_of_paths_that_do_not_come_back_with_8_answers_of_255_severities():
    images, module = (grey(30)[0], torch.zeros(30).long()), Counted(Spread(60, math.inf))
    first = brittle.breaking_points(module, images, batch=8, **ALL_STEPS)
    of_first, module.shown = module.shown, 0
    halved = brittle.breaking_points(module, images, batch=8, search="bisect", **ALL_STEPS)
    assert first.rows.equals(halved.rows)
    assert first["calls"] == int((first.rows["place"].to_numpy() + 1).sum())
    assert halved["calls"] == 30 * 8
    assert of_first - module.shown == first["calls"] - halved["calls"]


def test_halving_passes_over_a_break_that_a_path_comes_back_from():
    images = grey(10)[0], torch.zeros(10).long()
    first = brittle.breaking_points(Spread(60, 90), images, **ALL_STEPS)
    halved = brittle.breaking_points(Spread(60, 90), images, search="bisect", **ALL_STEPS)
    assert first["unbroken"] == 0
    assert halved["unbroken"] == 1
    assert set(halved.rows["severity"].to_pylist()) == {10.0}  # 255 of the nuisance's own σ = 25.5


def test_nothing_is_halved_where_each_severity_has_noise_of_its_own():
    with pytest.raises(BrittleError, match="noise=fresh draws another θ at each severity"):
        brittle.breaking_points(linear(), grey(2), noise="fresh", search="bisect")
