"""Which classes images are changed to: every other one, some that are named, or a few drawn per image."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.imagenet import by_name
from brittle.measures.targeted_search import UNTARGETED
from brittle.random import uniform
from brittle.registry import did_you_mean

ALL, NONE = "all", "none"


def named_classes(targets: Sequence[str], labels: Sequence[str]) -> list[int]:
    """The numbers of the classes that are named; empty for all of them."""
    if tuple(targets) == (ALL,):
        return []
    found, places = [], by_name(labels)
    for name in targets:
        if name in places:
            found.append(places[name])
        elif name.isdecimal() and len(name) < 10 and int(name) < len(labels):
            found.append(int(name))
        else:
            raise BrittleError(
                f"the classifier has no single class called {name!r} to change images to",
                did_you_mean(name, [*labels, ALL]),
            )
    if not found:
        raise BrittleError("perturbation: no targets are given", f"Name some, or say {ALL!r}.")
    return list(dict.fromkeys(found))


def slots(candidates: Sequence[int], classes: int, draw: int | None) -> int:
    """Targets of an image: its own class is left out, where that is one of the candidates only later."""
    there = len(candidates) or classes - 1
    return there if draw is None else min(draw, there)


def target_of(
    candidates: Sequence[int], classes: int, draw: int | None, origin: Tensor, slot: Tensor, keys: Tensor
) -> Tensor:
    """The target (n,) in a slot (n,) of images whose own class is `origin` (n,), and whose key is `keys` (n,);
    UNTARGETED where it would be their own class."""
    if not candidates and draw is None:
        return slot + (slot >= origin)
    among = torch.tensor(list(candidates or range(classes)), device=origin.device)
    if draw is None:
        target = among[slot]
    else:
        order = uniform(keys, classes)[:, among].masked_fill(among == origin[:, None], torch.inf)
        target = among[order.argsort(1).gather(1, slot[:, None])[:, 0]]
    return torch.where(target == origin, UNTARGETED, target)
