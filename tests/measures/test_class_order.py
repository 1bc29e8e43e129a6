"""Classes in another order than the classifier's: said first, and no advice that a wrong order makes nonsense of."""

import re

import numpy as np
import pytest
import torch
from PIL import Image

import brittle
from brittle.measures.robustness.clean_warnings import chance_of
from brittle.report.html import write_report

pytestmark = pytest.mark.warned(
    "are matched by number", "seems to count its classes", "is near chance on the untouched", "has a mean confidence"
)
ORDER = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7]  # output j is ORDER[j] of the sample's classes
NAMES = brittle.image_set("sample").classes
OTHER = ("Top", *NAMES[1:])  # a slash in a name can't be written in labels=a/b/c


class Shuffled:
    """The bundled classifier with its outputs in another order, and without names."""

    def __init__(self, order=ORDER, scale=1.0):
        self.network, self.order, self.scale = brittle.classifier("bundled:augmented"), order, scale

    def __call__(self, images):
        return self.scale * self.network.log_probs(images)[:, self.order]


def sample(count=100, classes=OTHER, noise=0.0):
    whole = brittle.image_set("sample").choose(count, 0)
    batch = whole.batch(range(count))
    pixels = batch.images + noise * torch.randn(batch.images.shape, generator=torch.Generator().manual_seed(0))
    return brittle.image_set((pixels.clamp(0, 1).numpy(), batch.labels.numpy()), name="clothes", classes=classes)


def measured(classifier, images=None, **options):
    return brittle.measure(classifier, images or sample(), "translation", samples=2, **options)


def test_a_shuffled_classifier_is_said_to_be_one_before_all_else():
    found = measured(Shuffled())
    first = found["warnings"][0]
    assert first.startswith(
        "'classifier' seems to count its classes in another order than 'clothes': clean accuracy is"
    )
    as_matched, reordered = map(float, re.findall(r"is (0\.\d+) as they .* and (0\.\d+) in the order", first)[0])
    right = measured(brittle.classifier(Shuffled(), labels=[OTHER[place] for place in ORDER]))
    assert as_matched == pytest.approx(found["accuracy_clean"], abs=1e-3)
    assert reordered == pytest.approx(right["accuracy_clean"], abs=0.05)
    assert not any("logits" in text for text in found["warnings"])
    assert str(found).startswith(f"warning: {first}\n")
    assert str(found).count("seems to count") == 1


def test_the_names_to_be_copied_are_the_right_ones():
    said = measured(Shuffled())["warnings"][0]
    given = said.rpartition("labels=")[2]
    assert given.split("/") == [OTHER[place] for place in ORDER]
    settled = measured(brittle.classifier(Shuffled(), labels=given))
    assert settled["accuracy_clean"] > 0.8
    assert not any("by number" in text or "another order" in text for text in settled["warnings"])


def test_names_that_can_not_be_written_in_a_line_are_left_to_a_file():
    assert measured(Shuffled(), sample(classes=NAMES))["warnings"][0].endswith("labels=…")


def test_labels_without_names_are_found_out_too():
    found = measured(Shuffled(), sample(classes=()))
    given = found["warnings"][0].rpartition("labels=")[2]
    assert given == "/".join(map(str, ORDER))
    assert measured(brittle.classifier(Shuffled(), labels=given), sample(classes=()))["accuracy_clean"] > 0.8


def test_names_in_the_wrong_order_are_found_out_too():
    found = measured(brittle.classifier(Shuffled(), labels=OTHER))
    assert "seems to count its classes in another order" in found["warnings"][0]


def test_folders_in_alphabetical_order_are_matched_by_number_and_it_is_said(tmp_path):
    images = sample(60)
    pixels = (images.batch(range(60)).images[:, 0] * 255).byte().numpy()
    for place, label in enumerate(images.labels.tolist()):
        folder = tmp_path / "clothes" / OTHER[label]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[place]).save(folder / f"{place}.png")
    found = measured(Shuffled(order=list(range(10))), f"folder:{tmp_path / 'clothes'}")
    assert found["warnings"][0].startswith("'classifier' seems to count")
    assert any(
        "'clothes' are matched by number with the 10 classes of 'classifier', which has no names: 0 = Ankle boot, "
        "1 = Bag, 2 = Coat, …; if it counts them in another order, name them in that order with labels=…" in text
        for text in found["warnings"]
    )


def test_word_labels_go_by_number_in_alphabetical_order_and_it_is_said():
    images = np.zeros((4, 8, 8), np.uint8)
    found = measured(
        lambda x: x.mean((2, 3)).repeat(1, 2), brittle.image_set((images, np.array(["dog", "cat", "cat", "dog"])))
    )
    assert any("by number" in text and "0 = cat, 1 = dog;" in text for text in found["warnings"])


def test_nothing_is_said_where_classes_are_the_same_by_name():
    found = measured(brittle.classifier("bundled:augmented"), sample(classes=NAMES))
    assert not any("by number" in text or "another order" in text for text in found["warnings"])


@pytest.mark.parametrize("noise", [0.15, 0.2])
@pytest.mark.parametrize(("scale", "word"), [(20.0, "too large"), (0.1, "too small")])
def test_a_weak_and_miscalibrated_classifier_is_told_about_its_logits(scale, word, noise):
    found = measured(brittle.classifier(Shuffled(range(10), scale), labels=OTHER), sample(400, noise=noise))
    assert 0.25 < found["accuracy_clean"] < 0.9
    assert any(f"its logits are {word}" in text for text in found["warnings"])
    assert not any("another order" in text for text in found["warnings"])


@pytest.mark.parametrize("scale", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_an_untrained_network_is_told_nothing_about_its_logits(scale, classes):
    rng = np.random.default_rng(0)
    images = brittle.image_set((rng.random((60, 6, 6)), rng.integers(classes, size=60)), name="noise")
    weights = scale * torch.randn(36, classes, generator=torch.Generator().manual_seed(1))
    found = measured(lambda x: (x.flatten(1) - 0.5) @ weights, images)
    assert any("is near chance on the untouched images" in text for text in found["warnings"])
    assert not any("logits" in text or "another order" in text for text in found["warnings"])


def test_an_untrained_network_beside_a_trained_one_is_named():
    found = brittle.compare(
        {"trained": "bundled:plain", "untrained": lambda x: 9 * torch.ones(len(x), 10).tril()}, "sample", "translation",
        count=50, samples=2,
    )  # fmt: skip
    assert any(text.startswith("'untrained' is near chance") for text in found.summary["warnings"])
    assert not any("logits" in text for text in found.summary["warnings"])


def test_chance_counts_the_most_frequent_answer():
    labels = np.array([0] * 7 + [1] * 3)
    assert chance_of(labels, np.zeros(10, int), 2) == pytest.approx(0.7)
    assert chance_of(labels, labels, 2) == pytest.approx(0.58)
    assert chance_of(np.zeros(10, int), np.zeros(10, int), 10) == pytest.approx(0.1)


@pytest.mark.parametrize("kind", ["clean", "failure-points", "breaking-points", "robustness"])
def test_every_measure_of_clean_predictions_says_it(kind, tmp_path):
    (tmp_path / "shuffled.py").write_text(
        f"import brittle\nnetwork = brittle.classifier('bundled:augmented')\n"
        f"def it(images):\n    return network.log_probs(images)[:, {ORDER}]\n"
    )
    study = {
        "classifiers": {"mine": f"python:{tmp_path / 'shuffled.py'}:it"},
        "images": {"clothes": {"spec": "sample", "count": 60}},
        "nuisances": {} if kind == "clean" else {"rotation": "rotation"},
        kind: {"samples": 2} if kind == "robustness" else {},
    }
    found = brittle.run(study, out=tmp_path / "run")
    assert found["warnings"][0].startswith("'mine' seems to count its classes in another order than 'clothes'")
    (doubt,) = found["class_order"]
    assert (doubt["classifier"], doubt["image_set"]) == ("mine", "clothes")
    page = write_report(tmp_path / "run").read_text()
    assert '<p class="verdict">mine seems to count its classes in another order than clothes' in page
