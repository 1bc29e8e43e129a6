"""The bundled network and the laziness of the package."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from brittle.classifiers import bundled, classifier
from brittle.errors import BrittleError
from brittle.training import trainable


def test_the_network_stays_under_a_megabyte():
    bytes_ = sum(p.numel() * p.element_size() for p in bundled.SmallNet().parameters())
    assert 0.6e6 < bytes_ < 1e6


def test_weights_and_labels_come_from_the_package(tmp_path, monkeypatch):
    network = bundled.SmallNet()
    (tmp_path / "data").mkdir()
    save_file(network.state_dict(), tmp_path / "data" / "plain.safetensors")
    monkeypatch.setattr(bundled.resources, "files", lambda package: tmp_path)
    found = classifier("bundled:plain")
    images = torch.rand(3, 1, 28, 28)
    assert torch.allclose(found.log_probs(images), network(images).log_softmax(1), atol=1e-6)
    assert found.labels[0] == "T-shirt/top"
    assert len(found.labels) == 10


@pytest.mark.parametrize("name", bundled.NAMES)
def test_what_is_bundled_is_what_its_network_was_trained_to(name):
    """The weights are as `brittle train` left them, with how in the file."""
    found = classifier(f"bundled:{name}")
    assert found.log_probs(torch.rand(3, 1, 28, 28)).shape == (3, 10)
    with safe_open(Path(bundled.__file__).parent / "data" / f"{name}.safetensors", "pt") as file:
        known = json.loads(file.metadata()["training"])
    assert known["about"]["network"] == f"small-{name}"
    assert known["about"]["recipe"] == asdict(trainable.build(f"small-{name}").recipe)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(BrittleError, match="Did you mean 'augmented'"):
        classifier("bundled:augmentd")


def test_the_package_itself_imports_neither_torch_nor_onnxruntime_nor_sklearn():
    code = (
        "import sys, brittle.classifiers; print([m for m in ('torch', 'onnxruntime', 'sklearn') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
