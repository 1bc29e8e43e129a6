"""How often is the gate wrong? Simulated pairs of classifiers, as Markdown tables.

    python benchmarks/gate.py

Seeded; some minutes on one core. A release may be less robust by 0.01. Images differ in difficulty: the chance that a
picture is right is drawn from Beta(4.25, 0.75) per image, with mean 0.85. Both classifiers see the same 20 θ per image,
and a picture is right where one uniform number per θ, shared by both, lies below that chance. What is judged is
accuracy; the verdicts are those of `brittle check`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brittle.comparison.paired import ChangedNumber, ComparedCell
from brittle.statistics.estimate import Estimate
from brittle.statistics.intervals import simultaneous
from brittle.statistics.paired_change import ChangeDesign, items_to_tell, mean_change

Array = npt.NDArray[np.float64]
ALLOW, CONFIDENCE, DRAWS, MEAN = 0.01, 0.95, 20, 0.85
COUNTS = (20, 200, 1000, 5000)
LOOKS = (200, 400, 800, 1600, 3200, 6400)
STUDIES = 1000


class Kind(NamedTuple):
    """How the second classifier differs: chances (M,) of the first → of the second, and how ρ changes."""

    name: str
    changed: Callable[[np.random.Generator, Array], Array]
    by: float


def otherwise(random: np.random.Generator, chances: Array) -> Array:
    """A fifth of the images become as hard as an image drawn anew: the mean stays."""
    anew = random.beta(5 * MEAN, 5 * (1 - MEAN), chances.shape)
    return np.where(random.random(chances.shape) < 0.2, anew, chances)


def lost(by: float) -> Callable[[np.random.Generator, Array], Array]:
    """Some images are never right any more: the mean falls by `by`."""
    return lambda random, chances: np.where(random.random(chances.shape) < by / MEAN, 0.0, chances)


def lower(by: float) -> Callable[[np.random.Generator, Array], Array]:
    """Every image is a little less often right."""
    return lambda random, chances: chances * (1 - by / MEAN)


KINDS = (
    Kind("equally robust, other answers", otherwise, 0.0),
    Kind("fell by exactly 0.01, on few images", lost(0.01), -0.01),
    Kind("fell by exactly 0.01, on every image", lower(0.01), -0.01),
    Kind("fell by 0.03, on few images", lost(0.03), -0.03),
    Kind("fell by 0.03, on every image", lower(0.03), -0.03),
    Kind("fell by 0.1, on few images", lost(0.1), -0.1),
)


def accuracy_changes(random: np.random.Generator, kind: Kind, images: int) -> Array:
    """(1, M): after minus before, of the mean over draws."""
    before = random.beta(5 * MEAN, 5 * (1 - MEAN), images)
    after = kind.changed(random, before)
    shared = random.random((DRAWS, images))
    return ((shared < after).astype(np.float64) - (shared < before)).mean(0, keepdims=True)


def state(changes: Array, planned: int | None, level: float) -> str:
    """The verdict on one number, by the gate's own rule."""
    design = ChangeDesign("population", planned, changes.shape[1], DRAWS)
    found = mean_change(changes, design, level)
    cell = ComparedCell("robustness", "new", "old", "images", "nuisance", False)
    change = ChangedNumber(cell, "accuracy", 0.0, 0.0, found, Estimate(), changes.shape[1], DRAWS, design, changes)
    return change.state(ALLOW)


def overall(states: list[str]) -> str:
    """What several numbers come to."""
    return "failed" if "failed" in states else "unsure" if "unsure" in states else "passed"


def judged(kind: Kind, images: int, family: int, studies: int) -> Counter[str]:
    random = np.random.default_rng([images, family, KINDS.index(kind)])
    level = simultaneous(CONFIDENCE, family)
    return Counter(
        overall([state(accuracy_changes(random, kind, images), images, level) for _ in range(family)])
        for _ in range(studies)
    )


def once() -> None:
    print("\nOne look, all images planned:\n")
    print("| second classifier | images | numbers | failed | passed | can't be told yet |\n|" + " --- |" * 6)
    for kind in KINDS:
        for images in COUNTS:
            for family in (1, 8):
                studies = STUDIES // (1 if family == 1 else 4)
                found = judged(kind, images, family, studies)
                shares = (found[each] / studies for each in ("failed", "passed", "unsure"))
                print(f"| {kind.name} | {images:,} | {family} | {' | '.join(f'{share:.3f}' for share in shares)} |")


def again() -> None:
    """Looking at more and more images, and stopping at the first verdict."""
    print(f"\nLooked at again, at {', '.join(map(str, LOOKS))} images, until it could be told:\n")
    print("| second classifier | failed | passed | never told | mean images |\n|" + " --- |" * 5)
    for kind in KINDS:
        random = np.random.default_rng([7, KINDS.index(kind)])
        states: Counter[str] = Counter()
        used = []
        for _ in range(STUDIES // 2):
            changes = accuracy_changes(random, kind, LOOKS[-1])
            for images in LOOKS:
                found = state(changes[:, :images], None, CONFIDENCE)
                if found != "unsure":
                    break
            states[found] += 1
            used.append(images)
        shares = (states[each] / (STUDIES // 2) for each in ("failed", "passed", "unsure"))
        print(f"| {kind.name} | {' | '.join(f'{share:.3f}' for share in shares)} | {np.mean(used):,.0f} |")


def extremes() -> None:
    """Where nothing varies: both classifiers always right, always wrong, or one of each."""
    print("\nWhere nothing varies:\n\n| pair | images | verdict | would tell |\n|" + " --- |" * 4)
    for name, change in (("both always right, or always wrong", 0.0), ("right before, wrong now", -1.0)):
        for images in COUNTS:
            changes = np.full((1, images), change)
            design = ChangeDesign("population", images, images, DRAWS)
            found = state(changes, images, CONFIDENCE)
            told = items_to_tell(changes, design, CONFIDENCE, -ALLOW) if found == "unsure" else None
            print(f"| {name} | {images:,} | {found} | {'–' if told is None else f'{told:,}'} |")


def estimates() -> None:
    """Whether the number of images that is said to tell is about what it then takes."""
    print("\nHow many images are said to tell after 300 (median and quartiles), and how often those do tell:\n")
    print("| second classifier | still open | said | told then |\n|" + " --- |" * 4)
    for kind in (*KINDS[:1], *KINDS[3:5]):
        random = np.random.default_rng([11, KINDS.index(kind)])
        said, told, unsure = [], [], 0
        for _ in range(200):
            changes = accuracy_changes(random, kind, 300)
            if state(changes, 300, CONFIDENCE) != "unsure":
                continue
            unsure += 1
            count = items_to_tell(changes, ChangeDesign("population", 300, 300, DRAWS), CONFIDENCE, -ALLOW)
            if count is not None:
                said.append(count)
                told.append(state(accuracy_changes(random, kind, count), count, CONFIDENCE) != "unsure")
        low, middle, high = np.percentile(said, [25, 50, 75])
        print(f"| {kind.name} | {unsure} of 200 | {middle:,.0f} ({low:,.0f} to {high:,.0f}) | {np.mean(told):.2f} |")


if __name__ == "__main__":
    once()
    again()
    extremes()
    estimates()
