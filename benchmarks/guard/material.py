"""What the cases on a CPU share: images, a network that has learnt something, and the same as an ONNX file."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from benchmarks.guard.networks import cnn
from benchmarks.guard.turns import timed
from torch import Tensor, nn

import brittle

NUISANCE = "affine:alpha=50"
IMAGES, DRAWS = 300, 10
BATCHES = (64, 128, 256, 512, 1024, 2048)


@dataclass
class Material:
    """What rounds have in common lies in `folder`; `settings` is what the first round finds out for the others."""

    folder: Path
    threads: int
    settings: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def sample(self) -> brittle.ImageSet:
        return brittle.image_set("sample")

    @cached_property
    def chosen(self) -> Any:
        """The images that `count=IMAGES` chooses with seed 0, in that order."""
        return self.sample.choose(IMAGES, 0).batch(range(IMAGES))

    @cached_property
    def network(self) -> nn.Module:
        """Trained for a few seconds on the bundled sample: enough for predictions that differ from image to image."""
        network, kept = cnn(), self.folder / "cnn.pt"
        if kept.exists():
            network.load_state_dict(torch.load(kept, weights_only=True))
        else:
            train(network, self.sample)
            torch.save(network.state_dict(), kept)
        return network.eval()

    @cached_property
    def onnx(self) -> Path:
        path = self.folder / "cnn.onnx"
        if not path.exists():
            free = {"x": {0: torch.export.Dim("batch")}}
            torch.onnx.export(NamedInput(self.network), (torch.zeros(2, 1, 28, 28),), path, dynamic_shapes=free)
        return path

    @cached_property
    def session(self) -> Any:
        """The ONNX file as Brittle opens it: on the CPU, with as many threads as torch has."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = self.threads, 3
        return onnxruntime.InferenceSession(str(self.onnx), options, providers=["CPUExecutionProvider"])

    def by_onnx(self, images: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Images (B, 1, 28, 28) float32 → logits (B, 10), by onnxruntime alone."""
        (logits,) = self.session.run(None, {self.session.get_inputs()[0].name: images})
        return logits

    def best_batch(self, name: str, classify: Any, images: Tensor) -> int:
        """Of BATCHES the one that `classify` is fastest with; found out once, since rounds must not differ in it."""
        if name not in self.settings:

            def rate(size: int) -> float:
                batch, calls = images[:size], max(1, max(BATCHES) // size)
                return min(timed(lambda: [classify(batch) for _ in range(calls)])[0].processor for _ in range(3))

            for size in BATCHES:
                classify(images[:size])
            self.settings[name] = min(BATCHES, key=rate)
        return int(self.settings[name])


class NamedInput(nn.Module):
    """The same network with an input that has a name."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)


def train(network: nn.Module, sample: brittle.ImageSet, steps: int = 60) -> None:
    torch.manual_seed(0)
    batch = sample.batch(range(len(sample)))
    optimiser = torch.optim.Adam(network.parameters(), 2e-3)
    for step in range(steps):
        chosen = (torch.arange(64) * 15 + step) % len(batch.labels)
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(batch.images[chosen]), batch.labels[chosen]).backward()
        optimiser.step()


def column(rows: pa.Table, name: str) -> np.ndarray[Any, Any]:
    return rows[name].to_numpy()
