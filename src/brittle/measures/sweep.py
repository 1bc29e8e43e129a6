"""Sweeps: along each path severity rises to the end, or until a criterion is met; what was said on the way is kept.

Paths that have met the criterion leave the batch, and the next ones take their places; once there are too few to fill
it, it looks several severities ahead of each. A path may lead through transformed images or through a changed
classifier: the sweep knows only the outcome at a severity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from brittle.measures.answers import PendingOutcome
from brittle.measures.criteria import Criterion
from brittle.measures.frontier import Frontier, Integers
from brittle.measures.lanes import State, Stepped, final_states, lanes_on
from brittle.measures.outcomes import Outcome, joined
from brittle.memory import slices

Begin = Callable[[Tensor], State]  # what some paths (B,) carry along, such as θ
Submit = Callable[[Tensor, State, Tensor], PendingOutcome]  # of paths (B,), what they carry, their places (B,)


class Course(NamedTuple):
    """Some paths to be followed."""

    paths: int
    size: int  # paths at once
    begin: Begin
    submit: Submit
    device: torch.device | str = "cpu"


class Crossings(NamedTuple):
    """Where n paths met the criterion; for one that did not, the last severity and what was said there."""

    met: Tensor  # (n,) bool
    place: Tensor  # (n,) in the grid of severities
    severity: Tensor  # (n,)
    outcome: Outcome  # (n,)


class PathOutcomes(NamedTuple):
    """What was said along n paths; nothing is said of places past `last`."""

    outcome: Outcome  # (n, K, …)
    last: Tensor  # (n,) the last place of each path


class Ends(NamedTuple):
    """Where n paths ended: at the first place that met the criterion or where nothing valid was said, or at the last
    one."""

    met: Tensor  # (n,) bool
    at: Tensor  # (n,) the place
    said: Tensor  # (n, 5) the outcome there, packed


class Brackets(NamedTuple):
    """A stretch of severity for each of n paths: the criterion is met at its upper end and not at its lower end."""

    low: Tensor  # (n,)
    high: Tensor  # (n,)
    calls: Tensor  # (n,) outcomes that were computed of each path
    finite: Tensor  # (n,) bool: whether all of these were


def joined_crossings(parts: Sequence[Crossings], order: Tensor) -> Crossings:
    """Several sweeps' crossings one after the other, then in another order."""
    met, place, severity = (torch.cat(each)[order] for each in list(zip(*parts, strict=True))[:3])
    said = torch.cat([part.outcome.packed() for part in parts])[order]
    return Crossings(met, place, severity, Outcome.unpacked(said))


def sweep(course: Course, severities: Tensor, criterion: Criterion, *, halving: bool = False) -> Crossings:
    """The first of the rising `severities` (K,) at which each path meets the criterion; by `halving` one that meets it
    while the one before does not, the first only where a path that meets it does so from there on."""
    met, at, said = _until(course, len(severities), criterion, halving=halving)
    return Crossings(met, at, severities[at], Outcome.unpacked(said))


def path_outcomes(course: Course, places: int, criterion: Criterion | None = None) -> PathOutcomes:
    """What is said of each path at every place of the grid or, with a criterion, up to the first that meets it."""
    if criterion is None:
        return _to_the_end(course, places)
    said = torch.zeros(course.paths, places, len(Outcome._fields), device=course.device)

    def noted(path: Tensor, state: State, place: Tensor) -> PendingOutcome:
        pending = course.submit(path, state, place)

        def collect() -> Outcome:
            found = pending()
            said[path, place] = found.packed().to(said.dtype)
            return found

        return collect

    last = _until(course._replace(submit=noted), places, criterion).at
    return PathOutcomes(Outcome.unpacked(said), last)


def _to_the_end(course: Course, places: int) -> PathOutcomes:
    """Severity by severity for as many paths as a batch holds, so that what they carry is made once."""
    paths, size, begin, submit, device = course
    blocks = []
    for block in slices(paths, size):
        path = torch.arange(block.start, block.stop, device=device)
        carried, count = begin(path), len(path)
        parts = []
        for part in slices(count * places, size):
            pair = torch.arange(part.start, part.stop, device=device)
            within, place = pair % count, pair.div(count, rounding_mode="floor")
            # A full block is in order already; what it carries may be as large as its images.
            state = carried if count == size else {name: values[within] for name, values in carried.items()}
            parts.append(submit(path[within], state, place))
        said = torch.cat([pending().packed() for pending in parts])
        blocks.append(said.view(places, count, *said.shape[1:]).transpose(0, 1))
    said = torch.cat(blocks) if blocks else torch.zeros(0, places, len(Outcome._fields), device=device)
    return PathOutcomes(Outcome.unpacked(said), torch.full((paths,), places - 1, device=device))


def _until(course: Course, places: int, criterion: Criterion, *, halving: bool = False) -> Ends:
    paths, size, begin, submit, device = course
    frontier = Frontier(paths, places, size, size * lanes_on(device), halving=halving)
    said = torch.zeros(paths, len(Outcome._fields), device=device)
    state: State = {}
    while not frontier.finished:
        fresh = frontier.admit()
        if len(fresh):
            begun = begin(torch.from_numpy(fresh).to(device))
            state = {name: torch.cat((state[name], begun[name])) for name in begun} if state else begun
        looks, followed = frontier.looks(), len(frontier.path)
        which, place = (torch.from_numpy(_whole(each, size)).to(device) for each in looks)
        path = torch.from_numpy(frontier.path).to(device)[which]
        pending = [
            submit(path[part], {name: values[which[part]] for name, values in state.items()}, place[part])
            for part in slices(len(which), size)
        ]
        found = joined([each() for each in pending]).take(slice(len(looks.path)))
        met, valid = torch.stack((criterion(found), torch.isfinite(found.log_p_predicted))).cpu().numpy()
        known, look, kept = frontier.advance(looks, met, valid)
        if len(known):
            said[torch.from_numpy(known).to(device)] = found.packed().to(said.dtype)[torch.from_numpy(look).to(device)]
        if len(kept) < followed:
            state = {name: values[torch.from_numpy(kept).to(device)] for name, values in state.items()}
    return Ends(torch.from_numpy(frontier.met).to(device), torch.from_numpy(frontier.at).to(device), said)


def _whole(values: Integers, size: int) -> Integers:
    """With the last of them as often as whole batches take."""
    return np.pad(values, (0, -len(values) % size), mode="edge")


def narrow_brackets(course: Course, low: Tensor, high: Tensor, tolerance: float, criterion: Criterion) -> Brackets:
    """Brackets (n,) halved until none is wider than the tolerance; `submit` takes severities (B,) for places.

    What is found is a crossing inside the bracket. Where the criterion is met and left again within it, that need not
    be the first."""

    def started(path: Tensor) -> State:
        fresh = torch.zeros(len(path), dtype=torch.int64, device=path.device)
        return {**course.begin(path), "low": low[path], "high": high[path], "calls": fresh, "finite": fresh == 0}

    def step(path: Tensor, state: State) -> Stepped:
        middle = (state["low"] + state["high"]) / 2
        return partial(after, state, middle, course.submit(path, state, middle))

    def after(state: State, middle: Tensor, pending: PendingOutcome) -> tuple[State, Tensor]:
        below, above = state["low"], state["high"]
        wide = (above - below > tolerance) & (middle > below) & (middle < above)
        found = pending()
        met, finite = criterion(found), torch.isfinite(found.log_p_predicted)
        below, above = torch.where(wide & ~met, middle, below), torch.where(wide & met, middle, above)
        changed = {"low": below, "high": above, "calls": state["calls"] + wide, "finite": finite}
        return changed, (above - below <= tolerance) | ~wide | ~finite

    if not len(low):
        return Brackets(low, high, low.long(), low.bool())
    found = final_states(len(low), course.size, started, step, Brackets._fields, low.device)
    return Brackets(*(found[name] for name in Brackets._fields))
