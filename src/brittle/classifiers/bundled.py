"""The two small FashionMNIST classifiers that come with Brittle: `bundled:plain` and `bundled:augmented`."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from importlib import resources
from pathlib import Path

from torch import Tensor, nn

from brittle.classifiers import register
from brittle.classifiers.checkpoint import load_weights
from brittle.classifiers.class_mapping import ClassMappingOptions
from brittle.classifiers.torch_module import TorchClassifier
from brittle.errors import Failure
from brittle.registry import option

NAMES = ("plain", "augmented")
FASHION_LABELS = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


class SmallNet(nn.Module):
    """A network the size of LeNet: images (B, 1, 28, 28) in [0, 1] → logits (B, 10); 0.66 MB of weights."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(32 * 7 * 7, 96),
            nn.ReLU(),
            nn.Linear(96, 10),
        )

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.layers(images)
        return logits


@register("bundled")
@dataclasses.dataclass(frozen=True, kw_only=True)
class BundledLoader(ClassMappingOptions):
    """A small FashionMNIST classifier that comes with Brittle: images 1×28×28 in [0, 1], no preprocessing."""

    name: str = option(dataclasses.MISSING, f"which one: {' or '.join(NAMES)}", positional=True, choices=NAMES)
    weights: str | None = option(None, "other weights for the same network, such as those `brittle harden` writes")

    def load(self, device: str = "cpu") -> TorchClassifier:
        file = resources.files("brittle.classifiers") / "data" / f"{self.name}.safetensors"
        if not file.is_file():
            raise Failure(f"the weights of bundled:{self.name} are missing", "Reinstall Brittle.")
        network = SmallNet()
        with resources.as_file(file) if self.weights is None else nullcontext(Path(self.weights)) as path:
            load_weights(network, path)
        name = f"bundled:{self.name}" if self.weights is None else f"bundled:{self.name},weights={self.weights}"
        return TorchClassifier(
            network, device=device, name=name, labels=FASHION_LABELS, output="logits", mapping=self.mapping()
        )
