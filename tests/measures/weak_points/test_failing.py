"""Weak points that really fail: p(θ | the prediction is not ℓ, x), beside a grid."""

import numpy as np
import pytest
import torch

import brittle

SIGMA = 40.0
RIGHT = 3  # images


@pytest.fixture(scope="module")
def grid():
    """By hand, for a few images: the angles (A,), their prior, and whether each image is wrong there (M, A)."""
    images, network = brittle.image_set("sample"), brittle.classifier("bundled:plain")
    space, angles = brittle.nuisance(f"rotation:sigma={SIGMA:g}"), torch.linspace(-160, 160, 641)
    prior = torch.exp(-0.5 * (angles / SIGMA).square()).double()
    wrong = {}
    with torch.inference_mode():
        for place in range(RIGHT):
            batch = images.batch([place]).take(torch.zeros(len(angles), dtype=torch.int64))
            said = network.log_probs(space.apply(batch, angles[:, None])).argmax(1)
            wrong[int(images.ids[place])] = said != images.labels[place]
    return angles.double(), prior / prior.sum(), wrong


@pytest.fixture(scope="module", params=["importance", "adaptive"])
def found(request, grid):
    return brittle.sample(
        *("bundled:plain", "sample", f"rotation:sigma={SIGMA:g}"),
        sampler=request.param,
        ids=list(grid[2]),
        count=None,
        budget=1500,
        failing=True,
    )


def test_every_draw_has_another_label(found):
    for row in found["per_image"]:
        assert row["status"] != "nothing found"
        assert row["label"] not in found.predicted(row["id"])
    assert found["failing"]
    assert found["no_other_label"] == 0


def test_draws_are_the_prior_where_the_prediction_is_another_label(found, grid):
    angles, prior, wrong = grid
    for id, fails in wrong.items():
        law = (prior * fails) / (prior * fails).sum()
        drawn = torch.from_numpy(found.theta(id)[:, 0]).double()
        # 200 draws that are kept: five standard errors, and as many again for draws that are not independent.
        spread = float((law * angles.square()).sum().sqrt())
        assert float(drawn.mean()) == pytest.approx(float((law * angles).sum()), abs=10 * spread / np.sqrt(200))
        assert float((drawn > 0).double().mean()) == pytest.approx(
            float(law[angles > 0].sum()), abs=10 * 0.5 / np.sqrt(200)
        )


def test_the_share_of_the_prior_that_fails_is_told_in_place_of_one_minus_mu(grid):
    _, prior, wrong = grid
    found = brittle.sample(
        *("bundled:plain", "sample", f"rotation:sigma={SIGMA:g}"),
        sampler="importance",
        ids=list(wrong),
        count=None,
        budget=1500,
        failing=True,
    )
    for row in found["per_image"]:
        share = float(prior[wrong[row["id"]]].sum())
        assert row["one_minus_mu"] is None
        assert row["wrong_share"] == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / 1500) + 0.005)


def test_where_a_classifier_only_doubts_it_is_said(cli):
    """A mild prior: the classifier never gives another label, but is not sure either."""
    arguments = ("sample", "bundled:plain", "sample", "--nuisance", "rotation:sigma=0.5", "--count", 3, "--budget", 60)
    said = cli(*arguments).out
    assert "only doubts: on 3 images no draw has another label" in said
    assert said.count("only doubts") == 1 + 3
    failing = cli(*arguments, "--failing", "--json").json
    assert failing["statuses"] == {"nothing found": 3}
    assert "draws are of p(θ | the prediction is not ℓ, x)" in cli(*arguments, "--failing").out


def test_many_images_print_a_short_table(cli):
    said = cli("sample", "bundled:plain", "sample", "--nuisance", "rotation", "--count", 30, "--budget", 20).out
    assert said.count("index ") == 10
    assert "… and 20 more images (--json or --out has them all)" in said


def test_affine_weak_points_are_told_as_rotation_zoom_shear_and_shift(cli):
    found = cli(
        "sample", "bundled:plain", "sample", "--nuisance", "affine:alpha=20", "--count", 4, "--budget", 300, "--json"
    )
    told = {row["parameter"] for row in found.json["parameters"] if row["told"]}
    assert told == {"rotation", "zoom x", "zoom y", "shear", "shift right", "shift down"}
    assert {"a11", "shift x"} <= {row["parameter"] for row in found.json["parameters"]}


def test_an_image_whose_kept_draws_have_no_other_label_is_not_told_by_a_dash(cli, tmp_path):
    """Here one draw of next to no weight had another label, and was not kept."""
    arguments = ("--nuisance", "rotation", "--ids", 424, "--budget", 100, "--out", tmp_path / "run")
    said = cli("sample", "bundled:plain", "sample", *arguments)
    assert said.out.count("only doubts") == 1
    assert "no other label" not in said.out
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("<td>only doubts</td>") == 2  # in the short table on top, and in that of all diagnostics
    assert "no other label" not in page
