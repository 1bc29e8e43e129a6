"""Targeted searches: the change of what a classifier is given at which p(target) reaches a share, pair by pair.

Adam minimises the cross-entropy to the target without a bound on the change (UREM, section 3), stops at the first
iterate at or above the share, and bisects its last step. It finds a change, not the smallest there is: sizes are upper
bounds. What is changed may be images or what a layer gives.

Long before the share is reached the label changes, often in a single step, which for pictures is larger than one level
of 8 bits. Where the least change of label is asked for too, the first iterate of another label is drawn back towards
the start by bisection, so that sizes below a step are told apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.measures.lanes import State, final_states, in_turn

BETAS, TINY = (0.9, 0.999), 1e-8  # Kingma & Ba 2015
HALVINGS = 12  # of the last step: what is found lies within 1/4096 of it
NARROWINGS = 8  # of the first change of label: within 1/256 of it

Answer = Callable[[Tensor, Tensor], Tensor]  # pairs (B,), values (B, …) → logits (B, K); gradients flow
UNTARGETED = -1


class SearchGoal(NamedTuple):
    """What n pairs are to reach: p(target) ≥ share, or where a pair has no target, any class but the origin."""

    origin: Tensor  # (n,) the class that is left
    target: Tensor  # (n,) UNTARGETED where there is none
    share: float


class SearchResult(NamedTuple):
    """What n pairs came to; for one that did not reach its goal, where it stood in the end."""

    reached: Tensor  # (n,) bool
    linf: Tensor  # (n,) L∞ of the change
    l2: Tensor  # (n,)
    left: Tensor  # (n,) the least L∞ of the points looked at that have another class than the origin; inf if none
    log_p_before: Tensor  # (n,) of the target
    log_p: Tensor  # (n,) of the target, or of the class that was reached
    predicted: Tensor  # (n,)
    calls: Tensor  # (n,) of the classifier
    finite: Tensor  # (n,) bool: whether all its answers were
    values: Tensor  # (n, …) changed


class PointAnswers(NamedTuple):
    """What a classifier says at some points (B,), and where the goal lies from there."""

    log_p: Tensor
    predicted: Tensor
    reached: Tensor  # bool
    finite: Tensor  # bool
    slope: Tensor | None  # (B, …) gradient of the cross-entropy that the search descends


def answers_at(answer: Answer, pair: Tensor, values: Tensor, goal: SearchGoal, *, slope: bool) -> PointAnswers:
    """The answer at `values` (B, …) and, where asked for, the slope: of J(x, target), or of −J(x, origin)."""
    target, origin = goal.target[pair], goal.origin[pair]
    free = target == UNTARGETED
    with torch.enable_grad():
        point = values.detach().requires_grad_(slope)
        log_probs = answer(pair, point).log_softmax(1)
        own = log_probs.gather(1, torch.where(free, origin, target)[:, None])[:, 0]
        found = None
        if slope:
            # Infinite or missing answers spoil their own row only, and end its search below.
            (found,) = torch.autograd.grad(torch.where(free, own, -own).sum(), point)
    log_probs = log_probs.detach()
    log_p = log_p_of_goal(log_probs, origin, target)
    return PointAnswers(log_p, log_probs.argmax(1), log_p >= math.log(goal.share), ~log_probs.isnan().any(1), found)


def log_p_of_goal(log_probs: Tensor, origin: Tensor, target: Tensor) -> Tensor:
    """log p (B,) of the target, or where there is none, of the most probable class but the origin."""
    own = log_probs.gather(1, target.clamp(min=0)[:, None])[:, 0]
    return torch.where(target == UNTARGETED, log_probs.scatter(1, origin[:, None], -torch.inf).amax(1), own)


class Search(NamedTuple):
    """n pairs of an image and a target, for each of which a change is sought."""

    pairs: int
    size: int  # pairs at once
    start: Callable[[Tensor], Tensor]  # of pairs (B,) the values (B, …) that are changed
    answer: Answer
    goal: SearchGoal
    bounds: tuple[float, float] | None = None  # held by all that is looked at
    tick: Callable[[int], None] = lambda _: None  # told of pairs as they finish

    def run(
        self, begin: Callable[[Tensor], State], step: Callable[[Tensor, State], tuple[State, Tensor]]
    ) -> SearchResult:
        """What the pairs come to by steps that note what they find (`empty_record`, `updated_record`) and the `end` of
        each."""
        kept = (*empty_record(self.goal.origin[:1]), "end")
        found = final_states(self.pairs, self.size, begin, in_turn(step), kept, self.goal.origin.device)
        end = found["end"]
        linf, l2 = end.new_empty(len(end)), end.new_empty(len(end))
        for part in torch.split(torch.arange(len(end), device=end.device), 1 << 10):
            change = (end[part] - self.start(part)).flatten(1)
            linf[part], l2[part] = change.abs().amax(1), change.norm(dim=1)
        told = {name: found[name] for name in SearchResult._fields if name in found}
        return SearchResult(linf=linf, l2=l2, values=end, **told)

    def bounded(self, values: Tensor) -> Tensor:
        return values if self.bounds is None else values.clamp(*self.bounds)


def adam_search(search: Search, *, rate: float, steps: int, narrow: bool = False) -> SearchResult:
    """Adam with a step of `rate`; failed after `steps` of them. `narrow` bisects the least change of label too."""
    start, goal = search.start, search.goal

    def begin(pair: Tensor) -> State:
        values = start(pair)
        zero = torch.zeros_like(values)
        state = {"at": values, "mean": zero, "square": zero, "below": values, "end": values, "gone": values}
        same, other = torch.zeros(len(pair), device=pair.device), torch.ones(len(pair), device=pair.device)
        counts = {"step": torch.zeros_like(pair), "narrowed": torch.full_like(pair, -1)}
        return state | empty_record(pair) | counts | {"same": same, "other": other}

    def step(pair: Tensor, state: State) -> tuple[State, Tensor]:
        narrowing, taken, at = state["narrowed"] >= 0, state["step"], state["at"]
        searching = (state["halved"] < 0) & ~narrowing
        said = answers_at(search.answer, pair, at, goal, slope=bool(searching.any()))
        arrived = searching & said.reached
        ends = ~said.finite | (arrived & (taken == 0)) | (searching & ~said.reached & (taken == steps))
        changes: State = {}
        forward = at
        if said.slope is not None:
            mean = torch.lerp(said.slope, state["mean"], BETAS[0])
            square = torch.lerp(said.slope.square(), state["square"], BETAS[1])
            time = like(taken + 1, at)
            move = (mean / (1 - BETAS[0] ** time)) / ((square / (1 - BETAS[1] ** time)).sqrt() + TINY)
            forward = search.bounded(at - rate * move)
            changes |= {"mean": mean, "square": square}
        going = searching & ~said.reached
        halving = ~searching & ~narrowing
        # The segment's end above the share is `end`, the one below it `below`; `at` is where to look next.
        above = where(arrived | (halving & said.reached), at, state["end"])
        below = where(going | (halving & ~said.reached), at, state["below"])
        changes |= {
            "at": where(going, forward, (below + above) / 2),
            "below": below,
            "end": where(going, at, above),
            "step": taken + going.long(),
            "halved": torch.where(going, -1, state["halved"] + (arrived | halving).long()),
        }
        original = start(pair)
        met = said._replace(reached=said.reached & ~narrowing)
        changes |= updated_record(state, met, at - original, goal.origin[pair], met.reached, going | arrived)
        ends |= halving & (changes["halved"] == HALVINGS)
        if narrow:
            gone = said.predicted != goal.origin[pair]
            changes |= narrow_label_change(
                state, at, original, gone, begins=ends & said.finite & (changes["left"] < torch.inf)
            )
            ends = torch.where(changes["narrowed"] >= 0, changes["narrowed"] == NARROWINGS, ends) | ~said.finite
            changes["at"] = where(changes["narrowed"] >= 0, changes.pop("between"), changes["at"])
        search.tick(int(ends.sum()))
        return changes, ends

    return search.run(begin, step)


def narrow_label_change(state: State, at: Tensor, original: Tensor, gone: Tensor, begins: Tensor) -> State:
    """A bisection of the way from `original` (B, …) to the first point of another label, where one begins or goes on.
    `gone` (B,) says whether the label at `at` is another. The point to look at next is `between`."""
    going = state["narrowed"] >= 0
    far = where(gone & state["left"].isinf(), at, state["gone"])
    middle = (state["same"] + state["other"]) / 2
    same, other = (torch.where(going & met, middle, state[name]) for name, met in (("same", ~gone), ("other", gone)))
    count = torch.where(going, state["narrowed"] + 1, torch.where(begins, 0, -1))
    between = torch.lerp(original, far, like((same + other) / 2, at))
    return {"gone": far, "same": same, "other": other, "narrowed": count, "between": between}


def like(numbers: Tensor, values: Tensor) -> Tensor:
    """numbers (B,) as (B, 1, …), to go with values (B, …), in their dtype."""
    return numbers.to(values.dtype).view(-1, *(1,) * (values.ndim - 1))


def where(condition: Tensor, these: Tensor, those: Tensor) -> Tensor:
    """(B,) chooses between (B, …) and (B, …)."""
    return torch.where(condition.view(-1, *(1,) * (these.ndim - 1)), these, those)


def empty_record(pair: Tensor) -> State:
    """What is noted of pairs (B,) in the course of any search."""
    number = torch.zeros(len(pair), device=pair.device)
    return {
        "halved": torch.full_like(pair, -1),  # −1 while the goal has not been met
        "left": torch.full_like(number, torch.inf),
        "log_p_before": torch.full_like(number, torch.nan),
        "log_p": torch.full_like(number, torch.nan),
        "predicted": torch.zeros_like(pair),
        "reached": torch.zeros_like(pair, dtype=torch.bool),
        "finite": torch.ones_like(pair, dtype=torch.bool),
        "calls": torch.zeros_like(pair),
    }


def updated_record(
    state: State, said: PointAnswers, change: Tensor, origin: Tensor, better: Tensor, first: Tensor
) -> State:
    """What an answer adds to the notes: `better` where it is the smallest change so far that reaches the goal, `first`
    where no change has reached it before."""
    linf, log_p = change.flatten(1).abs().amax(1).float(), said.log_p.float()
    kept = better | first
    gone = said.predicted != origin
    return {
        "log_p_before": torch.where(state["calls"] == 0, log_p, state["log_p_before"]),
        "log_p": torch.where(kept, log_p, state["log_p"]),
        "predicted": torch.where(kept, said.predicted, state["predicted"]),
        "reached": state["reached"] | said.reached,
        "finite": state["finite"] & said.finite,
        "left": torch.where(gone, torch.minimum(state["left"], linf), state["left"]),
        "calls": state["calls"] + 1,
    }
