"""Differences of two classifiers: nothing of them depends on a third, and "all at once" counts all of them."""

import pytest
import torch
from torch import nn

import brittle

SIDE = 6
OPTIONS = {
    "breaking_points": {"nuisances": "noise", "step": 20, "limit": 200},
    "failure_points": {"nuisances": "noise", "severities": (40, 120, 240)},
    "layer_noise": {"layers": "input", "step": 0.25, "limit": 2},
    "layer_changes": {"layers": "input", "rate": 0.03, "steps": 40},
    "perturb": {"steps": 30, "draw": 1},
}


def network(seed):
    torch.manual_seed(seed)
    module = nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, 3))
    with torch.no_grad():
        module[1].weight.mul_(4)
    return module


@pytest.fixture(scope="module")
def photos():
    """Images, labels that two classifiers nearly share, and these two."""
    images = torch.rand(40, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    one, other = network(0), network(0)
    with torch.no_grad():
        other[1].bias[1] += 0.3
        labels = one(images).argmax(1)
    labels[:4] = (labels[:4] + 1) % 3
    return images, labels, one, other


def pairs(measure, photos, third):
    images, labels, one, other = photos
    named = {"one": one, "other": other, "third": third}
    run = getattr(brittle, measure)
    found = run(named, (images, labels), **OPTIONS[measure])
    return {(pair["first"], pair["second"]): pair for pair in found["comparisons"]}


@pytest.mark.warned("searches", "classified correctly", "all are taken", "no image is right")
@pytest.mark.parametrize("measure", OPTIONS)
def test_a_bad_third_classifier_changes_nothing_of_a_pair(measure, photos):
    good = pairs(measure, photos, photos[2])
    bad = pairs(measure, photos, network(7))
    assert bad["one", "third"]["images"] < good["one", "third"]["images"]
    assert bad["one", "other"] == good["one", "other"]


@pytest.mark.warned("searches", "all are taken")
@pytest.mark.parametrize(
    ("measure", "claims"),
    [("breaking_points", 1), ("failure_points", 2), ("layer_noise", 1), ("layer_changes", 1), ("perturb", 2)],
)
def test_all_at_once_counts_every_kind_of_difference(measure, claims, photos):
    """Failure points and drops; the mean and the least over targets."""
    for pair in pairs(measure, photos, photos[2]).values():
        told = [key for key in pair if key.endswith("interval")]
        assert len(told) == claims
        assert pair["family"] == 3 * claims


def test_where_paths_end_at_their_first_failure_no_drop_is_counted(photos):
    images, labels, one, other = photos
    found = brittle.failure_points({"a": one, "b": other}, (images, labels), "noise", only="first")
    assert [pair["family"] for pair in found["comparisons"]] == [1]
