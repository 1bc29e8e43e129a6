import numpy as np
import onnxruntime
import pytest
import torch

from brittle.explorer.graphs.change import change_graph
from brittle.nuisances import nuisance
from brittle.types import Batch


@pytest.mark.parametrize(
    "name", ["jpeg", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gaussian-blur", "zoom-blur"))]
)
def test_the_graph_of_a_nuisance_with_a_way_of_its_own_on_a_cpu_changes_images_alike(name):
    images = (torch.rand(1, 3, 32, 40, generator=torch.Generator().manual_seed(0)) * 255).round() / 255
    batch = Batch(images, torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    graph = change_graph(nuisance(name), batch, seed=0, stream="s")
    theta = torch.tensor([[3.0]])
    given = {"image": images.numpy(), "theta": theta.numpy(), "severity": np.ones(1, np.float32)}
    session = onnxruntime.InferenceSession(graph.model.SerializeToString())
    (changed,) = session.run(["changed"], given)
    expected = nuisance(name).apply(batch, theta).numpy()
    # One rounding that falls the other way is a grey value.
    np.testing.assert_allclose(changed, expected, atol=1 / 255 if name == "jpeg" else 1e-6)
    assert np.abs(changed - expected).mean() < 1e-6
