"""Networks of the guard that are made here, so that nothing has to be fetched."""

from __future__ import annotations

from torch import nn

FILTERS = (32, 64)
SMALL = (4, 6, 8, 10, 12, 14, 16, 18)  # filters of eight networks that are as fast as what is around them


def cnn() -> nn.Sequential:
    """Conv 5×5×32 – pool – conv 5×5×64 – pool – linear, for 1×28×28: the CNN of Fawzi & Frossard 2016."""
    layers: list[nn.Module] = []
    for before, after in zip((1, *FILTERS), FILTERS, strict=False):
        layers += [nn.Conv2d(before, after, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(FILTERS[-1] * 49, 10))


def small(filters: int) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(1, filters, 5, stride=2, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(filters * 49, 10)),
    )
