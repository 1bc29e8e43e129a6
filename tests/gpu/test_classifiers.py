"""Every kind of classifier on a GPU answers as on a CPU, in the module's own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from on_gpu import DEVICE
from torch import nn

import brittle

pytestmark = pytest.mark.warned("")


def _module() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 26 * 26, 10)
    ).eval()


def _function(images: torch.Tensor) -> torch.Tensor:
    return images.flatten(1)[:, :10]


def _onnx(folder: Path) -> str:
    free = ({0: torch.export.Dim("batch")},)
    torch.onnx.export(_module(), (torch.rand(2, 1, 28, 28),), folder / "net.onnx", dynamic_shapes=free)
    return f"onnx:{folder}/net.onnx"


def _estimator() -> Any:
    linear_model = pytest.importorskip("sklearn.linear_model")
    chosen = brittle.image_set("sample").choose(200, 0)
    batch = chosen.batch(range(200))
    return linear_model.LogisticRegression(max_iter=50).fit(batch.images.flatten(1).numpy(), batch.labels.numpy())


def _in_channels_last(_: Path) -> nn.Module:
    return _module().to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


KINDS = {
    "bundled": lambda _: "bundled:plain",
    "module": lambda _: _module(),
    "channels last": _in_channels_last,
    "function": lambda _: _function,
    "onnx": _onnx,
    "sklearn": lambda _: _estimator(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_those_of_a_cpu(kind: str, gpu: torch.device, tmp_path: Path) -> None:
    classifier = KINDS[kind](tmp_path)
    asked = {"count": 40, "samples": 4, "progress": False}
    here, there = (
        brittle.measure(classifier, "sample", "affine:alpha=50", device=d, **asked) for d in ("cpu", gpu.type)
    )
    assert there["rho"] == pytest.approx(here["rho"], abs=1e-4)
    assert there["accuracy_nuisance"] == pytest.approx(here["accuracy_nuisance"], abs=0.02)


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_other_numbers_change_rho_by_as_little_as_they_say(precision: str, gpu: torch.device) -> None:
    asked = {"count": 60, "samples": 5, "progress": False, "device": gpu.type}
    plain = brittle.measure("bundled:plain", "sample", "affine:alpha=50", **asked)
    found = brittle.measure("bundled:plain", "sample", "affine:alpha=50", precision=precision, **asked)
    assert found["rho"] == pytest.approx(plain["rho"], abs=0.02)


@pytest.mark.skipif(DEVICE == "cpu", reason="compiling for a CPU takes minutes")
def test_compiled_graphs_give_the_plain_rows(gpu: torch.device) -> None:
    asked = {"count": 60, "samples": 5, "progress": False, "device": gpu.type}
    plain = brittle.measure("bundled:plain", "sample", "affine:alpha=50", compile="no", **asked)
    found = brittle.measure("bundled:plain", "sample", "affine:alpha=50", compile="yes", **asked)
    assert found["rho"] == pytest.approx(plain["rho"], abs=1e-5)
