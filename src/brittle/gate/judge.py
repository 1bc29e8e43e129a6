"""Judging a run: beside a baseline, by conditions on its numbers, and by named cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from brittle.cases import NAME, read_cases
from brittle.comparison.comparable import differences_in_environment
from brittle.comparison.new_failures import NewFailure
from brittle.comparison.paired import ChangedNumber, ComparedCell, Comparison
from brittle.comparison.recorded import RecordedRun
from brittle.engine.replay import replay_of
from brittle.engine.view import ImageSetSummary
from brittle.errors import BrittleError
from brittle.gate.options import GateOptions
from brittle.gate.replayed_cases import judged_cases
from brittle.gate.requirements import Condition, judged
from brittle.gate.verdict import GateVerdict, NamedFailure
from brittle.report.page.loaded import LoadedRun
from brittle.types import ReadableTheta

MOST_SEARCHED = 20  # open questions of which it is estimated how many images would tell
MOST_NUMBERS = 16  # of θ; past these it is named by its draw


def cases_file(options: GateOptions, study: Path) -> Path | None:
    """The file of named cases: as asked for, or the one beside the study."""
    if options.cases is not None:
        return Path(options.cases)
    beside = (study if study.is_dir() else study.parent) / NAME
    return beside if beside.is_file() else None


def conditions(options: GateOptions, cases: Path | None) -> list[Condition]:
    """What is asked of numbers, before any work; refuses a gate that asks for nothing."""
    if options.baseline is None and not options.require and cases is None:
        raise BrittleError(
            "there is nothing to check",
            "Name a baseline (--against RUN), a condition (--require 'rho>=0.6') or named cases (--cases cases.toml).",
        )
    return [Condition.read(text) for text in options.require]


def judge(
    run: RecordedRun, loaded: LoadedRun, options: GateOptions, baseline: RecordedRun | None, cases: Path | None
) -> GateVerdict:
    """The verdict on a run. `loaded` are its things, as far as they can be loaded: named cases and θ need them."""
    numbers = [each for condition in conditions(options, cases) for each in judged(condition, run.summary)]
    shown = judged_cases(loaded, read_cases(cases)) if cases is not None else []
    if baseline is None:
        return GateVerdict(options, numbers=numbers, cases=shown)
    found = Comparison.of(run, baseline, numbers=options.on, confidence=options.confidence, pairs=options.pair)
    moved = differences_in_environment(run, baseline)
    notes = [f"also changed since the baseline: {'; '.join(moved)}"] if moved else []
    open_questions = [each for each in found.changes if each.state(options.allow) == "unsure"]
    by_margin = sorted(open_questions, key=lambda each: abs(each.difference.value + options.allow))
    return GateVerdict(
        options,
        found,
        numbers,
        shown,
        list(_named(loaded, _worst(found, options.worst))),
        notes,
        _images_left(run),
        {(each.cell, each.number): _to_tell(each, options, found) for each in by_margin[:MOST_SEARCHED]},
    )


def _to_tell(change: ChangedNumber, options: GateOptions, found: Comparison) -> int | None:
    return change.to_tell(options.allow, found.level)


def _images_left(run: RecordedRun) -> dict[str, int]:
    sets = {name: ImageSetSummary.read(said) for name, said in run.summary["image_sets"].items()}
    return {name: each.population - each.images for name, each in sets.items()}


def _worst(found: Comparison, most: int) -> list[tuple[ComparedCell, NewFailure]]:
    """Of all cells, the pictures whose label has lost most of its probability; each image once per classifier."""
    every = [(each.cell, failure) for each in found.found if not each.cell.same for failure in each.flips.worst]
    kept: dict[tuple[Any, ...], tuple[ComparedCell, NewFailure]] = {}
    for cell, failure in sorted(every, key=lambda each: (-round(each[1].fall, 2), each[1].lost)):
        kept.setdefault((cell.classifier, cell.image_set, failure.image), (cell, failure))
    return list(kept.values())[:most]


def _named(run: LoadedRun, worst: Sequence[tuple[ComparedCell, NewFailure]]) -> Iterator[NamedFailure]:
    """With names of image and classes, and θ, as far as they can be loaded."""
    for cell, failure in worst:
        names = run.label_names(cell.classifier, cell.image_set)
        chosen = run.chosen(cell.image_set)
        file, label = str(failure.image), ""
        if chosen is not None:
            place = int((chosen.images.ids == failure.image).nonzero()[0])
            file = str(chosen.images.names[place]) or file
            own = int(run.job.references(cell.classifier, cell.image_set)[place])
            label = names(own) if own >= 0 else ""
        yield NamedFailure(
            cell.classifier,
            cell.image_set,
            cell.nuisance,
            file,
            label,
            names(failure.predicted),
            theta_of(run, cell, failure) if chosen is not None else {},
            failure,
        )


@torch.inference_mode()
def theta_of(run: LoadedRun, cell: ComparedCell, failure: NewFailure) -> dict[str, float]:
    """θ by the words it can be told in; none where it is long, or can't be drawn again."""
    needed = run.job.needs(cell.nuisance) and cell.classifier not in run.job.classifiers
    if not cell.nuisance or cell.nuisance not in run.job.nuisances or needed:
        return {}
    replay = replay_of(run.job, cell.image_set, cell.nuisance, cell.classifier)
    place = int((replay.images.ids == failure.image).nonzero()[0])
    theta, space = replay.theta(place, failure.draw), replay.nuisance
    if not len(theta) == len(space.parameters) <= MOST_NUMBERS:
        return {}
    if isinstance(space, ReadableTheta):
        shape = replay.batch([place]).images.shape[-2:]
        told = space.read_theta(theta[None], *shape)[0]
        return dict(zip(space.readings, told.tolist(), strict=True))
    return dict(zip(space.parameters, theta.tolist(), strict=True))
