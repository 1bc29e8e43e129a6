"""One classifier's weak points on one image set under one nuisance, made ready for the template."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from markupsafe import Markup

from brittle.engine.view import View
from brittle.errors import BrittleError
from brittle.images.base import ImageSet
from brittle.measures.clean.measure import clean_columns
from brittle.report.page.confirmation import MOST, Confirmation
from brittle.report.page.fewer import MOST_CLASSIFIERS, some_of
from brittle.report.page.label_names import LabelNames
from brittle.report.page.pictures import EXACT_UP_TO, data_uri, longest_side
from brittle.report.page.section import MeasureRun
from brittle.report.sections.weak_points import sentences, strips
from brittle.report.sections.weak_points.draws import (
    Columns,
    Draws,
    Row,
    columns,
    read_draws,
    shown_images,
    trusted_images,
)
from brittle.report.sections.weak_points.figures import Panel, Trace, flow_figure, marginal_figure, trace_figure
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
from brittle.report.sections.weak_points.strips import PictureSource, Smallest, Strip, badge
from brittle.report.sections.weak_points.units import with_unit
from brittle.types import Classifier, HidesPixels, Nuisance

IMAGES, SMALLEST, PARAMETERS, TRACES, TRACED = 8, 8, 8, 3, 3
MAPS, MAPS_OF_MANY, MANY = 3, 1, 6  # past this many entries each has fewer maps
MOST_ENTRIES = 24  # in full: past these, entries of some classifiers
POOLED = 200  # images whose draws are pooled, at most
AVERAGED_OF_LARGE = 50  # images behind a mean map, where they are large
PRIOR_DRAWS, PRIOR_NUMBERS = 1024, 1 << 22
SIDE, SIDE_OF_LARGE, LARGE = 41, 21, 1 << 14  # of the posterior's map; images of more numbers get a coarser one


class ShownEntry(NamedTuple):
    """An entry of the summary with its pictures and figures; these are "" where there is nothing to draw."""

    entry: Row
    findings: list[str]
    names: LabelNames
    flows: Markup
    pooled: int  # images behind the marginals
    uri: Callable[[torch.Tensor], str]
    small: bool  # whether pictures are shown pixel by pixel
    note: str = ""  # why there are no pictures
    strips: Sequence[Strip] = ()
    smallest: Sequence[Smallest] = ()
    marginals: Markup = Markup()
    posterior: Markup = Markup()
    occlusion: Markup = Markup()
    traces: Markup = Markup()
    confirmation: Confirmation = Confirmation()


def with_pictures(entries: Sequence[Row]) -> list[Row]:
    """The entries that are shown in full, in their order: all, or those of some classifiers by the mean share of the
    prior that is weak."""
    if len(entries) <= MOST_ENTRIES:
        return list(entries)
    doubt: dict[str, list[float]] = {}
    for entry in entries:
        share = entry.get("wrong_share") if entry.get("failing") else entry["one_minus_mu"]
        doubt.setdefault(entry["classifier"], []).append(share or 0.0)
    cells = len({(entry["image_set"], entry["nuisance"]) for entry in entries})
    means = {name: float(np.mean(values)) for name, values in doubt.items()}
    shown = some_of(list(doubt), means, max(1, min(MOST_CLASSIFIERS, MOST_ENTRIES // cells)))
    return [entry for entry in entries if entry["classifier"] in shown]


def shown_entries(run: MeasureRun) -> list[ShownEntry]:
    """Those in full."""
    entries = with_pictures(run.summary["entries"])
    return [
        EntryMaker(run, entry, run.anchor(f"w{place}"), len(entries)).shown_entry()
        for place, entry in enumerate(entries)
    ]


@dataclass(frozen=True)
class EntryMaker:
    """Makes the pictures and figures of one entry."""

    run: MeasureRun
    entry: Row
    key: str  # keeps the ids of its figures apart from others'
    among: int  # how many entries the report has

    @property
    def rows(self) -> Sequence[Row]:
        rows: Sequence[Row] = self.entry["per_image"]
        return rows

    @property
    def cell(self) -> tuple[str, str, str]:
        return self.entry["classifier"], self.entry["image_set"], self.entry["nuisance"]

    @cached_property
    def names(self) -> LabelNames:
        return self.run.whole.label_names(self.entry["classifier"], self.entry["image_set"])

    @cached_property
    def shown(self) -> list[Row]:
        return shown_images(self.rows, IMAGES)

    @cached_property
    def pooled(self) -> list[Row]:
        return trusted_images(self.rows, POOLED)

    @property
    def view(self) -> View:
        return self.run.whole.view(self.run.name)

    @cached_property
    def draws(self) -> Mapping[int, Draws]:
        wanted = {row["id"] for row in (*self.shown, *self.pooled)}
        return read_draws(self.view.rows(self.view.cell(*self.cell)), wanted)

    @property
    def classifier(self) -> Classifier | None:
        return self.run.whole.classifier(self.entry["classifier"])

    @cached_property
    def source(self) -> PictureSource:
        return PictureSource(self.run.whole.replay(*self._cell), self.names)

    @property
    def _cell(self) -> tuple[str, str, str]:
        return self.entry["image_set"], self.entry["nuisance"], self.entry["classifier"]

    @property
    def images(self) -> ImageSet:
        return self.source.replay.images

    @property
    def nuisance(self) -> Nuisance:
        return self.source.replay.nuisance

    def shown_entry(self) -> ShownEntry:
        chosen = self.run.whole.chosen(self.entry["image_set"])
        unlabelled = 0 if chosen is None else int((chosen.images.labels < 0).sum())
        flows = self.entry["flows"]
        found = ShownEntry(
            entry=self.entry,
            findings=sentences.findings(self.entry, self.names.names, unlabelled),
            names=self.names,
            flows=flow_figure(f"{self.key}f", flows, self.names.names) if flows else Markup(),
            pooled=len(self.pooled),
            uri=self._uri,
            small=chosen is not None and max(chosen.images.shape[1:]) <= EXACT_UP_TO,
            note=self.run.whole.why_unreadable(*self._cell[:2], [self.entry["classifier"]]),
        )
        if found.note:
            return found
        try:
            return self._with_pictures(found)
        except (BrittleError, OSError) as error:
            return found._replace(note=f"The pictures can't be made again: {error}")

    def _with_pictures(self, found: ShownEntry) -> ShownEntry:
        shown = strips.strips(self.source, self.shown, self.draws)
        confirmation = Confirmation()
        if self.classifier is not None:
            confirmation = strips.confirmed(self.classifier, shown, max(1, MOST // self.among))
        return found._replace(
            strips=shown,
            smallest=strips.smallest(self.source, self.rows, SMALLEST),
            marginals=self._marginals(),
            posterior=self._posterior(),
            occlusion=self._occlusion(),
            traces=self._traces(),
            confirmation=confirmation,
        )

    def _uri(self, image: torch.Tensor) -> str:
        return data_uri(image, longest_side(self.among * (IMAGES * (strips.DRAWS + 1) + 2 * SMALLEST)))

    def _titled(self, row: Row) -> str:
        """index 575: Bag, and what is wrong with its draws."""
        wrong = badge(row)
        return f"{row['name']}: {self.names(row['label'])}" + (f" ({wrong})" if wrong else "")

    def _prior(self, row: Row, numbers: int) -> torch.Tensor:
        """θ (n, d) of the prior of one image, d numbers each."""
        return self.source.prior(row, max(1, min(PRIOR_DRAWS, PRIOR_NUMBERS // numbers)))

    def _columns(self, theta: np.ndarray[Any, Any], most: int) -> Columns:
        """θ (k, d) as the numbers (k,) that tell most, by names with units."""
        height, width = self.images.shape[1:]
        found = columns(self.entry, self.nuisance, theta, (height, width), most)
        return {with_unit(self.nuisance, name): values for name, values in found.items()}

    @torch.inference_mode()
    def _marginals(self) -> Markup:
        """Prior and posterior of the parameters that tell most, pooled over images whose draws can be trusted."""
        pooled = [row for row in self.pooled if row["id"] in self.draws]
        prior: dict[str, list[np.ndarray[Any, Any]]] = {}
        posterior: dict[str, list[np.ndarray[Any, Any]]] = {}
        for row in pooled:
            theta = self.draws[row["id"]].theta
            drawn = self._prior(row, theta.shape[1]).numpy()
            for pool, numbers in ((prior, drawn), (posterior, theta)):
                for name, values in self._columns(numbers, PARAMETERS).items():
                    pool.setdefault(name, []).append(values)
        if not prior:
            return Markup()
        panels = [Panel(name, np.concatenate(prior[name]), np.concatenate(posterior[name])) for name in prior]
        return marginal_figure(f"{self.key}m", panels, len(pooled))

    @property
    def _mapped(self) -> list[Row]:
        found = [row for row in self.shown if row["id"] in self.draws]
        return found[: MAPS if self.among <= MANY else MAPS_OF_MANY]

    def _posterior(self) -> Markup:
        """The map of a posterior of two parameters, for some of the images shown."""
        classifier, words = self.classifier, list(self.nuisance.parameters)
        if classifier is None or len(words) != 2:
            return Markup()
        maps = [each for row in self._mapped if (each := self._posterior_map(classifier, row)) is not None]
        first, second = (with_unit(self.nuisance, word) for word in words)
        return posterior_figure(f"{self.key}p", maps, (first, second)) if maps else Markup()

    def _posterior_map(self, classifier: Classifier, row: Row) -> PosteriorMap | None:
        side = SIDE if math.prod(self.images.shape) <= LARGE else SIDE_OF_LARGE
        drawn = self._prior(row, 2).double()
        first, second = (
            grid_around(float(drawn[:, axis].mean()), float(drawn[:, axis].std()), side) for axis in (0, 1)
        )
        at_once = self.run.whole.job.batch_size(self.entry["image_set"])
        place, label = self.source.place(row), self._label(row)
        failing = bool(self.entry.get("failing"))
        found = posterior_on_grid(classifier, self.source.replay, place, label, first, second, at_once, failing)
        if found is None or not found.isfinite().any():
            return None
        still = self.nuisance.identity(self.images.batch([place]))[0].tolist()
        return PosteriorMap(
            self._titled(row),
            badge(row),
            first.numpy(),
            second.numpy(),
            (found - found.max()).exp().numpy(),
            self.draws[row["id"]].theta,
            (still[0], still[1]),
        )

    def _label(self, row: Row) -> int:
        """What counts as right, as the classifier counts its classes."""
        name, images, _ = self.cell
        place = self.source.place(row)
        label = int(self.view.references(name, images)[place])
        return label if label >= 0 else int(clean_columns(self.view, name, images, place + 1)["predicted"][place])

    def _occlusion(self) -> Markup:
        """Where occluders hide pixels: the mean over the images that can be trusted, and some images."""
        if not isinstance(self.nuisance, HidesPixels):
            return Markup()
        most = POOLED if math.prod(self.images.shape) <= LARGE else AVERAGED_OF_LARGE
        trusted = [self._hidden(row) for row in self.pooled[:most] if row["id"] in self.draws]
        mean = averaged(trusted, f"mean of {len(trusted)} images") if len(trusted) > 1 else None
        maps = [*([mean] if mean is not None else ()), *map(self._hidden, self._mapped)]
        return occlusion_figure(f"{self.key}o", maps) if maps else Markup()

    def _hidden(self, row: Row) -> OcclusionMap:
        nuisance, theta = self.nuisance, torch.from_numpy(self.draws[row["id"]].theta)
        assert isinstance(nuisance, HidesPixels)
        batch = self.source.replay.batch([self.source.place(row)])
        return OcclusionMap(
            self._titled(row),
            badge(row),
            batch.images[0],
            hidden_share(nuisance, batch, self._prior(row, theta.shape[1])),
            hidden_share(nuisance, batch, theta),
        )

    def _traces(self) -> Markup:
        """Chains of some of the images shown; a population has none, and a size of Kish's instead."""
        walked = [row for row in self.shown if row["kish"] is None and row["id"] in self.draws][:TRACES]
        if not walked:
            return Markup()
        draws = [self.draws[row["id"]] for row in walked]
        traces = [
            Trace(self._titled(row), each.chain, each.step, self._columns(each.theta, TRACED))
            for row, each in zip(walked, draws, strict=True)
        ]
        return trace_figure(f"{self.key}t", traces) if traces[0].columns else Markup()
