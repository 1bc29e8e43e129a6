"""Nuisances that read what only a classifier can tell: each classifier sees its own T_θ x, the same in any batch and in
any company, and pictures are made again as it saw them."""

import shutil
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from engine_runs import run_study

import brittle
from brittle.engine.assemble import assemble
from brittle.engine.inputs import Inputs
from brittle.engine.plan.missing import asked_groups
from brittle.engine.replay import replay_of
from brittle.errors import BrittleError
from brittle.extras import extras
from brittle.measures.draws import draw_theta
from brittle.nuisances import nuisances
from brittle.nuisances.base.gaussian import GaussianNuisance
from brittle.random import stream_root
from brittle.report.html import write_report
from brittle.study import Study

BOTH = {"plain": "bundled:plain", "augmented": "bundled:augmented"}


def study(**changed):
    return {
        "classifiers": BOTH,
        "images": {"sample": {"spec": "sample", "count": 30}},
        "nuisances": ["salient", "patch"],
        "robustness": {"samples": 4},
    } | changed


def rows(done, classifier, nuisance="salient"):
    view = done.view("robustness")
    return view.table(view.cell(classifier, "sample", nuisance))


def test_each_classifier_is_a_group_of_its_own_where_a_nuisance_reads_extras():
    job = assemble(Inputs(Study.of(study())))
    found = [(group.nuisance, tuple(group.cells)) for group in asked_groups(job) if group.nuisance]
    assert found == [("salient", ("plain",)), ("salient", ("augmented",)), ("patch", ("plain", "augmented"))]


def test_rows_are_what_the_classifier_says_of_its_own_pictures():
    """Worked out without the engine: own Grad-CAM, own mask, own answer."""
    done = run_study(Study.of(study()), None)
    chosen = done.job.images["sample"].images
    batch, space = chosen.batch(range(30)), nuisances.build("salient")
    for name in BOTH:
        classifier = brittle.classifier(BOTH[name])
        saliency = extras.build("saliency").compute(classifier, batch)
        full = batch._replace(extras={"saliency": saliency})
        found = rows(done, name)
        for draw in range(4):
            theta = draw_theta(space, full, torch.full((30,), draw), stream_root(0, "salient"))
            with torch.no_grad():
                said = classifier.log_probs(space.apply(full, theta))
            here = found.filter(np.asarray(found["draw"]) == draw)
            assert here["predicted"].to_pylist() == said.argmax(1).tolist()
            np.testing.assert_allclose(here["log_p_predicted"], said.max(1).values, atol=1e-5)


def test_rows_depend_neither_on_the_batch_nor_on_the_company():
    together = run_study(Study.of(study()), None, batch=64)
    alone = run_study(Study.of(study(classifiers={"augmented": BOTH["augmented"]})), None, batch=7)
    first, second = rows(together, "augmented"), rows(alone, "augmented")
    assert first["predicted"].equals(second["predicted"])
    np.testing.assert_allclose(first["log_p_label"], second["log_p_label"], atol=1e-5)


def test_labels_are_those_that_the_classifier_counts():
    """A set whose classes are in another order: explained is the score of the class of that name."""
    sample = brittle.image_set("sample").choose(20, 0)
    batch = sample.batch(range(20))
    names = list(reversed(sample.classes))
    turned = brittle.image_set(
        (batch.images.numpy(), 9 - batch.labels.numpy()), ids=batch.ids.numpy(), name="sample", classes=names
    )
    same = brittle.image_set((batch.images.numpy(), batch.labels.numpy()), ids=batch.ids.numpy(), name="sample",
                             classes=sample.classes)  # fmt: skip
    space = "salient:of-class=label,which=most,share=0.5"
    found = [brittle.measure("bundled:plain", images, space, samples=3)["rho"] for images in (same, turned)]
    other = brittle.measure("bundled:plain", same, space.replace("label", "predicted"), samples=3)["rho"]
    assert found[0] == found[1] != other


def test_pictures_are_made_again_as_each_classifier_saw_them(tmp_path):
    asked = study(nuisances=["salient:share=0.4"]) | {"breaking-points": {"step": 0.5, "limit": 2}}
    done = run_study(Study.of(asked), tmp_path / "run")
    name = "salient:share=0.4"
    seen = [replay_of(done.job, "sample", name, each).draws([(0, 0), (3, 1)]) for each in BOTH]
    for pictures in zip(*seen, strict=True):
        assert not torch.equal(*pictures)
    for each, pictures in zip(BOTH, seen, strict=True):
        with torch.no_grad():
            said = brittle.classifier(BOTH[each]).log_probs(torch.stack(pictures)).argmax(1)
        stored = rows(done, each, name)
        ids = done.job.subject("sample").ids
        keys = list(zip(stored["image"].to_pylist(), stored["draw"].to_pylist(), strict=True))
        assert said.tolist() == [stored["predicted"][keys.index((ids[p], d))].as_py() for p, d in ((0, 0), (3, 1))]
    page = write_report(tmp_path / "run").read_text()
    assert "First draws, not selected, as plain sees them" in page
    assert page.count("these are the pictures that the classifiers saw") == 2


def test_a_report_without_the_classifier_says_that_there_are_no_pictures(tmp_path):
    weights = tmp_path / "own.safetensors"
    shutil.copy(brittle.__path__[0] + "/classifiers/data/plain.safetensors", weights)
    asked = study(classifiers={"own": f"bundled:plain,weights={weights}"}, nuisances=["salient"])
    run_study(Study.of(asked), tmp_path / "run")
    weights.unlink()
    page = write_report(tmp_path / "run").read_text()
    assert "This nuisance reads saliency, which differs by classifier" in page


def test_weak_points_are_found_and_shown_where_the_classifier_looks(tmp_path):
    asked = study(nuisances=["salient:share=0.5"], classifiers={"plain": BOTH["plain"]})
    asked |= {"weak-points": {"count": 2, "budget": 400}}
    run_study(Study.of(asked), tmp_path / "run")
    page = write_report(tmp_path / "run").read_text()
    assert "How often each pixel is hidden" in page
    assert "these are the pictures that the classifiers saw" in page


def test_a_classifier_that_can_not_give_them_is_refused_before_work_begins(tmp_path):
    images = brittle.image_set("sample").choose(5, 0)
    with pytest.raises(BrittleError, match=r"'classifier' is not made of one.*patch, fourier-mask or tiles"):
        brittle.measure(lambda pixels: torch.ones(len(pixels), 10) / 10, images, "salient", samples=2)


def test_an_unknown_extra_is_refused():
    class Odd(type(nuisances.build("patch"))):
        needs = frozenset({"salience"})

    with pytest.raises(BrittleError, match=r"unknown extra 'salience'. Did you mean 'saliency'"):
        brittle.measure("bundled:plain", "sample", Odd(), samples=1, count=3)


@dataclass(frozen=True)
class Confidence:
    """How sure the classifier is of the clean image."""

    def check(self, name, classifier, batch):
        assert len(batch.images) == 1

    def compute(self, classifier, batch):
        with torch.no_grad():
            return classifier.log_probs(batch.images).max(1).values.exp()


class DimTheUnsure(GaussianNuisance):
    """Multiplies pixels by the classifier's confidence."""

    parameters = ("none",)
    needs = frozenset({"confidence"})
    clamps = True

    def centre(self, batch):
        return torch.zeros(1, dtype=torch.float64)

    deviations = centre

    def apply(self, batch, theta):
        return batch.images * batch.extras["confidence"].view(-1, 1, 1, 1)

    def describe(self, height, width):
        return "dims what a classifier is unsure of"


def test_an_extra_of_somebody_elses_reaches_their_nuisance(monkeypatch):
    monkeypatch.setattr(extras, "_kinds", {**extras.loaded(), "confidence": Confidence})
    images = brittle.image_set("sample").choose(12, 0)
    found = brittle.measure("bundled:plain", images, DimTheUnsure(), samples=1)
    classifier, batch = brittle.classifier("bundled:plain"), images.batch(range(12))
    with torch.no_grad():
        sure = classifier.log_probs(batch.images).exp().max(1).values
        said = classifier.log_probs(batch.images * sure.view(-1, 1, 1, 1)).exp()
    assert found["rho"] == pytest.approx(float(said.gather(1, batch.labels[:, None]).mean()), abs=1e-5)


def test_hardening_on_them_is_refused(tmp_path):
    with pytest.raises(BrittleError, match="'salient' needs saliency of the classifier, which changes"):
        brittle.harden("bundled:plain", "sample", "salient", out=tmp_path / "out")


@pytest.mark.slow
def test_workers_on_ray_give_the_same_rows(tmp_path):
    asked = Study.of(study(nuisances=["salient"]))
    here = run_study(asked, None)
    there = run_study(asked, tmp_path / "run", engine="ray", workers=2)
    for name in BOTH:
        first, second = (rows(done, name) for done in (here, there))
        assert first.select(["image", "draw", "predicted"]).equals(second.select(["image", "draw", "predicted"]))
