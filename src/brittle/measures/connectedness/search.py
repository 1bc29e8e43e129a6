"""The search for the bubbles of a class: rounds of pairs, straight segments first, then curved paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.measures.base import ROWS, Tables
from brittle.measures.connectedness.bubbles import Bubbles
from brittle.measures.connectedness.ida import by_ida
from brittle.measures.connectedness.margin import log_odds, margin
from brittle.measures.connectedness.options import ConnectednessOptions
from brittle.measures.connectedness.projected import FRAMES, CurvedPaths, PathEnds, projected
from brittle.measures.connectedness.tables import EDGE_COLUMNS, MEMBER_COLUMNS, MEMBERS, PICTURE_COLUMNS, PICTURES
from brittle.measures.connectedness.walk import ClassRegion, check_segments, stretch
from brittle.types import Differentiable

STRAIGHT, CURVED, UNKNOWN, SKIPPED = "straight", "curved", "unknown", "skipped"
LEFT, FAILED = "left the class", "solver failed"
FILM_NUMBERS = 1 << 21  # numbers of a class's pictures, at most


class ClassImages(NamedTuple):
    """The images of a class, and what the classifier says of them."""

    images: Tensor  # (n, C, H, W)
    ids: NDArray[np.int64]  # (n,)
    label: int
    logits: Tensor  # (n, K)


@dataclass
class Edge:
    """A pair of images of the class, and what is known of the ways between them."""

    first: int  # among those that the classifier gives the class
    second: int
    round: int
    how: str = SKIPPED
    why: str = ""
    straight_least: float = np.nan
    least: float = np.nan
    outside: float = 0.0
    steps: int = 0
    calls: int = 0


class BubbleSearch:
    """Connects the images of a class; everything is computed when it is made."""

    def __init__(
        self,
        options: ConnectednessOptions,
        ida: bool,
        classifier: Differentiable,
        seen: ClassImages,
        unit: int,
        batch_size: int,
        tick: Callable[[int], None],
    ) -> None:
        self.options, self.ida, self.classifier, self.seen, self.unit = options, ida, classifier, seen, unit
        self.batch_size, self.tick = batch_size, tick
        labels = torch.full((len(seen.logits),), seen.label, device=seen.logits.device)
        self.odds, self.margin = log_odds(seen.logits, labels), margin(seen.logits, labels)
        self.right = (self.margin > 0).nonzero()[:, 0]  # (r,) places among all
        self.bubbles = Bubbles(_distances(seen.images[self.right].flatten(1)), options.tries)
        self.edges: list[Edge] = []
        self._rounds()
        self.films = list(self._films())

    def _rounds(self) -> None:
        """The fair sample of pairs first, then what components propose."""
        number, pairs = 0, self.bubbles.sample(self.right.cpu().numpy())
        while pairs or number == 0:  # the sample may hold no pair of images that are both right
            edges = [Edge(*pair, number) for pair in pairs]
            self.edges += edges
            self._straight(edges)
            self._curved([edge for edge in edges if self.bubbles.apart(edge.first, edge.second)])
            number, pairs = number + 1, self.bubbles.proposals()

    def _straight(self, edges: Sequence[Edge]) -> None:
        if not edges:
            return
        ends = self._ends(edges)
        found = check_segments(self._inside(edges), ends.start, ends.end, ends.margin, self.options.points)
        for edge, least, calls in zip(edges, found.least.tolist(), found.calls.tolist(), strict=True):
            edge.straight_least, edge.calls = least, calls
            if least > 0:
                edge.how, edge.least = STRAIGHT, least
                self.bubbles.join(edge.first, edge.second)

    def _curved(self, edges: Sequence[Edge]) -> None:
        """Curved paths for pairs that are still apart; the others have been joined through third images."""
        if not edges:
            return
        found = self._solved(edges)
        checked = found.checked
        columns = (checked.least, checked.outside, checked.calls, found.steps, found.arrived)
        values = zip(*(each.tolist() for each in columns), strict=True)
        for edge, (least, outside, calls, steps, arrived) in zip(edges, values, strict=True):
            edge.least, edge.outside, edge.steps = least, outside, steps
            edge.calls += calls
            edge.why = LEFT if least <= 0 else "" if arrived else FAILED
            edge.how = UNKNOWN if edge.why else CURVED
            (self.bubbles.failed if edge.why else self.bubbles.join)(edge.first, edge.second)

    def _solved(self, edges: Sequence[Edge], frames: bool = False) -> CurvedPaths:
        asked, inside, ends = self.options, self._inside(edges), self._ends(edges)
        if self.ida:
            return by_ida(inside, ends, asked.until, asked.steps, asked.points, asked.kappa, frames)
        return projected(inside, ends, asked.until, asked.steps, asked.points, frames)

    def _films(self) -> Iterator[tuple[Edge, Tensor, Tensor]]:
        """Edges whose paths are shown, images (F, C, H, W) on the way, and their margins (F,): curved paths, or where
        there are none, a straight one."""
        most = min(self.options.pictures, FILM_NUMBERS // (FRAMES * self.seen.images[0].numel()))
        curved = [edge for edge in self.edges if edge.how == CURVED]
        edges = (curved or [edge for edge in self.edges if edge.how == STRAIGHT][:1])[:most]
        if edges:
            ends = self._ends(edges)
            frames = self._solved(edges, frames=True).frames if curved else along(ends.start, ends.end)
            margins = self._inside(edges).margins(frames, torch.arange(len(edges), device=frames.device))
            yield from zip(edges, frames, margins, strict=True)

    def _ends(self, edges: Sequence[Edge]) -> PathEnds:
        first, second = (
            self.right[torch.tensor(places, device=self.right.device)]
            for places in ([edge.first for edge in edges], [edge.second for edge in edges])
        )
        images = self.seen.images
        return PathEnds(images[first], images[second], self.odds[first], self.odds[second], self.margin[first])

    def _inside(self, edges: Sequence[Edge]) -> ClassRegion:
        labels = torch.full((len(edges),), self.seen.label, device=self.right.device)
        return ClassRegion(self.classifier, labels, self.batch_size, self.tick)

    def tables(self) -> Tables:
        """Rows, a row per image, and the images on some connecting paths."""
        films = [row for film in self.films for row in self._frames(*film)]
        return {
            ROWS: pa.Table.from_pylist([self._edge(edge) for edge in self.edges], EDGE_COLUMNS),
            MEMBERS: self._members(),
            PICTURES: pa.Table.from_pylist(films, PICTURE_COLUMNS),
        }

    def _members(self) -> pa.Table:
        count, right = len(self.seen.ids), self.right.cpu().numpy()
        component = np.full(count, -1)
        component[right] = self.seen.ids[right[self.bubbles.root]]
        label, predicted = np.full(count, self.seen.label), self.seen.logits.argmax(1).cpu().numpy()
        columns = np.full(count, self.unit), self.seen.ids, label, predicted, self.margin.cpu().numpy(), component
        return pa.table(dict(zip(MEMBER_COLUMNS.names, columns, strict=True))).cast(MEMBER_COLUMNS)

    def _pair(self, edge: Edge) -> dict[str, Any]:
        """What is said of a pair in every table."""
        image, other = (int(self.seen.ids[int(self.right[place])]) for place in (edge.first, edge.second))
        return {"unit": self.unit, "image": image, "other": other, "label": self.seen.label}

    def _edge(self, edge: Edge) -> dict[str, Any]:
        distance = float(self.bubbles.distances[edge.first, edge.second])
        return asdict(edge) | self._pair(edge) | {"distance": distance}

    def _frames(self, edge: Edge, frames: Tensor, margins: Tensor) -> Iterator[dict[str, Any]]:
        pixels, told = frames.flatten(1).float().cpu().numpy(), self._pair(edge) | {"how": edge.how}
        for number, found in enumerate(margins.tolist()):
            yield told | {"frame": number, "margin": found, "shape": list(frames.shape[1:]), "pixels": pixels[number]}


def along(start: Tensor, end: Tensor) -> Tensor:
    """Images (n, F, C, H, W) evenly spaced on straight segments, both ends among them."""
    return torch.cat((start[:, None], stretch(start, end, FRAMES - 1)), 1)


def _distances(flat: Tensor) -> NDArray[np.float64]:
    """Images (n, numbers) → L2 distances (n, n)."""
    exact = torch.cdist(flat, flat, compute_mode="donot_use_mm_for_euclid_dist")
    return exact.double().cpu().numpy()
