"""Affinity on classifiers whose answers are known, and diversity from weights and entries."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy import stats

import brittle
from brittle.errors import BrittleError
from brittle.measures.augmentation.augmented import SHARE, augmented, opened
from brittle.measures.augmentation.summary import per_cluster
from brittle.mixing import mixes
from brittle.report.html import write_report
from brittle.types import Batch

# Two flat classes, black (0) and white (1): white is said where the mean is above a threshold.
CLASSIFIERS = """
import torch
from torch import nn

class Says(nn.Module):
    def __init__(self, read, threshold):
        super().__init__()
        self.read = read
        self.threshold = nn.Parameter(torch.tensor(threshold))

    def forward(self, images):
        light = self.read(images) - self.threshold
        return 20 * torch.stack((-light, light), 1)

mean = Says(lambda images: images.mean((1, 2, 3)), 0.5)
strict = Says(lambda images: images.mean((1, 2, 3)), 0.75)
def make():
    return Says(lambda images: images.mean((1, 2, 3)), 0.5)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("augmentation")
    (folder / "mine.py").write_text(CLASSIFIERS)
    labels = np.arange(401) % 2
    images = np.broadcast_to(labels.astype(np.float32)[:, None, None, None], (401, 1, 8, 8))
    np.savez(folder / "flat.npz", images=images, labels=labels)
    return folder


def affinity(folder, classifier, *of, **options):
    return brittle.augmentation(f"torch:{folder}/mine.py:{classifier}", f"npz:{folder}/flat.npz", of=of, **options)


def test_a_classifier_that_sees_the_majority_loses_nothing_and_one_that_asks_for_three_quarters_half(folder):
    """Under mixup with α = 1 the larger share is uniform on [½, 1], whichever of the two it is. A pair of black and
    white shows white at that share, or at one minus it: `mean` is always right. `strict` says white above ¾ only, so
    that it is wrong half of the time where white has the majority over black, and never elsewhere: pairs of one white
    and one black are half of all pairs, and white has the majority in half of their rows, so it loses an eighth."""
    lossless = affinity(folder, "mean", "mixup", samples=8)
    assert lossless["accuracy_augmented"] == lossless["accuracy_clean"] == 1.0
    assert lossless["affinity"] == 0.0
    strict = affinity(folder, "strict", "mixup", samples=8)
    assert strict["accuracy_clean"] == 1.0
    low, high = strict["affinity_interval"]
    assert low <= -12.5 <= high
    assert strict["affinity"] == pytest.approx(-12.5, abs=3)
    assert strict["pairs"] == 200
    assert strict["images"] == 400  # the last of an odd number has no partner


def test_rows_of_mixup_are_those_of_a_loop_over_disjoint_pairs(folder):
    """Every image is mixed with one other, which is mixed with it; what is said follows from both and the share."""
    found = affinity(folder, "strict", "mixup", samples=2, count=40)
    rows = found.rows.to_pylist()
    label = {id: id % 2 for id in range(401)}
    partner = {row["image"]: row["partner"] for row in rows}
    assert len(rows) == 80
    assert all(partner[partner[each]] == each and partner[each] != each for each in partner)
    for row in rows:
        assert 0.5 <= row["share"] <= 1
        light = row["share"] * label[row["image"]] + (1 - row["share"]) * label[row["partner"]]
        assert row["predicted"] == int(light > 0.75)


@pytest.mark.parametrize("alpha", [0.4, 1.0, 3.0])
def test_the_larger_share_of_beta_with_alpha_plus_one_is_that_of_beta_with_alpha(alpha):
    """max(λ, 1 − λ) has one law for Beta(α + 1, α) and Beta(α, α): λ·f(λ) + (1 − λ)·f(λ) = f(λ) for symmetric f."""
    batch = Batch(torch.zeros(3000, 1, 1, 1), torch.zeros(3000).long(), torch.arange(3000))
    at = {"draw": torch.zeros(3000).long(), "partner": torch.arange(3000)}
    _, notes = augmented(opened(f"mixup:alpha={alpha}"), batch.images, seed=0).make(batch, at)
    symmetric = stats.beta(alpha, alpha)

    def larger(share):
        return symmetric.cdf(share) - symmetric.cdf(1 - share)

    assert stats.kstest(notes[SHARE].numpy(), larger).pvalue > 0.01


@pytest.mark.parametrize("spec", ["mixup", "cutmix", "fmix", "random-masks", "cutout:size=4"])
def test_pixels_come_from_the_image_and_its_partner_by_the_mask(spec):
    """A white image with a black partner: the mean is the image's share, and a mask leaves black and white pixels."""
    batch = Batch(torch.ones(50, 1, 12, 10), torch.zeros(50).long(), torch.arange(50))
    at = {"draw": torch.arange(50) % 3, "partner": torch.arange(50)}
    made, notes = augmented(opened(spec), torch.zeros_like(batch.images), seed=1).make(batch, at)
    torch.testing.assert_close(made.mean((1, 2, 3)), notes[SHARE])
    masked = not spec.startswith("mixup")
    assert bool(((made == 0) | (made == 1)).all()) is masked
    assert float(notes[SHARE].min()) >= (0.5 if mixes.build(spec).pairs else 0)


def test_a_plain_augmentation_is_robustness_s_accuracy_minus_clean_accuracy(folder):
    """Two measures, one θ: the same draws of the same nuisance."""
    spec, classifier, images = "noise:sigma=0.9", f"torch:{folder}/mine.py:strict", f"npz:{folder}/flat.npz"
    one = brittle.augmentation(classifier, images, of=[spec], samples=3)
    other = brittle.measure(classifier, images, spec, samples=3)
    assert one["accuracy_augmented"] == pytest.approx(other["accuracy_nuisance"])
    assert one["affinity"] == pytest.approx(100 * (other["accuracy_nuisance"] - other["accuracy_clean"]))
    assert one["pairs"] is None


def test_batch_size_and_other_augmentations_change_no_row(folder):
    first = affinity(folder, "strict", "mixup", "cutmix", count=31, batch=7).rows
    again = affinity(folder, "strict", "mixup", "cutmix", count=31).rows
    assert first.equals(again)
    alone = affinity(folder, "strict", "cutmix", count=31).rows
    there = first.filter(np.asarray(first["augmentation"]) == 1)
    assert there["share"].equals(alone["share"])
    assert there["predicted"].equals(alone["predicted"])


def test_clusters_are_pairs_where_images_are_mixed():
    right, counts = np.array([1.0, 2, 0, 0, 0, 0]), np.array([2, 2, 0, 0, 1, 1])
    clean = np.array([1.0, 1, 0, 0, 1, 0])
    after, before = per_cluster(right, counts, clean, 2)
    assert after == pytest.approx([0.75, 0])
    assert before == pytest.approx([1, 0.5])
    after, before = per_cluster(right, counts, clean, 1)
    assert after == pytest.approx([0.5, 1, 0, 0])
    assert before == pytest.approx([1, 1, 1, 0])


@pytest.mark.slow
def test_the_interval_covers_affinity_of_pairs_that_share_their_luck(folder):
    """Pairs of two classes lose what others do not: over 60 draws of 100 images, the 90 % interval contains the truth,
    an eighth, at least 80 % of the time."""
    held = 0
    for seed in range(60):
        low, high = affinity(folder, "strict", "mixup", count=100, seed=seed, confidence=0.9)["affinity_interval"]
        held += low <= -12.5 <= high
    assert held >= 48


def study(folder, classifiers, **options):
    return {
        "classifiers": classifiers,
        "images": {"flat": {"spec": f"npz:{folder}/flat.npz", "count": 60}},
        "augmentation": {"of": ["mixup", "cutmix"], "reference": "basic"} | options,
    }


def test_diversity_comes_from_entries_and_from_what_training_wrote_into_the_weights(folder, tmp_path):
    facts = '{"about": {"mix": "cutmix"}, "diversity": 0.34, "mix_diversity": 0.65, "losses": [0.65]}'
    save_file({"threshold": torch.tensor(0.5)}, tmp_path / "cut.safetensors", {"training": facts})
    spec = f"torch:{folder}/mine.py:"
    classifiers = {
        "basic-1": {"spec": f"{spec}mean", "group": "basic"},
        "basic-2": {"spec": f"{spec}strict", "group": "basic"},
        "up": {"spec": f"{spec}mean", "mix": "mixup:alpha=1", "diversity": 0.41, "mix_diversity": 0.84},
        "cut": f"{spec}make,weights={tmp_path}/cut.safetensors",
        "flipped": {"spec": f"{spec}mean", "augmentation": "flips", "diversity": 0.1},
    }
    found = brittle.run(study(folder, classifiers), out=tmp_path / "run")["measures"]["augmentation"]
    assert {row["classifier"] for row in found["results"]} == {"basic-1", "basic-2"}
    assert [(row["augmentation"], row["runs"]) for row in found["models"]] == [("mixup", 2), ("cutmix", 2)]
    by_hand = [row["affinity"] for row in found["results"] if row["augmentation"] == "mixup"]
    assert found["models"][0]["affinity"] == pytest.approx(np.mean(by_hand))
    assert found["models"][0]["spread"] == pytest.approx(np.std(by_hand, ddof=1))
    told = {
        row["classifier"]: (row["augmentation"], row["diversity"], row["mix_diversity"]) for row in found["diversities"]
    }
    assert told == {"up": ("mixup", 0.41, 0.84), "cut": ("cutmix", 0.34, 0.65), "flipped": (None, 0.1, None)}


def test_what_can_t_be_measured_is_refused(folder, tmp_path):
    with pytest.raises(BrittleError, match="no augmentation 'mixapp'"):
        affinity(folder, "mean", "mixapp")
    with pytest.raises(BrittleError, match="of names mixup twice"):
        affinity(folder, "mean", "mixup", "mixup")
    with pytest.raises(BrittleError, match="groups names 'b', which is not a classifier"):
        brittle.augmentation({"a": f"torch:{folder}/mine.py:mean"}, f"npz:{folder}/flat.npz", groups={"b": "basic"})
    with pytest.raises(BrittleError, match="no augmentation is named"):
        affinity(folder, "mean")
    with pytest.raises(BrittleError, match="there is one"):
        affinity(folder, "mean", "mixup", count=1)
    with pytest.raises(BrittleError, match="the reference"):
        brittle.run(study(folder, {"a": f"torch:{folder}/mine.py:mean"}))
    np.savez(tmp_path / "bare.npz", images=np.zeros((4, 8, 8), np.uint8))
    with pytest.raises(BrittleError, match="have no label"):
        brittle.augmentation(f"torch:{folder}/mine.py:mean", f"npz:{tmp_path}/bare.npz", of=["mixup"])
    ragged = [np.zeros((1, 8, 8), np.uint8), np.zeros((1, 9, 9), np.uint8)] * 8
    with pytest.raises(BrittleError, match="differ in shape"):
        brittle.augmentation(f"torch:{folder}/mine.py:mean", (ragged, [0, 1] * 8), of=["mixup"])


def test_console_and_report_lay_out_table_6(folder, tmp_path):
    spec = f"torch:{folder}/mine.py:"
    classifiers = {
        "basic": f"{spec}strict",
        "up-1": {"spec": f"{spec}mean", "mix": "mixup", "diversity": 0.40, "mix_diversity": 0.84},
        "up-2": {"spec": f"{spec}mean", "mix": "mixup", "diversity": 0.42, "mix_diversity": 0.84},
    }
    found = brittle.run(study(folder, classifiers), out=tmp_path / "run")
    assert "mixup, basic: diversity 0.41 ± 0.01, mixed 0.84 ± 0.00" in str(found)
    page = write_report(tmp_path / "run").read_text()
    assert "affinity against diversity: mixup" in page
    assert "0.41 ± 0.01" in page
    assert page.count('alt="index') == 4 * 4  # two pairs: image, partner and two augmentations
    assert found.table("augmentation").column_names[:2] == ["classifier", "group"]


def test_without_any_diversity_the_report_says_where_it_would_come_from(folder, tmp_path):
    brittle.run(study(folder, {"basic": f"torch:{folder}/mine.py:strict"}), out=tmp_path / "run")
    assert "to which loss" in write_report(tmp_path / "run").read_text()


def test_where_errors_go_is_told_beside_affinity():
    """Three grey levels, of which one that has seen any edge says the middle one: cutout's squares lead there."""

    def said(images):
        edge = (images.amax((1, 2, 3)) - images.amin((1, 2, 3))) > 0.1
        level = torch.where(edge, 1, (3 * images.mean((1, 2, 3))).long().clamp(max=2))
        return torch.nn.functional.one_hot(level, 3) * 0.97 + 0.01

    labels = np.arange(90) % 3
    levels = np.array([0.2, 0.5, 0.8], np.float32)[labels]
    images = np.broadcast_to(levels[:, None, None, None], (90, 1, 8, 8)).copy()
    groups = {"a": "net", "b": "net"}
    found = brittle.augmentation(
        {"a": said, "b": said}, (images, labels), of=["cutout:size=4", "brightness"], groups=groups
    )
    cut, _ = found["interference"]
    assert (cut["group"], cut["runs"], cut["agreeing_runs"]) == ("net", 2, 2)
    assert (cut["nuisance"], cut["top_class"]) == ("cutout:size=4", "1")
    assert (cut["points_lost"], cut["points_to_top"]) == pytest.approx((200 / 3, 200 / 3))
    assert cut["points_lost"] == pytest.approx(-found.of("a", augmentation="cutout:size=4")["affinity"])
    assert "gather in one class: of 66.7 points lost on augmented images" in " ".join(str(found).split())


def test_what_a_live_classifier_was_trained_with_is_said_in_python(folder):
    told = {"b": {"mix": "mixup", "diversity": 0.41}}
    spec = f"torch:{folder}/mine.py:mean"
    found = brittle.augmentation(
        {"a": spec, "b": spec}, f"npz:{folder}/flat.npz", of="mixup", reference="a", attributes=told
    )
    (row,) = found["diversities"]
    assert (row["classifier"], row["augmentation"], row["diversity"]) == ("b", "mixup", 0.41)
