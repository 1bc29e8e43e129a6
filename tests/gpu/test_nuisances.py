"""Every nuisance on a GPU: the same θ as on a CPU, and the same pictures but for rounding."""

from __future__ import annotations

import pytest
import torch

from brittle.measures.draws import draw_theta
from brittle.nuisances import nuisances
from brittle.random import stream_root
from brittle.types import Batch

SHAPES = [(1, 28, 28), (3, 64, 48)]
COLOURS = {"hue", "saturation", "white-balance"}  # which are nothing to a grey image
NAMES = [name for name in nuisances.names() if name != "function"]
CASES = [(name, shape) for name in NAMES for shape in SHAPES if shape[0] > 1 or name not in COLOURS]
SAME_THETA = 1e-6
# A pixel on the edge of a mask, or one that quantisation takes to a neighbour, may differ by all there is.
SAME_PIXEL, STRAY = 2e-3, 0.002


def _batch(shape: tuple[int, int, int]) -> Batch:
    coarse = torch.rand(6, shape[0], 5, 5, generator=torch.Generator().manual_seed(1))
    images = torch.nn.functional.interpolate(0.1 + 0.8 * coarse, shape[1:], mode="bilinear", align_corners=True)
    return Batch(images, torch.zeros(6, dtype=torch.int64), torch.arange(6) * 7 + 3, {"saliency": images[:, 0]})


def _moved(batch: Batch, device: torch.device) -> Batch:
    extras = {name: values.to(device) for name, values in batch.extras.items()}
    return Batch(batch.images.to(device), batch.labels.to(device), batch.ids.to(device), extras)


@pytest.mark.parametrize(
    ("name", "shape"), CASES, ids=lambda value: "x".join(map(str, value)) if isinstance(value, tuple) else value
)
def test_theta_and_pictures_are_those_of_a_cpu(name: str, shape: tuple[int, int, int], gpu: torch.device) -> None:
    nuisance, here = nuisances.build(name), _batch(shape)
    there, draws = _moved(here, gpu), torch.arange(6)
    theta = draw_theta(nuisance, here, draws, stream_root(0, name))
    on_gpu = draw_theta(nuisance, there, draws.to(gpu), stream_root(0, name, gpu))
    assert on_gpu.device.type == gpu.type
    torch.testing.assert_close(on_gpu.cpu(), theta, atol=SAME_THETA, rtol=SAME_THETA)
    for severity in (1.0, 0.5):
        expected = nuisance.apply(here, nuisance.at(theta, severity, here))
        found = nuisance.apply(there, nuisance.at(theta.to(gpu), severity, there)).cpu()
        apart = (found - expected).abs() > SAME_PIXEL
        assert float(apart.float().mean()) <= STRAY
