"""The report's section on weak points, made ready for its template: an entry per image set, nuisance and classifier."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from markupsafe import Markup

from brittle.engine.job import reference_labels
from brittle.engine.store import Cell
from brittle.errors import BrittleError
from brittle.images.base import ImageSet
from brittle.nuisances.occlusion.occluder import Occluder
from brittle.report import weak_gallery, weak_sentences
from brittle.report.gallery import CHECKED, LONGEST, LONGEST_OF_MANY, PHOTOS_IN_FULL, Check, why_not
from brittle.report.loaded import Run
from brittle.report.outcomes import Rows
from brittle.report.pictures import EXACT_UP_TO, data_uri
from brittle.report.units import with_unit
from brittle.report.weak_draws import Draws, Row, prior_theta, read_draws, shown_images, told_parameters, trusted_images
from brittle.report.weak_figures import Panel, flow_figure, marginal_figure, trace_figure
from brittle.report.weak_gallery import Called, Smallest, Strip, Subject, badge
from brittle.report.weak_maps import (
    OcclusionMap,
    PosteriorMap,
    averaged,
    grid_around,
    hidden_share,
    occlusion_figure,
    posterior_figure,
    posterior_on_grid,
)
from brittle.types import Classifier, Nuisance

IMAGES, SMALLEST, PARAMETERS, TRACES, TRACED = 8, 8, 8, 3, 3
MAPS, MAPS_OF_MANY, MANY = 3, 1, 6  # past this many entries each has fewer maps
POOLED = 200  # images whose draws are pooled, at most
AVERAGED_OF_LARGE = 50  # images behind a mean map, where they are large
PRIOR_DRAWS, PRIOR_NUMBERS = 1024, 1 << 22
SIDE, SIDE_OF_LARGE, LARGE = 41, 21, 1 << 14  # of the posterior's map; images of more numbers get a coarser one
TABLE = 20  # past this many images the table of diagnostics is closed
MOST_ROWS = 1000


class Part(NamedTuple):
    """One classifier on one image set under one nuisance; figures are "" where there is nothing to draw."""

    entry: Row
    findings: list[str]
    strips: list[Strip]
    smallest: list[Smallest]
    note: str  # why there are no pictures
    called: Called
    flows: Markup
    marginals: Markup
    pooled: int  # images behind the marginals
    posterior: Markup
    occlusion: Markup
    traces: Markup
    uri: Callable[[torch.Tensor], str]
    small: bool


def parts(run: Run) -> tuple[list[Part], Check]:
    """A part for everything that was sampled, in the study's order."""
    found, check = [], Check()
    entries = run.summary.get("weak_points", ())
    for place, entry in enumerate(entries):
        part, checked = _Maker(run, entry, f"w{place}", len(entries)).part()
        found.append(part)
        check = check.plus(checked)
    return found, check


@dataclass(frozen=True)
class _Maker:
    run: Run
    entry: Row
    key: str  # keeps the ids of its figures apart from others'
    among: int  # how many entries the report has

    @property
    def rows(self) -> Sequence[Row]:
        rows: Sequence[Row] = self.entry["per_image"]
        return rows

    @property
    def _cell(self) -> tuple[str, str, str]:
        return self.entry["classifier"], self.entry["image_set"], self.entry["nuisance"]

    @cached_property
    def called(self) -> Called:
        classifier, images, _ = self._cell
        summary = self.run.summary
        return Called(summary["classifiers"][classifier]["labels"], summary["image_sets"][images]["classes"])

    @cached_property
    def shown(self) -> list[Row]:
        return shown_images(self.rows, IMAGES)

    @cached_property
    def pooled(self) -> list[Row]:
        return trusted_images(self.rows, POOLED)

    @cached_property
    def draws(self) -> dict[int, Draws]:
        cell = Cell("weak-points", *self._cell)
        wanted = {row["id"] for row in (*self.shown, *self.pooled)}
        return read_draws((table for _, table in self.run.folder.store.read(cell)), wanted)

    @property
    def classifier(self) -> Classifier | None:
        return self.run.classifiers.get(self.entry["classifier"])

    def part(self) -> tuple[Part, Check]:
        _, images, nuisance = self._cell
        note, check = why_not(self.run, images, nuisance), Check()
        chosen = self.run.images.get(images)
        unlabelled = 0 if chosen is None else int((chosen.images.labels < 0).sum())
        flows = self.entry["flows"]
        part = Part(
            entry=self.entry,
            findings=weak_sentences.findings(self.entry, self.called.names, unlabelled),
            strips=[],
            smallest=[],
            note=note,
            called=self.called,
            flows=Markup(flow_figure(f"{self.key}f", flows, self.called.names) if flows else ""),
            marginals=Markup(),
            pooled=len(self.pooled),
            posterior=Markup(),
            occlusion=Markup(),
            traces=Markup(),
            uri=self._uri,
            small=chosen is not None and max(chosen.images.shape[1:]) <= EXACT_UP_TO,
        )
        if not note:
            try:
                return self._painted(part)
            except (BrittleError, OSError) as error:
                part = part._replace(note=f"The pictures can't be made again: {error}")
        return part, check

    def _painted(self, part: Part) -> tuple[Part, Check]:
        subject, check = self.subject, Check()
        shown = weak_gallery.strips(subject, self.shown, self.draws)
        if self.classifier is not None:
            check = weak_gallery.check(self.classifier, shown, max(1, CHECKED // self.among))
        return part._replace(
            strips=shown,
            smallest=weak_gallery.smallest(subject, self.rows, SMALLEST),
            marginals=self._marginals(),
            posterior=self._posterior(),
            occlusion=self._occlusion(),
            traces=self._traces(),
        ), check

    @cached_property
    def subject(self) -> Subject:
        nuisance = self.entry["nuisance"]
        return Subject(
            self.images,
            self.nuisance,
            self.run.study.seed,
            self.run.job.streams[nuisance],
            self.called,
        )

    @property
    def images(self) -> ImageSet:
        return self.run.images[self.entry["image_set"]].images

    @property
    def nuisance(self) -> Nuisance:
        return self.run.nuisances[self.entry["nuisance"]]

    def _uri(self, image: torch.Tensor) -> str:
        pictures = self.among * (IMAGES * (weak_gallery.DRAWS + 1) + 2 * SMALLEST)
        return data_uri(image, LONGEST_OF_MANY if pictures > PHOTOS_IN_FULL else LONGEST)

    def _titled(self, row: Row) -> str:
        """index 575: Bag, and what is wrong with its draws."""
        wrong = badge(row)
        return f"{row['name']}: {self.called(row['label'])}" + (f" ({wrong})" if wrong else "")

    def _prior(self, row: Row, numbers: int) -> torch.Tensor:
        """θ (n, d) of the prior of one image."""
        subject = self.subject
        batch = self.images.batch([subject.place(row)])
        count = max(1, min(PRIOR_DRAWS, PRIOR_NUMBERS // numbers))
        return prior_theta(self.nuisance, batch, subject.seed, subject.stream, count)[0]

    @torch.inference_mode()
    def _marginals(self) -> Markup:
        """Prior and posterior of the parameters that tell most, pooled over images whose draws can be trusted."""
        pooled = [row for row in self.pooled if row["id"] in self.draws]
        prior: dict[str, list[np.ndarray[Any, Any]]] = {}
        posterior: dict[str, list[np.ndarray[Any, Any]]] = {}
        for row in pooled:
            theta = self.draws[row["id"]].theta
            drawn = self._prior(row, theta.shape[1]).numpy()
            for name, place in told_parameters(self.entry, self.nuisance, theta.shape[1], PARAMETERS).items():
                prior.setdefault(name, []).append(drawn[:, place])
                posterior.setdefault(name, []).append(theta[:, place])
        if not prior:
            return Markup()
        panels = [
            Panel(with_unit(self.nuisance, name), np.concatenate(prior[name]), np.concatenate(posterior[name]))
            for name in prior
        ]
        return Markup(marginal_figure(f"{self.key}m", panels, len(pooled)))

    @property
    def _mapped(self) -> list[Row]:
        found = [row for row in self.shown if row["id"] in self.draws]
        return found[: MAPS if self.among <= MANY else MAPS_OF_MANY]

    def _posterior(self) -> Markup:
        """The map of a posterior of two parameters, for some of the images shown."""
        classifier, words = self.classifier, list(self.nuisance.parameters)
        if classifier is None or len(words) != 2:
            return Markup()
        side = SIDE if math.prod(self.images.shape) <= LARGE else SIDE_OF_LARGE
        maps = []
        for row in self._mapped:
            batch, drawn = self.images.batch([self.subject.place(row)]), self._prior(row, 2).double()
            first, second = (
                grid_around(float(drawn[:, axis].mean()), float(drawn[:, axis].std()), side) for axis in (0, 1)
            )
            at_once = self.run.job.batch_size(self.entry["image_set"])
            found = posterior_on_grid(classifier, self.nuisance, batch, self._label(row), first, second, at_once)
            if found is None or not found.isfinite().any():
                continue
            still = self.nuisance.identity(batch)[0].tolist()
            maps.append(
                PosteriorMap(
                    self._titled(row),
                    badge(row),
                    first.numpy(),
                    second.numpy(),
                    (found - found.max()).exp().numpy(),
                    self.draws[row["id"]].theta,
                    (still[0], still[1]),
                )
            )
        names = tuple(with_unit(self.nuisance, word) for word in words)
        return Markup(posterior_figure(f"{self.key}p", maps, (names[0], names[1])) if maps else "")

    def _label(self, row: Row) -> int:
        """What counts as right, as the classifier counts its classes."""
        name, images, _ = self._cell
        place = self.subject.place(row)
        label = int(reference_labels(self.run.classifiers[name], name, self.images)[place])
        if label >= 0:
            return label
        return Rows(self.run.folder.store, images, self.images.ids.numpy()).clean(name, [place])[place].predicted

    def _occlusion(self) -> Markup:
        """Where occluders hide pixels: the mean over the images that can be trusted, and some images."""
        if not isinstance(self.nuisance, Occluder):
            return Markup()
        most = POOLED if math.prod(self.images.shape) <= LARGE else AVERAGED_OF_LARGE
        trusted = [self._hidden(row) for row in self.pooled[:most] if row["id"] in self.draws]
        mean = averaged(trusted, f"mean of {len(trusted)} images") if len(trusted) > 1 else None
        maps = [*([mean] if mean is not None else ()), *map(self._hidden, self._mapped)]
        return Markup(occlusion_figure(f"{self.key}o", maps) if maps else "")

    def _hidden(self, row: Row) -> OcclusionMap:
        nuisance, theta = self.nuisance, torch.from_numpy(self.draws[row["id"]].theta)
        assert isinstance(nuisance, Occluder)
        batch = self.images.batch([self.subject.place(row)])
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
        traces = [(self._titled(row), self.draws[row["id"]]) for row in walked]
        told = told_parameters(self.entry, self.nuisance, traces[0][1].theta.shape[1], TRACED)
        return Markup(trace_figure(f"{self.key}t", traces, told) if told else "")
