"""What is shown of one classifier's weak points beyond the summary: pictures, and figures made from the draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from brittle.engine.replay import Replay
from brittle.engine.view import MeasureView
from brittle.errors import BrittleError
from brittle.measures.clean.measure import clean_columns
from brittle.report.blocks.figure import Figure
from brittle.report.blocks.pictures import Strip
from brittle.report.page.section import MeasureRun, Row
from brittle.report.renderers.resolve import place_of
from brittle.report.sections.weak_points import strips
from brittle.report.sections.weak_points.draws import (
    Columns,
    ImageDraws,
    columns,
    read_draws,
    shown_images,
    trusted_images,
    with_unit,
)
from brittle.report.sections.weak_points.figures import ChainTrace, Marginal, marginal_figure, trace_figure
from brittle.report.sections.weak_points.maps import (
    OcclusionMap,
    PosteriorMap,
    averaged,
    grid_around,
    hidden_share,
    occlusion_figure,
    posterior_figure,
    posterior_on_grid,
)
from brittle.report.sections.weak_points.strips import badge
from brittle.types import Classifier, HidesPixels

IMAGES, SMALLEST, PARAMETERS, TRACES, TRACED = 8, 8, 8, 3, 3
MAPS, MAPS_OF_MANY, MANY = 3, 1, 6  # past this many entries each has fewer maps
POOLED = 200  # images whose draws are pooled, at most
AVERAGED_OF_LARGE = 50  # images behind a mean map, where they are large
PRIOR_DRAWS, PRIOR_NUMBERS = 1024, 1 << 22
SIDE, SIDE_OF_LARGE, LARGE = 41, 21, 1 << 14  # of the posterior's map; images of more numbers get a coarser one


class EntryPictures(NamedTuple):
    """Pictures and figures; `note` says why there are none."""

    note: str = ""
    strips: Sequence[Strip] = ()
    least: Sequence[Strip] = ()
    marginals: Figure | None = None
    posterior: Figure | None = None
    occlusion: Figure | None = None
    traces: Figure | None = None


def evidence(run: MeasureRun, entry: Row, among: int) -> EntryPictures:
    """All there is of one entry of the summary, `among` so many that are shown."""
    if why_not := run.whole.why_unreadable(entry["image_set"], entry["nuisance"], [entry["classifier"]]):
        return EntryPictures(why_not)
    try:
        return _PictureMaker(run, entry, among).evidence()
    except (BrittleError, OSError) as error:
        return EntryPictures(f"The pictures can't be made again: {error}")


def pooled_images(entry: Row) -> list[Row]:
    """Those behind the marginals."""
    return trusted_images(entry["per_image"], POOLED)


@dataclass(frozen=True)
class _PictureMaker:
    run: MeasureRun
    entry: Row
    among: int

    def evidence(self) -> EntryPictures:
        return EntryPictures(
            "",
            strips.strips(self.run.whole, self.entry, self.shown, self.draws),
            strips.least(self.run.whole, self.entry, SMALLEST),
            self._marginals(),
            self._posterior(),
            self._occlusion(),
            self._traces(),
        )

    @cached_property
    def shown(self) -> list[Row]:
        return shown_images(self.entry["per_image"], IMAGES)

    @cached_property
    def view(self) -> MeasureView:
        return self.run.whole.view(self.run.name)

    @cached_property
    def draws(self) -> Mapping[int, ImageDraws]:
        cell = self.view.cell(self.entry["classifier"], self.entry["image_set"], self.entry["nuisance"])
        return read_draws(self.view.rows(cell), {row["id"] for row in (*self.shown, *pooled_images(self.entry))})

    @cached_property
    def pooled(self) -> list[Row]:
        return [row for row in pooled_images(self.entry) if row["id"] in self.draws]

    @cached_property
    def replay(self) -> Replay:
        return self.run.whole.replay(self.entry["image_set"], self.entry["nuisance"], self.entry["classifier"])

    @property
    def large(self) -> bool:
        return math.prod(self.replay.images.shape) > LARGE

    def _place(self, row: Row) -> int:
        return place_of(self.replay.images.ids, row["id"])

    def _titled(self, row: Row) -> str:
        """index 575: Bag, and what is wrong with its draws."""
        wrong = badge(row)
        return f"{row['name']}: {row['label']}" + (f" ({wrong})" if wrong else "")

    def _prior(self, row: Row, numbers: int) -> torch.Tensor:
        """θ (n, d) of the prior of one image, d numbers each."""
        count = max(1, min(PRIOR_DRAWS, PRIOR_NUMBERS // numbers))
        return self.replay.prior(self.replay.batch([self._place(row)]), count)[0]

    def _columns(self, theta: np.ndarray[Any, Any], most: int) -> Columns:
        height, width = self.replay.images.shape[1:]
        return columns(self.entry, self.replay.nuisance, theta, (height, width), most)

    @torch.inference_mode()
    def _marginals(self) -> Figure | None:
        """Prior and posterior of the parameters that tell most, pooled over images whose draws can be trusted."""
        prior: dict[str, list[np.ndarray[Any, Any]]] = {}
        posterior: dict[str, list[np.ndarray[Any, Any]]] = {}
        for row in self.pooled:
            theta = self.draws[row["id"]].theta
            drawn = self._prior(row, theta.shape[1]).numpy()
            for pool, numbers in ((prior, drawn), (posterior, theta)):
                for name, values in self._columns(numbers, PARAMETERS).items():
                    pool.setdefault(name, []).append(values)
        found = [Marginal(name, np.concatenate(prior[name]), np.concatenate(posterior[name])) for name in prior]
        return marginal_figure(found, len(self.pooled)) if found else None

    @property
    def _mapped(self) -> list[Row]:
        found = [row for row in self.shown if row["id"] in self.draws]
        return found[: MAPS if self.among <= MANY else MAPS_OF_MANY]

    def _posterior(self) -> Figure | None:
        """The map of a posterior of two parameters, for some of the images shown."""
        classifier, nuisance = self.run.whole.classifier(self.entry["classifier"]), self.replay.nuisance
        if classifier is None or len(nuisance.parameters) != 2:
            return None
        maps = [each for row in self._mapped if (each := self._posterior_map(classifier, row)) is not None]
        first, second = (with_unit(nuisance, word) for word in nuisance.parameters)
        return posterior_figure(maps, (first, second)) if maps else None

    def _posterior_map(self, classifier: Classifier, row: Row) -> PosteriorMap | None:
        side = SIDE_OF_LARGE if self.large else SIDE
        drawn, place = self._prior(row, 2).double(), self._place(row)
        first, second = (
            grid_around(float(drawn[:, axis].mean()), float(drawn[:, axis].std()), side) for axis in (0, 1)
        )
        at_once, failing = self.run.whole.job.batch_size(self.entry["image_set"]), bool(self.entry.get("failing"))
        found = posterior_on_grid(classifier, self.replay, place, self._label(place), first, second, at_once, failing)
        if found is None or not found.isfinite().any():
            return None
        still = self.replay.nuisance.identity(self.replay.images.batch([place]))[0].tolist()
        return PosteriorMap(
            self._titled(row),
            badge(row),
            first.numpy(),
            second.numpy(),
            (found - found.max()).exp().numpy(),
            self.draws[row["id"]].theta,
            (still[0], still[1]),
        )

    def _label(self, place: int) -> int:
        """What counts as right, as the classifier counts its classes."""
        name, images = self.entry["classifier"], self.entry["image_set"]
        label = int(self.view.references(name, images)[place])
        return label if label >= 0 else int(clean_columns(self.view, name, images, place + 1)["predicted"][place])

    def _occlusion(self) -> Figure | None:
        """Where occluders hide pixels: the mean over the images that can be trusted, and some images."""
        if not isinstance(self.replay.nuisance, HidesPixels):
            return None
        trusted = [self._hidden(row) for row in self.pooled[: AVERAGED_OF_LARGE if self.large else POOLED]]
        mean = averaged(trusted, f"mean of {len(trusted)} images") if len(trusted) > 1 else None
        maps = [*([mean] if mean is not None else ()), *map(self._hidden, self._mapped)]
        return occlusion_figure(maps) if maps else None

    def _hidden(self, row: Row) -> OcclusionMap:
        nuisance, theta = self.replay.nuisance, torch.from_numpy(self.draws[row["id"]].theta)
        assert isinstance(nuisance, HidesPixels)
        batch = self.replay.batch([self._place(row)])
        prior, posterior = (hidden_share(nuisance, batch, each) for each in (self._prior(row, theta.shape[1]), theta))
        return OcclusionMap(self._titled(row), badge(row), batch.images[0], prior, posterior)

    def _traces(self) -> Figure | None:
        """Chains of some of the images shown; a population has none, and a size of Kish's instead."""
        walked = [row for row in self.shown if row["kish"] is None and row["id"] in self.draws][:TRACES]
        traces = [
            ChainTrace(self._titled(row), badge(row), each.chain, each.step, self._columns(each.theta, TRACED))
            for row, each in ((row, self.draws[row["id"]]) for row in walked)
        ]
        return trace_figure(traces) if traces and traces[0].columns else None
