"""Weak points as users meet them: from Python, in a study, resumed, with classifiers of every sort."""

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch

import brittle
from brittle.measures.answers import Answers
from brittle.measures.base import ClassifierFacts
from brittle.measures.outcomes import Outcome
from brittle.measures.weak_points.posterior import Posterior
from brittle.measures.weak_points.summary import ImageWeakPoints, flows
from brittle.nuisances import nuisance
from brittle.random import fold, stream_root
from brittle.samplers import sampler, samplers
from brittle.samplers.target import Budget
from brittle.types import Batch

pytestmark = pytest.mark.warned("can't be trusted")

QUICK = Budget(chains=3, steps=12, burn_in=8, tries=4, calls=120)


class LeftOrRight:
    """Which half is brighter; every image is answered on its own, in float64 sums that no batch changes."""

    labels = ("left", "right")
    can = frozenset()

    def __init__(self, sharpness: float = 40.0) -> None:
        self.sharpness = sharpness

    def log_probs(self, images):
        half = images.shape[-1] // 2
        difference = images[..., half:].double().mean((1, 2, 3)) - images[..., :half].double().mean((1, 2, 3))
        logits = self.sharpness * torch.stack((-difference, difference), 1)
        return logits.log_softmax(1).float()

    logits = log_probs


class Hard(LeftOrRight):
    can = frozenset({"hard"})

    def log_probs(self, images):
        best = super().log_probs(images).argmax(1)
        return torch.nn.functional.one_hot(best, 2).float().log()


def squares(count: int = 6, channels: int = 1, size: int = 16) -> Batch:
    images = torch.zeros(count, channels, size, size)
    for place in range(count):
        start = 1 + place if place % 2 == 0 else size // 2 + 1 + place % 4
        images[place, :, 4:12, start : start + 3] = 0.6 + 0.05 * place
    labels = torch.tensor([place % 2 for place in range(count)])
    return Batch(images, labels, torch.arange(100, 100 + count))


def posterior(batch: Batch, spec: str, drawn: str, classifier=None, size: int = 16) -> Posterior:
    keys = fold(stream_root(0, "test"), batch.ids)
    return Posterior(
        Answers(batch, {"it": classifier or LeftOrRight()}, size),
        "it",
        batch.labels,
        keys,
        fold(keys, 1),
        nuisance(spec),
        sampler(drawn).space,
    )


@pytest.mark.parametrize("name", samplers.names())
def test_the_same_seed_gives_the_same_draws_in_any_order_of_images(name):
    batch, order = squares(), torch.tensor([3, 0, 5, 1, 4, 2])
    first = sampler(name).sample(posterior(batch, "translation:sigma=0.3", name), QUICK)
    second = sampler(name).sample(posterior(batch.take(order), "translation:sigma=0.3", name), QUICK)
    for column in ("position", "log_likelihood", "outcomes"):
        assert torch.equal(getattr(first, column)[order], getattr(second, column)), column
    # Sums of densities over a mixture are rounded as their place in memory has it.
    assert torch.allclose(first.log_weight[order], second.log_weight, rtol=0, atol=1e-9)


def test_positions_and_measured_draws_are_the_same_theta():
    """What robustness has seen of the prior's draws is what a sampler would see there."""
    batch = squares()
    target = posterior(batch, "affine:alpha=50", "adaptive")
    looked = target.prior(7)
    known = Posterior(**{**vars(target), "known": Outcome.unpacked(looked.evaluation.outcomes[:, :5])})
    again = known.prior(7)
    assert again.calls == 2
    assert looked.calls == 7
    assert torch.equal(again.evaluation.outcomes, looked.evaluation.outcomes)


def test_a_parametric_gradient_agrees_with_finite_differences():
    batch = squares(2)
    target = posterior(batch, "translation:sigma=0.2,unit=share", "langevin")
    at = torch.tensor([[[0.31, -0.2]], [[-0.4, 0.15]]], dtype=torch.float64)
    _, slope = target.evaluate_with_gradient(at)
    for place in range(2):
        step = torch.zeros(2, dtype=torch.float64)
        step[place] = 1e-3
        up, down = target.evaluate(at + step).log_likelihood, target.evaluate(at - step).log_likelihood
        assert slope[..., place] == pytest.approx(((up - down) / 2e-3).numpy(), rel=0.05, abs=0.02)


@pytest.fixture(scope="module")
def found():
    return brittle.sample("bundled:plain", "sample", "affine:alpha=200", count=6, budget=400)


def test_draws_reproduce_what_was_stored(found):
    job = found.run.job
    images = next(iter(job.images.values())).images
    for place, number in enumerate(found.ids[:3]):
        batch = images.batch([place])
        theta = torch.from_numpy(found.theta(number).copy())
        pictures = next(iter(job.nuisances.values())).apply(batch.take(torch.zeros(len(theta)).long()), theta)
        answers = job.classifiers["classifier"].log_probs(pictures)
        labels = job.classifiers["classifier"].labels
        assert [labels[best] for best in answers.argmax(1).tolist()] == found.predicted(number)


def test_the_smallest_transformation_is_at_least_as_likely_as_every_kept_draw_of_another_label(found):
    labels, broken = brittle.classifier("bundled:plain").labels, 0
    for row in found["per_image"]:
        draws = found.rows.filter(pc.equal(found.rows["image"], row["id"]))
        others = draws.filter(pc.not_equal(draws["predicted"], labels.index(row["label"])))
        broken += others.num_rows > 0
        assert all(row["smallest_log_prior"] >= density - 1e-4 for density in others["log_prior"].to_pylist())
        assert row["smallest_label"] != row["label"]
    assert broken == 6


def test_flows_sum_to_one_and_leave_out_images_that_are_wrong_untouched(found):
    flows = found["flows"]
    assert sum(flow["share"] for flow in flows) == pytest.approx(1)
    assert all(flow["from"] != flow["to"] for flow in flows)


def test_an_image_with_few_draws_of_another_label_counts_little_in_flows():
    def weak(label, predicted):
        return ImageWeakPoints(0, label, False, {"status": "trusted"}, Counter(predicted), len(predicted))

    facts = ClassifierFacts("plain", tuple("abc"))
    flows_of = flows([weak(0, [0] * 9 + [1]), weak(2, [1] * 4), weak(2, [2, 2, 2])], facts)
    assert [(flow["from"], flow["to"], flow["images"]) for flow in flows_of] == [(2, 1, 1), (0, 1, 1)]
    assert [flow["share"] for flow in flows_of] == pytest.approx([1 / 1.1, 0.1 / 1.1])


def test_parameters_that_the_classifier_ignores_keep_their_prior():
    """Brightness left and right of the middle is all that counts: vertical shifts are free."""
    batch = squares(8)
    found = brittle.sample(
        LeftOrRight(30), (batch.images.numpy(), batch.labels.numpy()), "translation:sigma=0.2", count=None, budget=1500
    )
    by_name = {row["parameter"]: row for row in found["parameters"]}
    assert by_name["shift y"]["information"] < 0.1 < by_name["shift x"]["information"]
    assert by_name["shift y"]["spread"] == pytest.approx(1, abs=0.1)


def test_images_wrong_untouched_are_marked_and_left_out():
    batch = squares(6)
    swapped = batch.labels.clone()
    swapped[0] = 1 - swapped[0]
    found = brittle.sample(
        LeftOrRight(), (batch.images.numpy(), swapped.numpy()), "translation:sigma=0.2", count=None, budget=300
    )
    assert found["already_wrong"] == 1
    assert sum(row["already_wrong"] for row in found["per_image"]) == 1


@pytest.mark.warned("have no label")
def test_images_without_labels_are_held_against_the_clean_prediction():
    batch = squares(6)
    labelled, bare = (
        brittle.sample(
            LeftOrRight(), (batch.images.numpy(), labels), "translation:sigma=0.3", count=None, budget=300
        ).rows
        for labels in (batch.labels.numpy(), None)
    )
    for column in ("image", "predicted", "log_p_other"):
        assert labelled[column].to_pylist() == bare[column].to_pylist()


@pytest.mark.parametrize("name", ["auto", "adaptive", "smc", "rejection", "metropolis", "crank-nicolson", "tempered"])
def test_weak_points_of_a_hard_classifier_are_all_wrong(name):
    batch = squares(4)
    options = {"sampler": name, "budget": 600, "chains": 4, "steps": 60, "burn_in": 40}
    found = brittle.sample(
        Hard(), (batch.images.numpy(), batch.labels.numpy()), "translation:sigma=0.4", count=None, **options
    )
    assert found["hard"]
    assert found["found"] == 4
    for row in found["per_image"]:
        assert row["label"] not in found.predicted(row["id"])


def test_where_nothing_is_found_it_is_said_and_nothing_is_shown():
    batch = squares(3)
    found = brittle.sample(
        Hard(), (batch.images.numpy(), batch.labels.numpy()), "brightness:sigma=0.001", count=None, budget=200
    )
    assert found["found"] == 0
    assert [row["status"] for row in found["per_image"]] == ["nothing found"] * 3
    assert found["flows"] == []
    assert len(found.theta(found.ids[0])) == 0
    assert any("can't be trusted" in warning for warning in found["warnings"])


def test_chains_too_short_to_mix_are_marked():
    found = brittle.sample(
        "bundled:plain", "sample", "affine:alpha=100", count=3, sampler="metropolis:sigma=0.001", steps=20, burn_in=0
    )
    assert {row["status"] for row in found["per_image"]} == {"not mixed"}
    assert found["trusted"] == 0


@pytest.mark.warned("no draw has another label")
def test_importance_in_a_study_with_robustness_makes_no_further_calls(tmp_path):
    study = {
        "classifiers": ["bundled:plain"],
        "images": {"sample": {"spec": "sample", "count": 12}},
        "nuisances": ["affine:alpha=100"],
        "robustness": {"samples": 150},
        "weak-points": {"sampler": "importance"},
    }
    found = brittle.run(study, out=tmp_path / "run")["measures"]
    (entry,) = found["weak-points"]["entries"]
    assert entry["calls"] == 0
    # The weights' mean is 1 − µ̂(x): the same draws, the same number.
    assert entry["one_minus_mu"] == pytest.approx(1 - found["robustness"]["results"][0]["rho"], abs=1e-6)


@pytest.mark.warned("was damaged or incomplete")
@pytest.mark.parametrize("table", ["rows", "images"])
def test_a_resumed_run_keeps_what_is_there_and_gives_the_same_rows(tmp_path, monkeypatch, table):
    """Whichever table of a unit is lost, the unit is sampled again."""
    monkeypatch.setattr("brittle.engine.store.unit_store.FolderStore.compact", lambda *_, **__: None)
    monkeypatch.setattr("brittle.engine.plan.missing.BATCHES_PER_SPAN", 1e-9)
    study = {
        "classifiers": ["bundled:plain"],
        "images": {"sample": {"spec": "sample", "count": 40}},
        "nuisances": ["rotation:sigma=20"],
        "weak-points": {"budget": 100, "keep": 10, "count": 40},
    }

    def files(folder, kind):
        return sorted((folder / "units" / "weak-points").rglob(f"*.{kind}.parquet"))

    def stored(folder):
        return [pa.concat_tables(map(pq.read_table, files(folder, kind))) for kind in ("rows", "images")]

    whole = brittle.run(study, out=tmp_path / "whole")
    brittle.run(study, out=tmp_path / "torn")
    kept, lost = files(tmp_path / "torn", table)
    lost.unlink()
    before = kept.stat().st_ino
    again = brittle.run(study, out=tmp_path / "torn")
    assert kept.stat().st_ino == before
    assert again == whole
    for found, wanted in zip(stored(tmp_path / "torn"), stored(tmp_path / "whole"), strict=True):
        assert found.equals(wanted)


def test_occlusion_is_sampled_without_a_latent_form():
    found = brittle.sample("bundled:plain", "sample", "occlusion:rectangles=2", count=3, budget=500)
    theta = found.theta(found.ids[0]).reshape(-1, 2, 4)
    assert (theta[..., 2] > theta[..., 0]).all()
    assert (theta[..., 3] > theta[..., 1]).all()
    assert theta.min() >= -0.5  # a corner stands for the nearest whole pixel
    assert theta.max() <= 28.5


@pytest.mark.warned("no draw has another label")
@pytest.mark.parametrize("nuisances", [["shot", "shuffle"], ["noise:sigma=0.3"], ["fog+rotation"]])
def test_nuisances_without_a_density_or_with_long_theta_are_sampled_too(nuisances):
    for spec in nuisances:
        found = brittle.sample("bundled:plain", "sample", spec, count=2, budget=200)
        assert found["images"] == 2
        assert all(row["calls"] <= 400 for row in found["per_image"])
