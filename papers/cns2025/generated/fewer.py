"""Do half of the classes stand for all, and does a faster sampler change the answer (A.7.4, figure 25)?

The paper takes 100 of 1,000 classes, two shifts, and UniPC with 20 steps; here it is five of ten, and the same sampler
beside the usual one.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
from benchmark import made, opened_table
from drops import curve_rows
from numpy.typing import NDArray
from train import generator
from work import CLASSES, SCALES, Work

from classifiers import MEASURED, opened, predicted

SHIFTS = ("snow", "fog")
STEPS = 20
HALF = len(CLASSES) // 2


def fewer(work: Work) -> None:
    """Over all 252 halves of the classes, and by both samplers."""
    shifts = [shift for shift in SHIFTS if shift in work.sizes.shifts]
    table = opened_table(work)
    pixels, halves, curves = table.pixels(), list[dict[str, Any]](), list[dict[str, Any]]()
    places, group = (np.concatenate(each) for each in zip(*map(table.paths, shifts), strict=True))
    quick, seeds = _by_unipc(work, shifts), work.sizes.seeds
    label = np.repeat(np.tile(np.arange(len(CLASSES)), len(shifts)), seeds)
    for name in MEASURED:
        model = opened(work, name)
        right = (predicted(model, pixels).numpy() == table.label).astype(float)
        halves += [{"classifier": name} | row for row in _of_halves(right[places], table.label[places[:, 0]])]
        curves += curve_rows({"classifier": name, "sampler": "ddim", "steps": work.sizes.steps}, right, places, group)
        answers = predicted(model, quick).numpy().reshape(len(label), len(SCALES))
        own = np.arange(answers.size).reshape(answers.shape)
        good = (answers == label[:, None]).astype(float).ravel()
        seed = np.tile(np.arange(1, seeds + 1), len(label) // seeds)
        about = {"classifier": name, "sampler": "unipc", "steps": min(STEPS, work.sizes.steps)}
        curves += curve_rows(about, good, own, label * 10_000 + seed)
    work.write("fewer-classes", halves)
    work.write("fewer-steps", curves)


def _by_unipc(work: Work, shifts: list[str]) -> Any:
    usual = generator(work)
    sampling = dataclasses.replace(usual.sampling, sampler="unipc", steps=min(STEPS, work.sizes.steps))
    every = itertools.product(shifts, range(len(CLASSES)), range(1, work.sizes.seeds + 1), SCALES)
    wanted = [made(label, seed, {shift: scale}) for shift, label, seed, scale in every]
    return dataclasses.replace(usual, sampling=sampling).images(wanted)


def _of_halves(right: NDArray[np.float64], label: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Accuracy at 0 and the mean drop above it: of all classes, and between which values they lie over halves."""
    of_class = np.array([right[label == each].mean(0) for each in range(len(CLASSES))])
    chosen = np.array([of_class[list(each)].mean(0) for each in itertools.combinations(range(len(CLASSES)), HALF)])
    rows = []
    for what, value in (
        ("accuracy at 0", lambda each: each[..., 0]),
        ("mean drop", lambda each: each[..., 0] - each[..., 1:].mean(-1)),
    ):
        low, high = np.quantile(value(chosen), [0.025, 0.975])
        rows.append({"number": what, "all": float(value(of_class.mean(0))), "low": float(low), "high": float(high)})
    return rows
