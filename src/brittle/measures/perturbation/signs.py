"""FGSM, targeted FGSM and I-FGSM (UREM, equations 1 to 3), with ε searched to the same goal as Adam's.

    x_adv = x + ε·sign(∇J(x, origin))                         one step, no target
    x_adv = x − ε·sign(∇J(x, target))                         one step
    x_{t+1} = x_t − (ε/T)·sign(∇J(x_t, target)), x_0 = x      T steps; + and the origin where there is no target

Equation 3 is misprinted in the paper, with x_{t+1} on both sides. ε doubles until the goal is met, and is then
bisected: the goal need not be met at every ε beyond, nor missed at every ε below.
"""

from __future__ import annotations

import torch
from torch import Tensor

from brittle.measures.lanes import State
from brittle.measures.targeted_search import Search, SearchResult, answers_at, empty_record, like, updated_record, where

FIRST = 2.0**-10  # ε: a quarter of a level of 8 bits
HALVINGS = 10


def sign_search(search: Search, *, iterations: int, greatest: float) -> SearchResult:
    """The least ε found at which each pair meets its goal after `iterations` steps of ε / iterations; failed where none
    up to `greatest` does."""
    start, goal = search.start, search.goal

    def moved(values: Tensor, slope: Tensor, epsilon: Tensor) -> Tensor:
        return search.bounded(values - like(epsilon / iterations, values) * slope)

    def begin(pair: Tensor) -> State:
        values = start(pair)
        number = torch.zeros(len(pair), device=pair.device)
        numbers = {"epsilon": number + FIRST, "missed": number, "met": number + torch.inf}
        return {
            "at": values,
            "end": values,
            "first": torch.zeros_like(values),
            "step": torch.zeros_like(pair),
            **numbers,
            **empty_record(pair),
        }

    def step(pair: Tensor, state: State) -> tuple[State, Tensor]:
        taken, at, epsilon, met = state["step"], state["at"], state["epsilon"], state["met"]
        looking = taken == iterations
        said = answers_at(search.answer, pair, at, goal, slope=not bool(looking.all()))
        original = start(pair)
        already = (taken == 0) & said.reached
        better, worse = looking & said.reached, looking & ~said.reached
        met, missed = torch.where(better, epsilon, met), torch.where(worse, epsilon, state["missed"])
        bracketed = met < torch.inf
        following = torch.where(bracketed, (missed + met) / 2, (2 * epsilon).clamp(max=greatest))
        following = torch.where(looking, following, epsilon)
        slope = torch.zeros_like(at) if said.slope is None else said.slope.sign()
        first = where(taken == 0, slope, state["first"])
        # The first step of every ε goes the same way, so it is not asked for again.
        again = (taken == 0) | looking
        there = moved(where(again, original, at), where(again, first, slope), following)
        halved = torch.where(looking & bracketed, state["halved"] + 1, state["halved"])
        changes: State = {
            "at": there,
            "end": where(better | (looking & ~bracketed), at, state["end"]),
            "first": first,
            "step": torch.where(looking, 1, taken + 1),
            "epsilon": following,
            "missed": missed,
            "met": met,
        }
        # Between the image and the end of its steps nothing is an answer to ε.
        heard = looking | (taken == 0)
        kept = updated_record(state, said, at - original, goal.origin[pair], better | already, worse & ~bracketed)
        kept["reached"] = state["reached"] | better | already
        kept["left"] = torch.where(heard, kept["left"], state["left"])
        failed = worse & ~bracketed & (epsilon >= greatest)
        changes |= kept | {"halved": halved}
        ends = already | failed | ~said.finite | (halved == HALVINGS)
        search.tick(int(ends.sum()))
        return changes, ends

    return search.run(begin, step)
