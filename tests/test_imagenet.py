"""ImageNet's classes under their readable names, wherever a class is shown, and matched however they are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from torch import Tensor, nn

import brittle
from brittle import imagenet
from brittle.classifiers import classifier
from brittle.report.sections.perturbation.words import aims

TENCH, GOLDFISH, TISSUE = "n01440764", "n01443537", "n15075141"  # the first two and the last


class Sure(nn.Module):
    """1,000 classes; certain of the one whose number is in the first pixel's red and green."""

    def forward(self, images: Tensor) -> Tensor:
        place = (images[:, 0, 0, 0] * 255).round() * 4 + (images[:, 1, 0, 0] * 255).round()
        return 20.0 * nn.functional.one_hot(place.long(), 1000).float()


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """Two pictures of each of three classes, in folders by WordNet id; the first pixel says which class it is."""
    for key in (TENCH, GOLDFISH, TISSUE):
        (tmp_path / key).mkdir()
        place = imagenet.ids().index(key)
        for number in range(2):
            pixels = np.full((8, 8, 3), 40 * number, dtype=np.uint8)
            pixels[0, 0] = (place // 4, place % 4, 0)
            Image.fromarray(pixels).save(tmp_path / key / f"{number}.png")
    return tmp_path


def test_the_classes_and_their_words_are_those_that_timm_lists(torchvision: Any) -> None:
    from timm.data import ImageNetInfo

    theirs = ImageNetInfo("imagenet-1k")
    assert imagenet.ids() == tuple(theirs.label_names())
    for place, words in enumerate(imagenet.words().values()):
        assert ", ".join(words) == theirs.index_to_description(place)


def test_names_of_torchvision_and_of_transformers_are_recognised(torchvision: Any) -> None:
    from torchvision.models._meta import _IMAGENET_CATEGORIES

    shown = imagenet.shown_labels(imagenet.ids())
    assert (shown[0], shown[134], shown[517]) == ("tench (n01440764)", "crane (n02012849)", "crane (n03126707)")
    assert imagenet.shown_labels(_IMAGENET_CATEGORIES) == shown
    assert imagenet.shown_labels([", ".join(words) for words in imagenet.words().values()]) == shown


def test_a_thousand_other_names_stay_what_they_are() -> None:
    others = tuple(f"person {number}" for number in range(1000))
    assert imagenet.shown_labels(others) == others


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        (TENCH, "tench (n01440764)"),
        ("n01440764_tench", "tench (n01440764)"),
        ("n01440764 a fish", "tench (n01440764)"),
        ("n99999999", "n99999999"),
        ("n014407645", "n014407645"),
        ("tench", "tench"),
        ("", ""),
    ],
)
def test_an_id_is_shown_with_its_word(label: str, shown: str) -> None:
    assert imagenet.shown(label) == shown


def test_a_class_goes_by_any_of_its_words_unless_two_classes_share_it() -> None:
    places = imagenet.by_name(imagenet.shown_labels(imagenet.ids()))
    assert places["tench"] == places["Tinca tinca"] == places[TENCH] == places["tench (n01440764)"] == 0
    assert "crane" not in places
    assert places["n02012849"] == 134


@pytest.mark.parametrize("labels", [imagenet.ids(), tuple(words[0] for words in imagenet.words().values())])
def test_folders_of_wordnet_ids_meet_the_right_classes_of_a_classifier(
    photographs: Path, labels: tuple[str, ...]
) -> None:
    found = brittle.measure(
        classifier(Sure(), labels=labels), f"folder:{photographs}", nuisances="rotation:sigma=0.001", samples=1
    )
    assert found["accuracy_clean"] == 1.0
    assert not [each for each in found["warnings"] if "by number" in each]
    assert [each["class"] for each in found["classes"]] == [imagenet.shown(key) for key in (TENCH, GOLDFISH, TISSUE)]


@pytest.mark.warned("classes without names")
def test_a_thousand_classes_without_names_are_taken_for_imagenets_and_it_is_said(photographs: Path) -> None:
    found = brittle.measure(Sure(), f"folder:{photographs}", nuisances="rotation:sigma=0.001", samples=1)
    assert found["accuracy_clean"] == 1.0
    assert any("taken for ImageNet's, in their usual order" in each for each in found["warnings"])


def test_readable_folders_meet_a_classifier_that_names_wordnet_ids(photographs: Path) -> None:
    for key, name in ((TENCH, "tench"), (GOLDFISH, "goldfish"), (TISSUE, "toilet tissue")):
        (photographs / key).rename(photographs / name)
    given = classifier(Sure(), labels=imagenet.ids())
    found = brittle.measure(given, f"folder:{photographs}", nuisances="rotation:sigma=0.001", samples=1)
    assert found["accuracy_clean"] == 1.0


def test_a_target_is_named_by_its_word() -> None:
    from brittle.measures.perturbation.targets import named_classes

    shown = imagenet.shown_labels(imagenet.ids())
    assert named_classes(("goldfish", TISSUE), shown) == [1, 999]


def test_targets_that_are_wordnet_ids_are_told_by_their_words() -> None:
    row = {"targets": ["n02123045", "tench"], "drawn_targets": None}
    assert aims(row) == "targets: the classes tabby (n02123045) and tench"
