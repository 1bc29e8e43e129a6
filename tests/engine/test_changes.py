"""A run may be extended by anything. What was computed stays: a change is refused, and the difference is shown."""

import shutil
import tomllib

import numpy as np
import pytest
import torch
from engine_runs import run
from safetensors.torch import save_file

from brittle.engine.store import run_folder
from brittle.errors import BrittleError
from brittle.report.html import write_report

pytestmark = pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")


def results(study, out=None, **options):
    return run(study, out=out, **options)["measures"]["robustness"]["results"]


def test_adding_a_classifier_computes_only_the_new_one(things, own):
    before = run(things.study("first"), out=things.out)
    assert before["measures"]["robustness"]["comparisons"] == []
    things.rows("first")
    after = run(things.study("first", "second"), out=things.out)
    assert things.rows("first") == things.CHECKED
    assert things.rows("second") == things.CHECKED + things.IMAGES * 61
    after_it, before_it = after["measures"]["robustness"], before["measures"]["robustness"]
    old = [row for row in after_it["results"] if row["classifier"] == "first"]
    assert list(map(own, old)) == list(map(own, before_it["results"]))
    assert len(after_it["comparisons"]) == 3
    assert after == run(things.study("first", "second"), out=things.folder / "at once")


def test_adding_a_nuisance_computes_only_the_new_one(things, own):
    before = results(things.study(nuisances=["affine:alpha=20"]), things.out)
    things.rows()
    two = things.study(nuisances=["rotation:sigma=20", "affine:alpha=20"])
    after = run(two, out=things.out)
    assert things.rows() == things.CHECKED + things.IMAGES * 20
    old = [row for row in after["measures"]["robustness"]["results"] if row["nuisance"] == "affine:alpha=20"]
    assert list(map(own, old)) == list(map(own, before))
    assert after == run(two, out=things.folder / "at once")


def test_adding_an_image_set_computes_only_the_new_one(things, own):
    before = results(things.study(), things.out)
    things.rows()
    images = np.random.default_rng(1).integers(0, 256, (30, 8, 8), dtype=np.uint8)
    np.savez(things.folder / "more.npz", images=images, labels=np.arange(30) % 4)
    two = things.study(images=things.study()["images"] | {"more": f"npz:{things.folder}/more.npz"})
    after = run(two, out=things.out)
    assert things.rows() == 2 * things.CHECKED + 30 * 61
    old = [row for row in after["measures"]["robustness"]["results"] if row["image_set"] == "toy"]
    assert list(map(own, old)) == list(map(own, before))
    assert after == run(two, out=things.folder / "at once")


def test_adding_a_measure_computes_only_the_new_one(things):
    before = run(things.study(), out=things.out)
    things.rows()
    fine = {"kind": "robustness", "samples": 7, "nuisances": ["affine:alpha=20"]}
    two = things.study(measures={"fine": fine, "clean": {"kind": "clean"}})
    after = run(two, out=things.out)
    assert things.rows() == things.CHECKED + things.IMAGES * 7
    assert after["measures"]["robustness"] == before["measures"]["robustness"]
    assert after == run(two, out=things.folder / "at once")


def test_title_group_and_attributes_may_change(things):
    before = run(things.study(), out=things.out)
    things.rows()
    entry = {"spec": things.study()["classifiers"]["first"], "group": "flat", "epochs": 30}
    after = run(things.study(classifiers={"first": entry}, title="Another title"), out=things.out)
    assert things.rows() == things.CHECKED
    assert after["measures"]["robustness"]["results"] == before["measures"]["robustness"]["results"]
    assert {row["group"] for row in after["measures"]["robustness"]["interference"]} == {"flat"}  # runs of one model
    assert after["classifiers"]["first"].items() >= {"group": "flat", "attributes": {"epochs": 30}}.items()
    assert tomllib.loads((things.out / "study.toml").read_text())["title"] == "Another title"
    assert run(things.study(), out=things.out) == before


def test_an_extended_run_stays_extended(things):
    run(things.study("first"), out=things.out)
    run(things.study("first", "second"), out=things.out)
    with pytest.raises(BrittleError, match=r"classifiers\.second: .* → nothing"):
        run(things.study("first"), out=things.out)


CHANGES = {
    "option of a nuisance": ({"nuisances": ["affine:alpha=21"]}, r"affine:alpha=20.*nuisances\.affine:alpha=21"),
    "seed": ({"seed": 1}, r"seed: 0 → 1"),
    "option of a measure": ({"breaking-points": {"limit": 3}}, r"breaking-points\.limit: 2\.0 → 3\.0"),
    "image set": ({"images": {"other": "sample"}}, r"images\.other: nothing → .*images\.toy: .* → nothing"),
    "classifier behind a name": (
        {"classifiers": {"first": "bundled:plain"}},
        r"classifiers\.first: '.*' → 'bundled:plain'",
    ),
    "nuisances a measure is restricted to": (
        {"robustness": {"samples": 20, "nuisances": ["affine:alpha=20"]}},
        r"measures\.robustness\.nuisances: nothing → ",
    ),
    "nuisance removed": ({"nuisances": ["affine:alpha=20"]}, r"nuisances\.rotation:sigma=20: .* → nothing"),
    "classifier's name": ({"classifiers": {"1st": "bundled:plain"}}, r"classifiers\.first: '.*' → nothing"),
}


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)
def test_a_changed_study_is_refused_and_the_difference_shown(things, change, words):
    begun = things.study(**{"breaking-points": {"limit": 2}})
    run(begun, out=things.out)
    kept = (things.out / "study.toml").read_bytes()
    with pytest.raises(BrittleError, match=words) as refusal:
        run(begun | change, out=things.out)
    assert refusal.value.exit_status == 2
    assert "\n" not in str(refusal.value)
    assert (things.out / "study.toml").read_bytes() == kept


def test_a_removed_measure_is_refused_and_the_difference_shown(things):
    run(things.study(clean={}), out=things.out)
    with pytest.raises(BrittleError, match=r"measures\.clean: .* → nothing"):
        run(things.study(), out=things.out)


def test_another_choice_of_images_is_refused(things):
    entry = {"spec": f"npz:{things.folder}/images.npz", "ids": [0, 1, 2, 3]}
    run(things.study(images={"toy": entry}), out=things.out)
    with pytest.raises(BrittleError, match=r"images\.toy\.ids: \[0, 1, 2, 3\] → \[0, 1, 2, 4\]"):
        run(things.study(images={"toy": entry | {"ids": [0, 1, 2, 4]}}), out=things.out)


def test_what_is_written_another_way_is_no_change(things):
    run(things.study(nuisances=["affine:alpha=20"]), out=things.out)
    same = things.study(nuisances={"affine:alpha=20": "affine:alpha=20"}, robustness={"samples": 20, "worst_of": 10})
    assert results(same | {"images": {"toy": {"spec": f"npz:{things.folder}/images.npz"}}}, things.out)


def test_other_pixels_behind_the_same_spec_are_refused(things):
    run(things.study(), out=things.out)
    with np.load(things.folder / "images.npz") as archive:
        images, labels = archive["images"], archive["labels"]
    images[-1, 3:6, 3:6] ^= 0xFF
    things.write_images(images=images, labels=labels)
    with pytest.raises(BrittleError, match="the image set 'toy' is no longer what it was"):
        run(things.study(), out=things.out)


def test_other_labels_behind_the_same_spec_are_refused(things):
    run(things.study(), out=things.out)
    with np.load(things.folder / "images.npz") as archive:
        images, labels = archive["images"], archive["labels"]
    labels[7] = (labels[7] + 1) % 4
    things.write_images(images=images, labels=labels)
    with pytest.raises(BrittleError, match="the image set 'toy' is no longer what it was"):
        run(things.study(), out=things.out)


def test_more_images_behind_the_same_spec_are_refused(things):
    run(things.study(), out=things.out)
    things.write_images(count=61)
    with pytest.raises(BrittleError, match="the image set 'toy' is no longer what it was"):
        run(things.study(), out=things.out)


@pytest.mark.parametrize("sure", [False, True], ids=["unsure", "sure of every image"])
def test_other_weights_in_a_file_that_no_spec_names_are_refused(things, sure):
    """Two trainings of a classifier that is sure of every image agree in p(c | x) to many digits: not in log p."""
    module = things.folder / "things.py"
    text = module.read_text()
    if sure:
        text = text.replace(
            "images.flatten(1) @ weights", "torch.tensor([9.0, 0, 0, 0]) + images.flatten(1) @ weights / 50"
        )
        module.write_text(text)
    run(things.study(), out=things.out)
    (things.folder / "scale").write_text("-1")
    with pytest.raises(BrittleError, match="classifier 'first' no longer answers as it did"):
        run(things.study(), out=things.out)


def test_weights_that_drift_a_little_at_every_resumption_are_refused_in_the_end(things):
    run(things.study(), out=things.out)

    def drift():
        for step in range(1, 20):
            (things.folder / "scale").write_text(str(1 + 0.003 * step))
            run(things.study(), out=things.out)

    with pytest.raises(BrittleError, match="no longer answers"):
        drift()


@pytest.mark.parametrize(("scale", "elsewhere"), [("1.0001", False), ("1.03", True)])
def test_answers_are_compared_as_closely_as_the_machine_promises(things, monkeypatch, scale, elsewhere):
    run(things.study(), out=things.out)
    if elsewhere:
        there = run_folder.environment() | {"device": "another"}
        monkeypatch.setattr(run_folder, "environment", lambda: there)
    (things.folder / "scale").write_text(scale)
    with pytest.raises(BrittleError, match="classifier 'first' no longer answers as it did"):
        run(things.study(), out=things.out)


def test_last_digits_as_another_device_gives_them_are_no_change(things, monkeypatch):
    run(things.study(), out=things.out)
    there = run_folder.environment() | {"device": "another"}
    monkeypatch.setattr(run_folder, "environment", lambda: there)
    (things.folder / "scale").write_text("1.0001")
    assert results(things.study(), things.out)


NETWORK = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(64, 4))

    def forward(self, images):
        return torch.nn.functional.one_hot((images.flatten(1) @ self.weight).argmax(1), 4).float()
"""


def swapped(things, **also):
    """A study of a hard classifier, and a way to save its weights with a little noise."""
    (things.folder / "net.py").write_text(NETWORK)
    weights = torch.randn(64, 4, generator=torch.Generator().manual_seed(0))

    def save(noise):
        save_file({"weight": weights + noise * torch.randn(64, 4)}, things.folder / "net.safetensors")

    save(0)
    spec = f"torch:{things.folder}/net.py:Net,weights={things.folder}/net.safetensors"
    return things.study(classifiers={"net": spec}, nuisances=["affine:alpha=20"], **also), save


def test_a_hard_classifier_with_slightly_other_weights_is_refused(things):
    study, save = swapped(things)
    run(study, out=things.out)
    save(0.002)
    with pytest.raises(BrittleError, match="files that the classifier 'net' is made from have changed"):
        run(study, out=things.out)


def test_another_source_file_is_refused(things):
    run(things.study(), out=things.out)
    module = things.folder / "things.py"
    module.write_text(module.read_text() + "\n")
    with pytest.raises(BrittleError, match="files that the classifier 'first' is made from have changed"):
        run(things.study(), out=things.out)


def test_rows_of_other_weights_are_not_taken_from_another_run(things):
    study, save = swapped(things)
    run(study, out=things.folder / "other")
    save(0.002)
    run(study, out=things.out)
    shutil.rmtree(things.out / "units")
    shutil.copytree(things.folder / "other" / "units", things.out / "units")
    with pytest.raises(BrittleError, match="was computed from other things than this study names"):
        run(study, out=things.out)


def test_the_report_reads_rows_whose_weights_are_gone_or_others(things):
    study, save = swapped(things)
    run(study, out=things.out)
    save(0.002)
    text = write_report(things.out).read_text()
    assert "its files are no longer those of the run" in text
    assert "only the summary is shown" not in text
    (things.folder / "net.safetensors").unlink()
    assert "only the summary is shown" not in write_report(things.out).read_text()
