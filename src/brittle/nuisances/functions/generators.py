"""The global random generators that somebody's function draws from: seeded before each call, put back afterwards."""

# ruff: noqa: NPY002 (numpy's global generator is the one that such functions use)

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn


def seed_generators(function: Any, key: int, device: torch.device) -> None:
    """Seeds torch's (on the CPU and on the images' device), numpy's and Python's generators, and those that an
    albumentations transform holds itself."""
    for generator in _of_torch(device):
        generator.manual_seed(key)
    np.random.seed(key % 2**32)
    random.seed(key)
    if hasattr(function, "set_random_state"):
        function.set_random_state(np.random.default_rng(key % 2**64), random.Random(key))


class GeneratorWatch:
    """Tells whether a generator has been drawn from since the watch began."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.states = device, _states(device)

    def drawn(self) -> bool:
        return any(before != after for before, after in zip(self.states, _states(self.device), strict=True))


@contextmanager
def restored_generators(function: Any, device: torch.device) -> Iterator[None]:
    """Afterwards the generators are as they were, and so are the attributes of the function and its parts: Kornia's
    transforms remember their last draw, and albumentations' hold their generators."""
    torches = [(generator, generator.get_state()) for generator in _of_torch(device)]
    numpys, pythons = np.random.get_state(), random.getstate()
    held = [(part, dict(vars(part))) for part in _parts(function)]
    try:
        yield
    finally:
        for generator, state in torches:
            generator.set_state(state)
        np.random.set_state(numpys)
        random.setstate(pythons)
        for part, attributes in held:
            vars(part).clear()
            vars(part).update(attributes)


def _of_torch(device: torch.device) -> list[torch.Generator]:
    # torch.manual_seed would seed every device, and keep the traceback of each call until CUDA is first used.
    here = [torch.default_generator]
    if device.type == "cuda":
        here.append(torch.cuda.default_generators[device.index])
    return here


def _states(device: torch.device) -> list[object]:
    """In a form that can be compared."""
    numpys: Any = np.random.get_state()
    torches = [generator.get_state().numpy().tobytes() for generator in _of_torch(device)]
    return [*torches, (numpys[1].tobytes(), *numpys[2:]), random.getstate()]


def _parts(function: Any) -> list[Any]:
    """A transform and the transforms that it consists of; none of a plain function."""
    if isinstance(function, nn.Module):
        return list(function.modules())
    if not hasattr(function, "set_random_state"):
        return []
    inner = getattr(function, "transforms", ())
    return [function, *(part for each in inner for part in _parts(each))]
