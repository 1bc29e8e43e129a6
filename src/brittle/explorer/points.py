"""θ that measures have kept, with what was said there: weak points, and draws of the prior that fail.

No measure is known by name: whatever has rows with an image, outcomes, and θ or the number of a draw, has points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.engine.view import MeasureView
from brittle.errors import BrittleError
from brittle.explorer.queries import PointsQuery
from brittle.explorer.session import Session, finite
from brittle.explorer.spaces import MOST_SLIDERS, read, relative_log_prior
from brittle.measures.base import ROWS, Cell, draw_column, together
from brittle.measures.plan import Span
from brittle.report.page.pictures import data_uri
from brittle.types import UNLABELLED

NEEDED = {"image", "log_p_label", "predicted", "log_p_predicted", "rank"}
ALONG = {"severity", "scale"}  # columns of rows that a θ alone does not place
MOST_AT_ONCE = 60  # points with pictures
MOST_OF_AN_IMAGE = 400
MOST_FLOWS = 200
THUMBNAIL = 96  # pixels
SORTS = ("image", "p_label", "p_predicted", "log_prior")


class PointCell(NamedTuple):
    """Where points are."""

    measure: str
    cell: Cell
    sampled: bool  # whether θ itself is kept; otherwise the number of a draw
    images: Sequence[int]  # ids

    def described(self) -> dict[str, Any]:
        return {
            "set": self.cell.images,
            "nuisance": self.cell.nuisance,
            "classifier": self.cell.classifier,
            "measure": self.measure,
            "images": list(self.images) if self.sampled else None,
        }


@dataclass(frozen=True)
class CellPoints:
    """The points of a cell, as columns of the same length."""

    session: Session
    at: PointCell
    image: NDArray[np.int64]  # ids
    label: NDArray[np.int64]  # as the classifier counts, −1 where there is none
    predicted: NDArray[np.int64]
    p_label: NDArray[np.float64]
    p_predicted: NDArray[np.float64]
    theta: NDArray[np.float32] | None  # (n, d)
    draw: NDArray[np.int64] | None

    @cached_property
    def log_prior(self) -> NDArray[np.float64]:
        """log p(θ | x) minus its value at the identity; NaN where there is none."""
        found = np.full(len(self.image), np.nan)
        for image in np.unique(self.image).tolist():
            here = np.flatnonzero(self.image == image)
            relative = self._relative(image, here)
            if relative is not None:
                found[here] = relative.double().numpy()
        return found

    def _relative(self, image: int, rows: NDArray[np.int64]) -> Tensor | None:
        found = self.session.at(self.at.cell.images, image, self.at.cell.nuisance, self.at.cell.classifier, None)
        batch = found.replay.batch([found.place])
        return relative_log_prior(found.replay.nuisance, batch, self.theta_of(image, rows))

    def theta_of(self, image: int, rows: NDArray[np.int64]) -> Tensor:
        """θ (n, d) of rows of one image, drawn again where only its number is kept."""
        if self.theta is not None:
            return torch.from_numpy(self.theta[rows])
        assert self.draw is not None
        found = self.session.at(self.at.cell.images, image, self.at.cell.nuisance, self.at.cell.classifier, None)
        batch = found.replay.batch([found.place])
        return found.replay.drawn(batch, torch.from_numpy(self.draw[rows]))[0]

    def told(self, rows: NDArray[np.int64], pictures: bool) -> list[dict[str, Any]]:
        """Points as the page has them, with small pictures or without."""
        made: dict[int, dict[str, Any]] = {}
        for image in dict.fromkeys(self.image[rows].tolist()):
            here = rows[self.image[rows] == image]
            made |= zip(here.tolist(), self._of_image(image, here, pictures), strict=True)
        return [made[row] for row in rows.tolist()]

    def _of_image(self, image: int, rows: NDArray[np.int64], pictures: bool) -> list[dict[str, Any]]:
        cell = self.at.cell
        found = self.session.at(cell.images, image, cell.nuisance, cell.classifier, None)
        theta = self.theta_of(image, rows)
        shape = found.replay.images.shape
        few = theta.shape[1] <= MOST_SLIDERS
        relative = self._relative(image, rows)
        seen = found.replay.at(found.place, theta) if pictures else None
        return [
            {
                "set": cell.images,
                "image": image,
                "nuisance": cell.nuisance,
                "classifier": cell.classifier,
                "theta": [float(each) for each in theta[place]] if few else None,
                "draw": None if self.draw is None else int(self.draw[row]),
                "readings": read(found.replay.nuisance, theta[place], shape) if few else None,
                "label": int(self.label[row]),
                "predicted": int(self.predicted[row]),
                "p_label": finite(self.p_label[row]),
                "p_predicted": finite(self.p_predicted[row]),
                "log_prior": None if relative is None else finite(float(relative[place])),
                "uri": None if seen is None else data_uri(seen[place], THUMBNAIL),
            }
            for place, row in enumerate(rows.tolist())
        ]


def point_cells(session: Session) -> list[PointCell]:
    """Everywhere that points are kept; those with θ itself first."""
    known: list[PointCell] | None = session.__dict__.get("_point_cells")
    if known is None:
        found = [each for name in session.run.job.assignments for each in _cells_of(session, name)]
        known = session.__dict__["_point_cells"] = sorted(found, key=lambda each: not each.sampled)
    return known


def weak_points(session: Session, query: PointsQuery) -> dict[str, Any]:
    """All points of one image, where θ itself is kept."""
    cell = _wanted(session, query)
    if cell is None:
        return {"points": [], "status": ""}
    points = _points(session, cell)
    rows = np.flatnonzero(points.image == query.image)[:MOST_OF_AN_IMAGE]
    return {"points": points.told(rows, False), "status": _status(session, cell, query.image)}


def gallery(session: Session, query: PointsQuery) -> dict[str, Any]:
    """Points with pictures: those that the query means, in its order."""
    cell = _wanted(session, query)
    if cell is None:
        return {"total": 0, "items": [], "labels": [], "flows": []}
    points = _points(session, cell)
    flows = Counter(zip(points.label.tolist(), points.predicted.tolist(), strict=True))
    labels = Counter(points.label.tolist())
    kept = np.ones(len(points.image), bool)
    for column, wanted in (
        (points.label, query.label),
        (points.predicted, query.predicted),
        (points.image, query.image),
    ):
        if wanted is not None:
            kept &= column == wanted
    if query.wrong:
        kept &= points.label != points.predicted
    rows = _sorted(points, np.flatnonzero(kept), query)
    shown = rows[query.offset : query.offset + min(query.limit, MOST_AT_ONCE)]
    return {
        "total": len(rows),
        "items": points.told(shown, True),
        "labels": sorted(labels.items()),
        "flows": [[*pair, count] for pair, count in flows.most_common(MOST_FLOWS)],
    }


def _sorted(points: CellPoints, rows: NDArray[np.int64], query: PointsQuery) -> NDArray[np.int64]:
    if query.sort not in SORTS:
        raise BrittleError(f"points can't be sorted by {query.sort!r}", f"Choose among {', '.join(SORTS)}.")
    if query.sort == "image":
        return rows[::-1] if query.descending else rows
    values = np.asarray(getattr(points, query.sort)[rows], np.float64)
    order = np.argsort(-values if query.descending else values, kind="stable")  # NaN comes last
    return np.asarray(rows[order])


def _wanted(session: Session, query: PointsQuery) -> PointCell | None:
    """The cell that a query means; where it names no measure, the first, which has θ itself if any has."""
    for each in point_cells(session):
        named = (each.cell.images, each.cell.nuisance, each.cell.classifier)
        if named == (query.set, query.nuisance, query.classifier) and query.measure in ("", each.measure):
            return each
    return None


def _cells_of(session: Session, measure: str) -> list[PointCell]:
    found = []
    view = session.run.view(measure)
    for cell in view.cells():
        if (cell.images, cell.nuisance) not in session.spaces or not cell.classifier:
            continue
        first = next(_parts(view, cell), None)
        if first is None or not set(first.column_names) >= NEEDED or ALONG & set(first.column_names):
            continue
        sampled = "theta" in first.column_names
        if sampled or draw_column(first.schema) is not None:
            parts = _parts(view, cell) if sampled else ()
            images = sorted({image for part in parts for image in part["image"].unique().to_pylist()})
            found.append(PointCell(measure, cell, sampled, images))
    return found


def _parts(view: MeasureView, cell: Cell, table: str = ROWS) -> Iterator[pa.Table]:
    """What there is of a cell, also while the run goes on."""
    end = view.end(cell)
    return (rows for _, rows in view.store.read(cell, None if end is None else Span(0, end), table))


def _points(session: Session, at: PointCell) -> CellPoints:
    kept: dict[PointCell, CellPoints] = session.__dict__.setdefault("_points", {})
    key = at._replace(images=())
    if key not in kept:
        kept[key] = _read(session, at)
    return kept[key]


def _read(session: Session, at: PointCell) -> CellPoints:
    """Of draws of the prior those that fail; of sampled θ all that were found."""
    table = together(list(_parts(session.run.view(at.measure), at.cell)))
    kept = table["found"].to_numpy() if "found" in table.column_names else table["rank"].to_numpy() > 0
    table = table.filter(pa.array(kept))
    image = table["image"].to_numpy().astype(np.int64)
    job = session.run.job
    subject = job.subject(at.cell.images)
    references = job.references(at.cell.classifier, at.cell.images)
    labels = references[subject.places(image)] if len(image) else np.empty(0, np.int64)
    theta = draw = None
    if at.sampled:
        flat = table["theta"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        theta = np.array(flat, np.float32).reshape(len(table), -1) if len(table) else np.empty((0, 1), np.float32)
    else:
        draw = table[str(draw_column(table.schema))].to_numpy().astype(np.int64)
    return CellPoints(
        session,
        at,
        image,
        np.where(labels >= 0, labels, UNLABELLED).astype(np.int64),
        table["predicted"].to_numpy().astype(np.int64),
        np.exp(table["log_p_label"].to_numpy().astype(np.float64)),
        np.exp(table["log_p_predicted"].to_numpy().astype(np.float64)),
        theta,
        draw,
    )


def _status(session: Session, at: PointCell, image: int | None) -> str:
    """Why the draws of an image can't be trusted, where the measure says so."""
    view = session.run.view(at.measure)
    if "images" not in view.store.tables(at.cell):
        return ""
    for part in _parts(view, at.cell, "images"):
        if "status" in part.column_names:
            for row in part.select(["image", "status"]).to_pylist():
                if row["image"] == image:
                    return "" if row["status"] == "trusted" else str(row["status"])
    return ""
