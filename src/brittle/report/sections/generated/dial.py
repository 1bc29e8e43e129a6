"""The dial: images of a class and seed from scale 0 to the last one, and how far they come (CNS-Bench, figure 1).

The pictures are those of the run, not made again, so that they are there without the pipeline. There are never so many
that a page grows heavy: of a large benchmark a few classes, seeds, shifts and scales stand for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from brittle.engine.view import MeasureView
from brittle.measures.generate.change import CONFIDENCE, change, pixels_of_file
from brittle.measures.generate.measure import PICTURES
from brittle.measures.plan import Span
from brittle.report.blocks import Block, Group, Pictures, Sentence
from brittle.report.blocks.figure import Axis, Figure, Mark, Series
from brittle.report.blocks.pictures import Card, Pixels, Strip
from brittle.report.blocks.text import Estimate, Text
from brittle.report.page.pictures import data_uri
from brittle.report.page.section import MeasureRun, Row
from brittle.report.page.words import counted, listed, percent
from brittle.report.sections.marks import chart, curve

MOST_PICTURES = 96  # on a page
MOST_CLASSES, MOST_SEEDS = 3, 2  # of a shift
MOST_SCALES = 8
MOST_SHIFTS = 16
MOST_CURVES = 14

Images = NDArray[np.float64]


class PairUnits(NamedTuple):
    """A class and seed: the unit of its image at scale 0, and that under each shift."""

    name: str
    seed: int
    units: Mapping[str, int]  # by shift


def change_figure(rows: Sequence[Row], shifts: Sequence[str]) -> Figure:
    """The mean change along the scale, a curve for each of the shifts."""
    marks: list[Mark] = []
    for place, shift in enumerate(shifts):
        found = next(row["changes"] for row in rows if row["shift"] == shift)
        at = [each["scale"] for each in found]
        values = [100 * each["change"] for each in found]
        ends = [each["change_interval"] or [each["change"]] * 2 for each in found]
        marks += curve(Series(place, shift), at, values, [[100 * end for end in both] for both in ends], markers=True)
    last = ", ".join(f"{row['shift']} {moved(row)}" for row in rows if row["shift"] in shifts)
    return chart(
        f"Change of pixels against the scale; at the last one {last}",
        marks,
        Axis("scale", low=0),
        Axis("mean change of a pixel, % of its range", low=0, grid=True),
        f"How far images are from the one at scale 0 of their class and seed{_pairs(rows)}. A shift that is turned up "
        "further changes more; a curve that stays at 0 is a slider that does nothing. How much of a shift is to be "
        "seen, it does not say.",
        height=3.6,
    )


def moved(row: Row) -> str:
    """The change at the last scale."""
    return percent(round(row["changes"][-1]["change"], 3))


def _pairs(rows: Sequence[Row]) -> str:
    """Of how many pairs, where these are not all: then there are intervals."""
    last = rows[0]["changes"][-1]
    if last["change_interval"][0] == last["change_interval"][1]:
        return ""
    drawn = f", over {counted(last['pairs'], 'pair')} of class and seed that were drawn"
    return f"{drawn}, with {percent(CONFIDENCE)} intervals for the mean over all of them, each holding on its own"


def dials(run: MeasureRun, shifts: Sequence[str]) -> list[Block]:
    """A group of strips for each shift; or why there are none."""
    if (view := run.view) is None:
        return [Sentence("The run can't be read any more, so there are no pictures of it.", "note")]
    shown = shifts[:MOST_SHIFTS]
    table = view.table(view.cell())
    scales = _some(sorted(set(table["scale"].to_pylist())), MOST_SCALES)
    rows = max(1, MOST_PICTURES // (max(1, len(shown)) * len(scales)))
    every = _pairs_of(table.select(["unit", "class", "seed", "shift"]).to_pylist())
    pairs = _chosen(every, min(rows, MOST_CLASSES * MOST_SEEDS))
    note = (
        f"{_shown_of(pairs, every)}{f', and {len(shown)} of {len(shifts)} shifts' if len(shown) < len(shifts) else ''}"
        ". The images of a row begin as the same noise, and the scale, which stands above them, rises from 0. Beneath "
        "stands how far their pixels are from the first on average."
    )
    strips = {shift: tuple(_strip(view, pair, shift, scales) for pair in pairs) for shift in shown or [""]}
    groups = [Group(shift or "Scale 0", (Pictures(each, "film"),)) for shift, each in strips.items()]
    return [Sentence(note, "note"), *groups]


def _some(values: Sequence[float], most: int) -> list[float]:
    """All of a few, otherwise the first, the last and what lies between."""
    places = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    return [values[place] for place in places.tolist()]


def _pairs_of(rows: Sequence[Row]) -> list[PairUnits]:
    """Every class and seed in the order of the rows."""
    found: dict[tuple[str, int], dict[str, int]] = {}
    for row in rows:
        found.setdefault((row["class"], row["seed"]), {})[row["shift"]] = row["unit"]
    return [PairUnits(name, seed, units) for (name, seed), units in found.items()]


def _chosen(pairs: Sequence[PairUnits], count: int) -> list[PairUnits]:
    """Some classes, far apart, by their first seeds; class by class."""
    by_class: dict[str, list[PairUnits]] = {}
    for each in pairs:
        by_class.setdefault(each.name, []).append(each)
    names = list(by_class)
    places = np.unique(np.linspace(0, len(names) - 1, min(count, MOST_CLASSES, len(names))).round().astype(int))
    some = [by_class[names[place]] for place in places.tolist()]
    turns = [of_class[turn] for turn in range(MOST_SEEDS) for of_class in some if turn < len(of_class)]
    return sorted(turns[:count], key=lambda each: (names.index(each.name), each.seed))


def _shown_of(pairs: Sequence[PairUnits], every: Sequence[PairUnits]) -> str:
    names = list(dict.fromkeys(each.name for each in pairs))
    seeds = sorted({each.seed for each in pairs})
    classes = len({each.name for each in every})
    of = "" if len(names) == classes else f", {len(names)} of {classes} classes"
    return f"{listed(names)}{of}, by {'seed' if len(seeds) == 1 else 'seeds'} {listed([f'{each}' for each in seeds])}"


def _strip(view: MeasureView, pair: PairUnits, shift: str, scales: Sequence[float]) -> Strip:
    (origin,) = _pictures(view, pair.units[""])
    cards = [_card(pair, shift, 0.0, origin, f"{pair.name}, seed {pair.seed}")]
    if shift:
        there = _scales(view, pair.units[shift])
        for scale, image in zip(there, _pictures(view, pair.units[shift]), strict=True):
            if scale in scales:
                apart = Estimate(change(image, origin), places=1, format="percent")
                cards.append(_card(pair, shift, scale, image, (apart,)))
    return Strip(tuple(cards))


def _card(pair: PairUnits, shift: str, scale: float, image: Images, beneath: Text) -> Card:
    said = f"{pair.name}, seed {pair.seed}{f', {shift}' if shift else ''}, scale {scale:g}"
    return Card(Pixels(data_uri(_tensor(image))), f"{scale:g}", said, beneath=beneath)


def _tensor(image: Images) -> torch.Tensor:
    pixels = torch.from_numpy(image)
    return pixels[None] if pixels.ndim == 2 else pixels.permute(2, 0, 1)


def _scales(view: MeasureView, unit: int) -> Iterator[float]:
    for _, table in view.store.read(view.cell(), Span(unit, unit + 1)):
        yield from table["scale"].to_pylist()


def _pictures(view: MeasureView, unit: int) -> Iterator[Images]:
    """Of one unit, along its scales."""
    for _, table in view.store.read(view.cell(), Span(unit, unit + 1), PICTURES):
        yield from map(pixels_of_file, table["picture"].to_pylist())
