"""Somebody else's code: its errors are reported as errors of that code, and what its nuisances make is held to [0,
1]."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from brittle.api import measure, run
from brittle.errors import BrittleError, Failure, ForeignError
from brittle.nuisances.base.gaussian import GaussianNuisance
from brittle.nuisances.light.tone import Gamma
from brittle.registry import option

IMAGES = np.random.default_rng(0).random((12, 1, 8, 8), dtype=np.float32), np.arange(12) % 4
WEIGHTS = torch.randn(64, 4, generator=torch.Generator().manual_seed(1))


def scores(images):
    return images.flatten(1) @ WEIGHTS


@dataclass(frozen=True)
class Brighter(GaussianNuisance):
    """Adds a number, and does what it is told besides."""

    wrong: str = option("", "what goes wrong")
    clamps: bool = option(False, "as the engine asks")

    parameters = ("by",)
    differentiable = False

    def centre(self, batch):
        return torch.zeros(1)

    def deviations(self, batch):
        return torch.ones(1)

    def describe(self, height, width):
        return "brighter"

    def apply(self, batch, theta):
        if self.wrong == "raises":
            raise KeyError("colour")
        if self.wrong == "nan":
            return batch.images / 0 * theta[:, 0, None, None, None]
        if self.wrong == "shape":
            return batch.images[..., 1:]
        by = 0 if self.wrong == "nothing" else 5
        return batch.images + by


def measured(classifier=scores, nuisance="affine", images=IMAGES):
    return measure(classifier, images, nuisance, samples=2)


def test_an_error_in_the_users_function_is_theirs_with_its_line():
    def mistaken(images):
        return {}["logits"]

    line = mistaken.__code__.co_firstlineno + 1
    with pytest.raises(ForeignError, match=rf"raised KeyError: 'logits' \(.*test_foreign_code\.py, line {line}\)"):
        measured(mistaken)


def test_a_shape_that_does_not_fit_is_told_with_the_remedy_and_the_line():
    with pytest.raises(
        BrittleError, match=r"can't take images of 1×8×8: .*test_foreign_code\.py, line \d+.*Give channels="
    ):
        measured(lambda images: images.flatten(1) @ WEIGHTS[1:])


def test_a_classifier_by_protocol_that_raises_midway_is_named():
    class Own:
        labels, can, calls = tuple("abcd"), frozenset(), 0

        def log_probs(self, images):
            self.calls += 1
            if self.calls > 5:
                raise ValueError("no more")
            return scores(images).log_softmax(1)

    with pytest.raises(ForeignError, match=r"classifier 'classifier' raised ValueError: no more \(.*line \d+\)"):
        measured(Own())


def test_code_that_ends_the_program_is_told():
    def leaves(images):
        raise SystemExit(0)

    with pytest.raises(ForeignError, match=r"classifier 'classifier' ended the program \(exit status 0\) \(.*line"):
        measured(leaves)


def test_a_module_that_ends_the_program_is_one_line_and_a_failure(things, cli):
    (things.folder / "leaves.py").write_text("import sys\n\nsys.exit(0)\n")
    spec = f"python:{things.folder}/leaves.py:first"
    line = cli("measure", spec, f"npz:{things.folder}/images.npz", "--nuisance", "affine").complaint(1)
    assert "leaves.py, line 3" in line


def test_the_whole_traceback_is_shown_where_it_is_wanted(things, cli, monkeypatch):
    module = things.folder / "things.py"
    module.write_text(module.read_text() + "\n\ndef wrong(images):\n    return images.colour\n")
    command = ("measure", f"python:{module}:wrong", f"npz:{things.folder}/images.npz", "--nuisance", "affine")
    assert "AttributeError" in cli(*command).complaint(1)
    monkeypatch.setenv("BRITTLE_TRACEBACK", "1")
    assert "return images.colour" in cli(*command).err


def test_an_error_in_a_dataset_is_the_image_sets(monkeypatch):
    class Dataset:
        missing = False

        def __len__(self):
            return 12

        def __getitem__(self, place):
            if self.missing:
                raise LookupError("not downloaded")
            return IMAGES[0][place], int(IMAGES[1][place])

    def later(images):
        Dataset.missing = True
        return scores(images)

    monkeypatch.setattr("brittle.engine.check.before_work.CHECKED_IMAGES", 4)
    with pytest.raises(
        ForeignError, match=r"the image set 'Dataset' raised LookupError: not downloaded \(.*line \d+\)"
    ):
        measured(later, images=Dataset())


def test_an_error_in_a_nuisance_is_the_nuisances():
    with pytest.raises(
        ForeignError, match=r"the nuisance '.*righter.*' raised KeyError: 'colour' \(.*test_foreign_code"
    ):
        measured(nuisance=Brighter(wrong="raises"))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [("nan", "NaN or infinite pixels"), ("", r"pixels from 5\.\S+ to [56]\S* of the image id"), ("shape", "made ")],
)
def test_pixels_that_no_image_has_are_the_nuisances(wrong, words):
    with pytest.raises(BrittleError, match=rf"the nuisance '.*righter.*{words}"):
        measured(nuisance=Brighter(wrong=wrong))


@pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")
def test_a_nuisance_that_says_so_is_clamped():
    white = measured(nuisance=Brighter(clamps=True))
    p = scores(torch.ones(1, 1, 8, 8)).softmax(1)[0]
    assert white["rho"] == pytest.approx(float(p[IMAGES[1]].mean()), abs=1e-5)
    assert measured(nuisance=Brighter(wrong="nothing"))["rho"] > 0


def test_nan_from_a_nuisance_of_ours_is_not_the_classifiers(monkeypatch):
    monkeypatch.setattr(Gamma, "apply", lambda self, batch, theta: batch.images * torch.nan)
    monkeypatch.setattr(
        "brittle.engine.check.before_work.try_nuisance", lambda *_: None
    )  # which would notice it at once
    with pytest.raises(Failure, match=r"the nuisance 'gamma' made NaN or infinite pixels of the image index \d+"):
        measured(nuisance="gamma")


@pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of", "have no label")
def test_labels_of_minus_one_are_told():
    images, labels = IMAGES
    for given in (np.where(labels == 0, -1, labels), np.full(12, -1)):
        warnings = "\n".join(measured(images=(images, given))["warnings"])
        assert "agreement with the classifier's own clean prediction is measured" in warnings
    assert "agreement" not in "\n".join(measured()["warnings"])


def test_a_spec_without_labels_says_so_itself(things):
    with np.load(things.folder / "images.npz") as archive:
        np.savez(things.folder / "bare.npz", images=archive["images"])
    study = things.study(images={"toy": f"npz:{things.folder}/bare.npz"}, nuisances=["affine:alpha=20"])
    assert "agreement" not in "\n".join(run(study)["warnings"])
