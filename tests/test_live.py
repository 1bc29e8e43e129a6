"""Live objects: networks, functions, datasets and nuisances of the program that measures them, kept like any other."""

import copy
import re
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from own_nuisance import Dim
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

import brittle
from brittle.classifiers.restore import restored_module
from brittle.classifiers.torch_module import TorchClassifier
from brittle.errors import BrittleError

PLAIN, NUISANCE = "bundled:plain", "affine:alpha=50"


@pytest.fixture
def network():
    """The bundled network as somebody's own module."""
    return copy.deepcopy(brittle.classifier(PLAIN).module).to(memory_format=torch.contiguous_format)


class Clothes(Dataset):
    """The bundled sample as somebody's own dataset, dictionary by dictionary."""

    def __init__(self, count=40, darker=0.0):
        found = brittle.image_set("sample").take(range(count))
        batch = found.batch(range(count))
        self.images, self.labels, self.classes = batch.images * (1 - darker), batch.labels.tolist(), found.classes

    def __len__(self):
        return len(self.images)

    def __getitem__(self, place):
        return {"image": self.images[place], "label": self.labels[place]}


def by_spec(tmp_path, **asked):
    """The same images and network, by spec."""
    clothes = Clothes()
    where = tmp_path / "clothes.npz"
    pixels = (clothes.images * 255).round().byte().squeeze(1).numpy()
    np.savez(where, images=pixels, labels=np.array(clothes.labels), classes=np.array(clothes.classes))
    return brittle.measure(PLAIN, f"npz:{where}", NUISANCE, samples=4, **asked)


def rows_of(folder):
    found = [pq.read_table(path) for path in sorted((folder / "units").rglob("*.parquet"))]
    return sum(table.num_rows for table in found)


def test_a_module_and_a_dataset_give_the_numbers_of_their_specs(network, tmp_path):
    named = by_spec(tmp_path)
    for images in (Clothes(), DataLoader(Clothes(), batch_size=8, shuffle=True)):
        live = brittle.measure(network, images, NUISANCE, samples=4)
        for key in ("rho", "accuracy_nuisance", "accuracy_clean", "interval"):
            assert live[key] == pytest.approx(named[key], abs=1e-6), key


def test_specs_and_live_objects_are_compared_in_one_call(network):
    found = brittle.compare({"mine": network, "theirs": PLAIN}, Clothes(), NUISANCE, samples=3)
    mine, theirs = found["results"]
    assert mine["rho"] == pytest.approx(theirs["rho"], abs=1e-6)


def strides(module):
    return {name: (each.stride(), each.data_ptr()) for name, each in module.state_dict(keep_vars=True).items()}


@pytest.mark.warned("is near chance on the untouched images")
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_network_comes_back_as_it_was(wrapped):
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(), nn.Flatten(), nn.Linear(4 * 26 * 26, 10)
    )
    given = brittle.classifier(module) if wrapped else module
    module.to(memory_format=torch.contiguous_format).train()
    module[1].eval()
    module[0].weight.requires_grad_(False)
    module(torch.rand(2, 1, 28, 28)).sum().backward()
    before, modes = copy.deepcopy(module.state_dict()), [part.training for part in module.modules()]
    layout, gradient = strides(module), module[5].weight.grad.clone()
    found = brittle.measure(given, Clothes(), NUISANCE, samples=2)
    assert [part.training for part in module.modules()] == modes
    assert strides(module) == layout
    assert [each.requires_grad for each in module.parameters()] == [False, True, True, True, True, True]
    assert torch.equal(module[5].weight.grad, gradient)
    assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = brittle.measure(given, Clothes(), NUISANCE, samples=2)
    assert again["rho"] == found["rho"], "dropout is off while it is measured, whatever its mode"


def test_parameters_come_back_from_another_device_and_type():
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    before, layout = copy.deepcopy(module.state_dict()), strides(module)
    parameters = list(module.parameters())
    with restored_module(module):
        module.double().to("meta")
        assert all(each.is_meta for each in module.parameters())
    assert strides(module) == layout
    assert all(now is then for now, then in zip(module.parameters(), parameters, strict=True))
    assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())


def test_a_network_comes_back_when_a_call_fails():
    module = nn.Sequential(nn.Flatten(), nn.Linear(7, 10)).train()
    with pytest.raises(BrittleError, match="can't take images"):
        brittle.measure(module, Clothes(), NUISANCE, samples=2)
    assert module.training


def test_a_network_is_measured_inside_its_training_loop(network):
    """Each epoch is the measurement of a copy made at that moment."""
    optimiser = torch.optim.SGD(network.parameters(), 0.05)
    clothes, found, copies = Clothes(), [], []
    for _ in range(2):
        network.train()
        loss = nn.functional.cross_entropy(network(clothes.images), torch.tensor(clothes.labels))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        found.append(brittle.measure(network, clothes, NUISANCE, samples=2)["rho"])
        copies.append(copy.deepcopy(network))
        assert network.training
    assert found == [brittle.measure(each, clothes, NUISANCE, samples=2)["rho"] for each in copies]
    assert found[0] != found[1]


def test_live_objects_are_kept_resumed_and_reported(network, tmp_path, monkeypatch):
    asked = {"samples": 3, "out": tmp_path / "run", "batch": 8}
    first = brittle.measure(network, Clothes(), NUISANCE, **asked)
    assert first["rho"] == brittle.measure(network, Clothes(), NUISANCE, samples=3, batch=8)["rho"]
    assert rows_of(tmp_path / "run") >= 40 * 3
    report = (tmp_path / "run" / "report.html").read_text()
    assert "data:image/" in report, "the gallery"
    assert "live objects, which no spec names" in report

    asked_again = []
    scores = TorchClassifier.scores
    monkeypatch.setattr(TorchClassifier, "scores", lambda self, x: asked_again.append(len(x)) or scores(self, x))
    again = brittle.measure(network, Clothes(), NUISANCE, **asked)
    assert again == first
    assert sum(asked_again) < 40 * 3, "only what is tried before work begins, and the report's pictures"


def test_other_weights_are_refused_in_one_line(network, tmp_path):
    asked = {"samples": 2, "out": tmp_path / "run"}
    brittle.measure(network, Clothes(), NUISANCE, **asked)
    with torch.no_grad():
        next(network.parameters()).view(-1)[0] += 1e-5
    with pytest.raises(BrittleError, match=r"'classifier' is not the one that the run in .* began with") as refused:
        brittle.measure(network, Clothes(), NUISANCE, **asked)
    assert "\n" not in str(refused.value)


def test_other_pixels_are_refused(network, tmp_path):
    asked = {"samples": 2, "out": tmp_path / "run"}
    brittle.measure(network, Clothes(), NUISANCE, **asked)
    with pytest.raises(BrittleError, match="image set 'Clothes' is no longer what it was"):
        brittle.measure(network, Clothes(darker=0.1), NUISANCE, **asked)
    with pytest.raises(BrittleError, match=r"the study has changed.*live:Sequential"):
        brittle.measure(nn.Sequential(nn.Flatten(), nn.Linear(784, 10)), Clothes(), NUISANCE, **asked)


@pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")
def test_functions_are_told_apart_by_their_code_and_what_they_close_over(tmp_path):
    def scaled(by):
        return lambda images: by * images.flatten(1)[:, :20:2]

    asked = {"samples": 2, "out": tmp_path / "run"}
    brittle.measure(scaled(1.0), Clothes(), NUISANCE, **asked)
    brittle.measure(scaled(1.0), Clothes(), NUISANCE, **asked)
    with pytest.raises(BrittleError, match="its weights, code or options are others"):
        brittle.measure(scaled(1.0001), Clothes(), NUISANCE, **asked)
    with pytest.raises(BrittleError, match="its weights, code or options are others"):
        brittle.measure(lambda images: 1.0 * images.flatten(1)[:, 1:21:2], Clothes(), NUISANCE, **asked)


def test_a_nuisance_of_ones_own_is_kept_and_told_apart_by_its_values(network, tmp_path):
    asked = {"samples": 2, "out": tmp_path / "run"}
    brittle.measure(network, Clothes(), Dim(), **asked)
    brittle.measure(network, Clothes(), Dim(), **asked)
    with pytest.raises(BrittleError, match="the study has changed"):
        brittle.measure(network, Clothes(), Dim(0.9), **asked)


@pytest.mark.warned("this run can't be resumed with the nuisance 'Dim'")
def test_a_nuisance_that_can_not_be_compared_is_said_and_not_resumed(network, tmp_path):
    class Reading(Dim):
        def __init__(self):
            super().__init__()
            object.__setattr__(self, "lines", (line for line in ()))

    asked = {"samples": 2, "out": tmp_path / "run"}
    brittle.measure(network, Clothes(), {"Dim": Reading()}, **asked)
    with pytest.raises(BrittleError, match="its nuisance 'Dim' can't be compared with the one it began with"):
        brittle.measure(network, Clothes(), {"Dim": Reading()}, **asked)


def test_a_study_in_python_mixes_live_objects_and_specs(network, tmp_path):
    study = {
        "classifiers": {"mine": network, "theirs": PLAIN},
        "images": {"clothes": {"spec": Clothes(), "count": 30}, "sample": {"spec": "sample", "count": 30}},
        "nuisances": {"turned": brittle.nuisance("rotation:sigma=10"), "dim": Dim()},
        "robustness": {"samples": 2},
    }
    found = brittle.run(study, out=tmp_path / "run")
    results = found["measures"]["robustness"]["results"]
    assert len(results) == 8
    by = {(row["classifier"], row["image_set"], row["nuisance"]): row["rho"] for row in results}
    for images in ("clothes", "sample"):
        for nuisance in ("turned", "dim"):
            assert by["mine", images, nuisance] == pytest.approx(by["theirs", images, nuisance], abs=1e-6)
    assert (tmp_path / "run" / "report.html").is_file()
    kept = (tmp_path / "run" / "study.toml").read_text()
    assert 'spec = "live:' in kept
    assert 'turned = "rotation:sigma=10"' in kept
    listed = brittle.run({"classifiers": [network, PLAIN], "images": Clothes(), "nuisances": NUISANCE})
    assert list(listed["classifiers"]) == ["SmallNet", PLAIN]


def test_a_kept_run_of_live_objects_can_be_reported_but_not_run_by_others(network, tmp_path, cli):
    brittle.measure(network, Clothes(), NUISANCE, samples=2, out=tmp_path / "run")
    said = cli("run", tmp_path / "run" / "study.toml", "--out", tmp_path / "other")
    assert said.status == 2
    assert "was a live Python object, which no spec names" in said.err
    report = tmp_path / "run" / "report.html"
    before = report.read_text()
    said = cli("report", tmp_path / "run")
    assert said.status == 0
    assert "is left as it is: it shows live Python objects" in said.err
    assert report.read_text() == before
    assert "data:image/" in before
    report.write_text(re.sub('live-objects-of" content="....', 'live-objects-of" content="0000', before))
    assert cli("report", tmp_path / "run").err == "", "what tells of another summary is written again"
    assert "was a live Python object" in report.read_text()
    assert "data:image/" not in report.read_text()
    assert cli("report", tmp_path / "run", "--no-load").status == 0
    assert "Nothing that the study names was loaded" in report.read_text()


def test_specs_given_to_python_are_kept_as_specs(tmp_path, cli):
    found = brittle.measure(PLAIN, "sample", NUISANCE, count=20, samples=2, out=tmp_path / "run")
    said = cli("run", tmp_path / "run" / "study.toml", "--out", tmp_path / "run", "--json")
    assert said.status == 0, said
    assert said.json["measures"]["robustness"]["results"][0]["rho"] == found["rho"]


def test_rows_of_live_objects_come_from_the_result(network, tmp_path):
    found = brittle.measure(network, Clothes(), "rotation:sigma=10", samples=2, out=tmp_path / "run")
    rows = brittle.rows(found)
    assert rows.num_rows == 40 * 2
    assert {"classifier", "nuisance", "class", "theta_angle"} <= set(rows.column_names)
    with pytest.raises(BrittleError, match=r"has live Python objects .*Give the result of the call"):
        brittle.rows(tmp_path / "run")
    in_memory = brittle.rows(brittle.measure(network, Clothes(), "rotation:sigma=10", samples=2))
    assert in_memory["theta_angle"].to_pylist() == rows["theta_angle"].to_pylist()
    with pytest.raises(BrittleError, match="no run folder that tables could go to"):
        brittle.export(brittle.measure(network, Clothes(), "rotation:sigma=10", samples=2))


def test_a_path_is_known_by_its_spec(tmp_path, monkeypatch):
    """So that a run of it can be resumed, carried out by workers, and reported without the program that began it."""
    monkeypatch.chdir(tmp_path)
    for label in ("Bag", "Coat"):
        (tmp_path / "photos" / label).mkdir(parents=True)
        Image.new("L", (28, 28), 99).save(tmp_path / "photos" / label / "one.png")
    photos = Path("photos")
    study = {"classifiers": "bundled:plain", "nuisances": "affine", "robustness": {"samples": 2}}
    brittle.measure("bundled:plain", photos, "affine", samples=2, out="one")
    for name, images in {"two": [photos], "three": {"p": photos}, "four": {"p": {"spec": photos, "count": 1}}}.items():
        brittle.run(study | {"images": images}, out=name)
    for out in ("one", "two", "three", "four"):
        kept = tomllib.loads(Path(out, "study.toml").read_text())["images"]
        assert [entry["spec"] for entry in kept.values()] == ["folder:photos"]
    Path("net.pt").touch()
    with pytest.raises(BrittleError, match=r"weights=net\.pt"):
        brittle.run(study | {"classifiers": [Path("net.pt")], "images": "sample"})
