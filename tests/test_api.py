"""A user's own classifiers and images, given as objects or by spec, without a change to the package."""

import numpy as np
import pytest
import torch
from own_nuisance import Dim
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import Dataset

import brittle
from brittle.errors import BrittleError

pytestmark = pytest.mark.warned("is near chance on the untouched images")

RECIPE = """
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def pipeline():
    digits = load_digits()
    found = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    return found.fit(digits.data[:1000] / 16, digits.target[:1000])
"""


@pytest.fixture(scope="module")
def digits():
    found = load_digits()
    return found.images[1000:1200] / 16, found.target[1000:1200]


@pytest.fixture(scope="module")
def pipeline():
    found = load_digits()
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    return model.fit(found.data[:1000] / 16, found.target[:1000])


def test_a_scikit_learn_pipeline_is_measured_as_an_object_and_as_a_spec(digits, pipeline, tmp_path, cli):
    found = brittle.measure(pipeline, digits, "rotation:sigma=10", samples=5)
    images, labels = digits
    assert found["accuracy_clean"] == pytest.approx((pipeline.predict(images.reshape(200, -1)) == labels).mean())
    assert found["accuracy_clean"] > found["accuracy_nuisance"] > 0.5
    (tmp_path / "recipe.py").write_text(RECIPE)
    np.savez(tmp_path / "digits.npz", images=images.astype(np.float32), labels=labels)
    said = cli(
        *("measure", f"sklearn:{tmp_path}/recipe.py:pipeline", f"npz:{tmp_path}/digits.npz"),
        *("--nuisance", "rotation:sigma=10", "--samples", 5, "--json"),
    )
    assert said.status == 0, said
    assert said.json["rho"] == pytest.approx(found["rho"], abs=1e-6)
    assert said.json["accuracy_nuisance"] == found["accuracy_nuisance"]


def test_a_network_exported_to_onnx_is_measured_like_the_network(tmp_path, cli):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 4, 5), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 24 * 24, 10)).eval()
    torch.onnx.export(
        network,
        (torch.zeros(2, 1, 28, 28),),
        tmp_path / "net.onnx",
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        verbose=False,
    )
    said = cli(
        *(
            "measure",
            f"onnx:{tmp_path}/net.onnx",
            "sample",
            "--nuisance",
            "affine",
            "--count",
            40,
            "--samples",
            5,
            "--json",
        )
    )
    assert said.status == 0, said
    found = brittle.measure(network, "sample", "affine", count=40, samples=5)
    assert said.json["rho"] == pytest.approx(found["rho"], abs=1e-5)
    assert said.json["flip_rate"] == pytest.approx(found["flip_rate"], abs=0.02)


class Squares(Dataset):
    """Bright squares, left or right."""

    def __len__(self):
        return 30

    def __getitem__(self, place):
        image = torch.zeros(1, 12, 12)
        image[:, 3:9, 1 + 6 * (place % 2) : 5 + 6 * (place % 2)] = 1
        return image, place % 2


def left_or_right(images):
    """log-odds: how much brighter the right half is."""
    halves = images.mean((1, 2)).unflatten(1, (2, 6)).mean(2)
    return 40 * halves


def test_a_torch_dataset_and_a_function_are_measured():
    found = brittle.measure(left_or_right, Squares(), "translation:sigma=0.05", samples=8)
    assert found["accuracy_clean"] == 1
    assert 0.9 < found["rho"] <= 1
    far = brittle.measure(left_or_right, Squares(), "translation:sigma=0.5", samples=8)
    assert far["rho"] < found["rho"]


@pytest.mark.warned("have no label", "has a mean confidence of")
def test_images_without_labels_are_measured_against_the_clean_prediction():
    images = np.stack([Squares()[place][0].numpy() for place in range(30)])
    unlabelled = brittle.measure(left_or_right, images, "translation:sigma=0.15", samples=8)
    labelled = brittle.measure(left_or_right, (images, np.arange(30) % 2), "translation:sigma=0.15", samples=8)
    assert unlabelled["reference"] == "clean prediction"
    assert unlabelled["rho"] == pytest.approx(labelled["rho"], abs=1e-6), "every clean prediction is right here"
    assert unlabelled["flip_rate"] == pytest.approx(1 - labelled["accuracy_nuisance"])
    assert unlabelled["accuracy_clean"] is None
    turned = brittle.measure(left_or_right, (images, 1 - np.arange(30) % 2), "translation:sigma=0.15", samples=8)
    assert turned["rho"] == pytest.approx(1 - labelled["rho"], abs=1e-6)


def test_a_classifier_that_tells_no_class_from_another_is_not_always_right():
    found = brittle.measure(lambda images: torch.zeros(len(images), 2), Squares(), "translation", samples=2)
    assert found["accuracy_clean"] == found["accuracy_nuisance"] == 0.5


def test_a_classifier_of_hard_labels_is_measured():
    def hard(images):
        return torch.nn.functional.one_hot(left_or_right(images).argmax(1), 2).float()

    found = brittle.measure(hard, Squares(), "translation:sigma=0.15", samples=8, extra=("nll", "ece"))
    assert found["rho"] == found["accuracy_nuisance"] < 1
    assert found["nll"] is None, "an infinite mean has no number in JSON"


def test_classes_are_matched_by_name_whatever_their_order():
    images = np.stack([Squares()[place][0].numpy() for place in range(30)])
    straight = brittle.measure(left_or_right, Squares(), "translation:sigma=0.15", samples=4)
    turned = brittle.image_set((images, np.array(["left", "right"])[np.arange(30) % 2]))
    swapped = brittle.classifier(lambda images: left_or_right(images).flip(1), labels=("right", "left"))
    found = brittle.measure(swapped, turned, "translation:sigma=0.15", samples=4)
    assert found["accuracy_clean"] == 1
    assert found["rho"] == pytest.approx(straight["rho"], abs=1e-6)


def test_names_that_half_agree_are_refused_where_numbers_would_be_wrong():
    images = np.stack([Squares()[place][0].numpy() for place in range(30)])
    named = brittle.image_set((images, np.array(["left", "right"])[np.arange(30) % 2]))
    swapped = brittle.classifier(lambda images: left_or_right(images).flip(1), labels=("right", "Left"))
    with pytest.raises(BrittleError, match=r"'right' is 1 and 0.*has no 'left'"):
        brittle.measure(swapped, named, "translation", samples=2)
    other_words = brittle.classifier(left_or_right, labels=("links", "rechts"))
    assert brittle.measure(other_words, named, "translation:sigma=0.01", samples=2)["accuracy_clean"] == 1


def test_a_name_that_stands_for_two_classes_goes_by_its_number():
    images = np.stack([Squares()[place][0].numpy() for place in range(30)])
    cranes = brittle.image_set((images, np.arange(30) % 2), classes=("crane", "crane"))
    twice = brittle.classifier(left_or_right, labels=("crane", "crane"))
    assert brittle.measure(twice, cranes, "translation:sigma=0.01", samples=2)["accuracy_clean"] == 1


def test_a_users_own_nuisance_is_measured_against_its_expected_value():
    """p = σ(z (1 − θ)) with θ ~ U(0, 1): its mean is (softplus(z) − softplus(0)) / z."""
    found = brittle.measure(left_or_right, Squares(), Dim(most=1.0), samples=400)
    z = float(left_or_right(Squares()[1][0][None]).diff(dim=1))
    expected = (np.logaddexp(0, z) - np.log(2)) / z
    assert found["rho"] == pytest.approx(expected, abs=0.005)
    assert found["nuisance"] == "Dim:most=1"
    assert found["prior"] == "darkened by 0.5 on average"


def test_python_and_a_study_give_the_same_numbers(tmp_path):
    study = {
        "classifiers": {"a": "bundled:plain", "b": "bundled:augmented"},
        "images": {"sample": {"spec": "sample", "count": 40}},
        "nuisances": ["affine:alpha=50"],
        "robustness": {"samples": 5},
    }
    kept = brittle.run(study, out=tmp_path / "run")["measures"]["robustness"]
    found = brittle.compare(study["classifiers"], "sample", "affine:alpha=50", count=40, samples=5)
    assert kept["results"] == found["results"]
    assert kept["comparisons"] == found["comparisons"]


def test_a_wrong_word_in_python_is_answered_like_one_on_the_command_line():
    for arguments, words in (
        (("bundled:plian", "sample", "affine"), "Did you mean 'plain'"),
        (("bundled:plain", "smaple", "affine"), "Did you mean 'sample'"),
        (("bundled:plain", "sample", "afine"), "Did you mean 'affine'"),
        ((3, "sample", "affine"), "of type int is not a classifier"),
        (("bundled:plain", 3, "affine"), "int is not an image set"),
    ):
        with pytest.raises(BrittleError, match=words):
            brittle.measure(*arguments)
