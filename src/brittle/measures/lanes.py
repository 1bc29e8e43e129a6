"""One loop for searches that take a different number of steps for each item: a finished item's place goes to the next.

Items are worked on in lanes of a fixed size, so that what a classifier sees is always a batch of that size: nothing
found for an item depends on its neighbours, on how many there are, or on when they finish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

State = dict[str, Tensor]  # (n, …) each: what is known of n items
Stepped = Callable[[], tuple[State, Tensor]]  # what a step changes of the state, and which items have finished

LANES, LANES_ON_A_GPU = 8, 4  # a GPU wants large batches


def lanes_on(device: torch.device | str) -> int:
    return LANES if torch.device(device).type == "cpu" else LANES_ON_A_GPU


def lane_size(batch_size: int, device: torch.device | str = "cpu") -> int:
    """Items that are stepped together: a part of what fits, since the last lanes are partly idle."""
    return max(1, batch_size // lanes_on(device))


def in_turn(step: Callable[[Tensor, State], tuple[State, Tensor]]) -> Callable[[Tensor, State], Stepped]:
    """A step that begins when it is waited for, so that one lane at a time holds what its gradients need."""
    return lambda item, state: partial(step, item, state)


def final_states(
    items: int,
    size: int,
    begin: Callable[[Tensor], State],
    step: Callable[[Tensor, State], Stepped],
    kept: Sequence[str],
    device: torch.device | str = "cpu",
) -> State:
    """What is `kept` (items, …) of the state in which each item finished.

    `begin` gives the state of some items (n,); `step` takes the items (B,) of a lane and their state, and gives, once
    it is waited for, what changes of it and which items (B,) have finished. All lanes are stepped before any is waited
    for. A place without an item is worked on as if it held the last one.
    """
    if not items:
        return {}
    results: State = {}
    following, lanes_left = 0, []
    for _ in range(min(lanes_on(device), -(-items // size))):
        item = torch.arange(following, following + size, device=device)
        lanes_left.append(_Lane(item.clamp(max=items - 1), item < items, begin(item.clamp(max=items - 1))))
        following = min(items, following + size)
    while lanes_left:
        waiting = [step(lane.item, lane.state) for lane in lanes_left]
        for lane, stepped in zip(lanes_left, waiting, strict=True):
            after, finished = stepped()
            lane.state.update(after)
            done = (finished & lane.busy).nonzero()[:, 0]
            if not len(done):
                continue
            for name in kept:
                values = lane.state[name]
                if name not in results:
                    results[name] = values.new_empty(items, *values.shape[1:])
                results[name][lane.item[done]] = values[done]
            places, idle = done[: items - following], done[items - following :]
            if len(places):
                fresh = torch.arange(following, following + len(places), device=device)
                lane.item = lane.item.index_copy(0, places, fresh)
                for name, values in begin(fresh).items():
                    # Not in place: a step may have given one tensor two names.
                    lane.state[name] = lane.state[name].index_copy(0, places, values)
                following += len(places)
            lane.busy[idle] = False
        lanes_left = _compacted(lanes_left, size)
    return results


@dataclass
class _Lane:
    """Places that are worked on together."""

    item: Tensor  # (size,)
    busy: Tensor  # (size,) bool
    state: State


def _compacted(lanes: list[_Lane], size: int) -> list[_Lane]:
    """As few lanes as hold what is still busy."""
    busy = torch.cat([lane.busy for lane in lanes])
    wanted = -(-int(busy.sum()) // size)
    if wanted == len(lanes):
        return lanes
    order = torch.argsort(busy.logical_not().to(torch.uint8), stable=True)[: wanted * size]
    item = torch.cat([lane.item for lane in lanes])
    state = {name: torch.cat([lane.state[name] for lane in lanes]) for name in lanes[0].state}
    return [
        _Lane(item[each], busy[each], {name: values[each] for name, values in state.items()})
        for each in (order[lane * size :][:size] for lane in range(wanted))
    ]
