"""A network that is fast enough for everything around it to show."""

from __future__ import annotations

from torch import nn


class LeNet5(nn.Sequential):
    """LeCun et al. 1998 with ReLU and max pooling, for 1×28×28."""

    def __init__(self) -> None:
        super().__init__(
            *(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
            *(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
        )
