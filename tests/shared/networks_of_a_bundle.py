"""Classifiers for bundles: a network in torchvision's manner, one as an ONNX file, and one that no browser has."""

from pathlib import Path

import numpy as np
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, 2, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, 2, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        found = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(found + self.downsample(x))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.layer1, self.layer2 = Block(16, 24), Block(24, 32)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(32, 10)

    def forward(self, x):
        return self.fc(torch.flatten(self.avgpool(self.layer2(self.layer1(self.stem(x)))), 1))


def residual():
    """The same every time, with batch norms that do something, and sure of what it says."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = Residual()
        for part in network.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.1)
                part.running_var.uniform_(0.5, 1.5)
        network.fc.weight.data *= 10
    return network


def by_hand(images):
    """Scores by numpy."""
    return np.stack([9 * images[:, 0, place::10].mean((1, 2)) for place in range(10)], 1)


def write_onnx(path: Path) -> None:
    """A small network with a free batch dimension."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Conv2d(1, 8, 5, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 144, 10)).eval()
    torch.onnx.export(
        network,
        (torch.rand(2, 1, 28, 28),),
        path,
        input_names=["x"],
        output_names=["scores"],
        dynamic_shapes=({0: torch.export.Dim("n")},),
        opset_version=18,
        external_data=False,
        verbose=False,
    )
