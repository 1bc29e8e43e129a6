"""What can't be hardened is refused before anything is sampled."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from quick_hardening import ALPHA, COMMAND, QUICK
from torch import nn

import brittle
from brittle.classifiers.bundled import SmallNet
from brittle.errors import BrittleError
from brittle.hardening.prepare import hardenable


@pytest.mark.warned("is near chance on the untouched images")
def test_another_network_or_other_test_images_are_not_gone_on_with(sample: brittle.ImageSet, tmp_path: Path) -> None:
    def of(seed: int, test: brittle.ImageSet) -> object:
        torch.manual_seed(seed)
        return brittle.harden(SmallNet(), sample.take(range(300)), ALPHA, tmp_path, test=test, **QUICK)

    first, second = sample.take(range(300, 600)), sample.take(range(400, 700))
    of(0, first)
    of(0, first)
    with pytest.raises(BrittleError, match=r"another hardening: weights.*another --out"):
        of(1, first)
    with pytest.raises(BrittleError, match=r"another hardening: images\.held_out"):
        of(0, second)


def test_what_is_no_torch_module_is_refused(sample: brittle.ImageSet) -> None:
    with pytest.raises(BrittleError, match=r"can't be hardened, since it is not a torch module.*torch:package"):
        brittle.harden(lambda images: images.flatten(1)[:, :10], sample, ALPHA)


def test_a_network_that_is_new_each_time_is_refused_where_specs_are_kept(tmp_path: Path) -> None:
    spec = "torch:brittle.classifiers.bundled:SmallNet"
    with pytest.raises(BrittleError, match="makes other weights each time"):
        brittle.harden(spec, "sample", ALPHA, tmp_path / "out", **QUICK)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"share": 0.0}, "share is 0"),
        ({"held_out": 0.5}, "held-out is 0.5"),
        ({"on": "posterior"}, "on"),
        ({"sampler": "crank-nicolson"}, "walks in chains"),
    ],
)
def test_wrong_values_are_named(options: dict[str, object], wrong: str, sample: brittle.ImageSet) -> None:
    with pytest.raises(BrittleError, match=wrong):
        brittle.harden("bundled:plain", sample, ALPHA, **options)


def test_a_word_that_is_no_option_is_refused(sample: brittle.ImageSet) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch'"):
        brittle.harden("bundled:plain", sample, ALPHA, epoch=3)


def coloured(folder: Path, names: str) -> str:
    """Twenty grey squares a class, of a shade that its name fixes."""
    random = np.random.default_rng(0)
    for name in names.split():
        (folder / name).mkdir(parents=True)
        for number in range(20):
            pixels = np.clip(random.normal(60 + 60 * ["cat", "dog", "owl"].index(name), 5, (8, 8)), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{number}.png")
    return f"folder:{folder}"


@pytest.mark.warned("is near chance on the untouched images")
def test_a_class_that_is_counted_differently_in_test_images_is_refused(tmp_path: Path) -> None:
    few, all_three = coloured(tmp_path / "few", "dog owl"), coloured(tmp_path / "all", "cat dog owl")
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    with pytest.raises(
        BrittleError, match=r"'dog' is class 0 of the training images and 1 of the test images.*labels="
    ):
        brittle.harden(net, few, "brightness", test=all_three, **QUICK)
    named = brittle.classifier(net, labels=("cat", "dog", "owl"))
    brittle.harden(named, few, "brightness", test=all_three, **QUICK)


class Untrainable(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.net = how, nn.Sequential(nn.Flatten(), nn.Linear(784, 10))

    def forward(self, images: torch.Tensor) -> object:
        if self.how == "tuple" and self.training:
            return self.net(images), None
        with torch.set_grad_enabled(self.how != "no gradients"):
            return self.net(images)


@pytest.mark.parametrize("how", ["tuple", "no gradients", "half"])
def test_what_cannot_be_trained_is_refused_before_anything_is_sampled(how: str, sample: brittle.ImageSet) -> None:
    net = Untrainable(how)
    with pytest.raises(
        BrittleError, match=r"float16.*module\.float\(\)" if how == "half" else "can't be trained.*gradients"
    ):
        brittle.harden(net.half() if how == "half" else net, sample, ALPHA, **QUICK)


def test_a_folder_of_something_else_is_refused_before_training(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "run"
    cli("measure", "bundled:plain", "sample", "--nuisance", ALPHA, "--count", 10, "--samples", 2, "--out", out)
    said = cli(*COMMAND, "--out", out)
    assert said.status == 2
    assert "the study has changed" in said.err
    assert len(said.err) < 1000
    assert not (out / "rounds").exists()
    assert not (out / "weights.safetensors").exists()


def test_an_option_changed_while_before_is_measured_is_refused_at_once(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    cli(*COMMAND, "--out", tmp_path)
    for left in ("harden.json", "weights.safetensors", "summary.json", "rounds/0.safetensors", "rounds/1.safetensors"):
        (tmp_path / left).unlink()
    said = cli(*COMMAND, "--seed", 1, "--out", tmp_path)
    assert "seed: 0 → 1" in said.err
    assert not list((tmp_path / "rounds").iterdir())


def test_a_classifier_whose_classes_are_mapped_is_refused():
    with pytest.raises(BrittleError, match="while its classes are mapped"):
        hardenable(brittle.classifier("bundled:plain", classes={"bag": ["Bag"], "coat": ["Coat"]}), "cpu")
