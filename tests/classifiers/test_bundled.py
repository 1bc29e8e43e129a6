"""The bundled network and the laziness of the package."""

import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file

from brittle.classifiers import bundled, classifier
from brittle.errors import BrittleError


def test_the_network_stays_under_a_megabyte():
    bytes_ = sum(p.numel() * p.element_size() for p in bundled.SmallNet().parameters())
    assert 0.6e6 < bytes_ < 1e6


def test_weights_labels_and_what_is_said_about_them_come_from_the_package(tmp_path, monkeypatch):
    network = bundled.SmallNet()
    (tmp_path / "data").mkdir()
    save_file(network.state_dict(), tmp_path / "data" / "plain.safetensors", {"test error": "0.081", "format": "pt"})
    monkeypatch.setattr(bundled.resources, "files", lambda package: tmp_path)
    found = classifier("bundled:plain")
    images = torch.rand(3, 1, 28, 28)
    assert torch.allclose(found.log_probs(images), network(images).log_softmax(1), atol=1e-6)
    assert found.labels[0] == "T-shirt/top"
    assert len(found.labels) == 10
    assert found.about == "test error: 0.081"


@pytest.mark.parametrize("name", bundled.NAMES)
def test_what_is_bundled_loads_and_says_something_about_itself(name):
    found = classifier(f"bundled:{name}")
    assert found.log_probs(torch.rand(3, 1, 28, 28)).shape == (3, 10)
    assert found.about


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(BrittleError, match="Did you mean 'augmented'"):
        classifier("bundled:augmentd")


def test_the_package_itself_imports_neither_torch_nor_onnxruntime_nor_sklearn():
    code = (
        "import sys, brittle.classifiers; print([m for m in ('torch', 'onnxruntime', 'sklearn') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
