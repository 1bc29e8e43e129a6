"""Sweeps: along each path severity rises until a criterion is met; what is found there is kept.

Paths that have met it leave the batch, and the next ones take their places. A path may lead through transformed images
or through a changed classifier: the sweep knows only the outcome at a severity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.measures.criteria import Criterion
from brittle.measures.outcomes import Outcome
from brittle.measures.places import State, worked_off


class Crossings(NamedTuple):
    """Where n paths met the criterion; for one that did not, the last severity and what was said there."""

    met: Tensor  # (n,) bool
    place: Tensor  # (n,) in the grid of severities
    severity: Tensor  # (n,)
    outcome: Outcome  # (n,)

    @property
    def calls(self) -> Tensor:
        """(n,) outcomes that were computed of each path."""
        return self.place + 1


def in_order(parts: Sequence[Crossings], order: Tensor) -> Crossings:
    """Several sweeps' crossings one after the other, then in another order."""
    met, place, severity = (torch.cat(each)[order] for each in list(zip(*parts, strict=True))[:3])
    said = torch.cat([part.outcome.packed() for part in parts])[order]
    return Crossings(met, place, severity, Outcome.unpacked(said))


def sweep(
    paths: int,
    severities: Tensor,
    size: int,
    begin: Callable[[Tensor], State],
    evaluate: Callable[[Tensor, State, Tensor], Outcome],
    criterion: Criterion,
    tick: Callable[[int], None] = lambda _: None,
) -> Crossings:
    """The first of the rising `severities` (K,) at which each path meets the criterion, `size` paths at once.

    `begin` gives what some paths (B,) carry along, such as θ; `evaluate` takes paths, what they carry and their places
    (B,) in the grid."""
    last = len(severities) - 1

    def started(path: Tensor) -> State:
        fresh = torch.zeros(len(path), dtype=torch.int64, device=path.device)
        blank = torch.zeros(len(path), len(Outcome._fields), device=path.device)
        return {**begin(path), "place": fresh, "at": fresh - 1, "met": fresh.bool(), "said": blank}

    def step(path: Tensor, state: State) -> tuple[State, Tensor]:
        place = state["place"]
        found = evaluate(path, state, place)
        met = criterion(found)
        tick(len(path))
        said = found.packed().to(torch.float32)
        return (
            {"place": (place + 1).clamp(max=last), "at": place, "met": met, "said": said},
            met | (place == last) | ~torch.isfinite(found.log_p_predicted),
        )

    found = worked_off(paths, size, started, step, ("met", "at", "said"), severities.device)
    return Crossings(found["met"], found["at"], severities[found["at"]], Outcome.unpacked(found["said"]))
