"""How a classifier is hardened: the options, and the criterion by which a round is chosen."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Literal

from brittle.registry.options import option, validated
from brittle.training.options import RATES, Recipe

MOST_MEASURED = 2000  # images that choose, and that before and after are measured on
RATE, RATE_OF_FEW, FEW = 1e-3, 3e-4, 5000  # few images are forgotten with less: benchmarks/harden_few.py


@validated("harden")
@dataclass(frozen=True, kw_only=True)
class HardeningOptions:
    """How a classifier is hardened."""

    on: Literal["weak-points", "prior"] = option(
        "weak-points", "what is trained on: weak-points, or plain draws of the prior"
    )
    loss: Literal["equal", "corrected"] = option(
        "corrected", "how weak points count: equal, or corrected so that the mean loss is the prior's"
    )
    rounds: int = option(3, "how often weak points are sampled and trained on", least=1)
    steps: int = option(300, "gradient steps per round", least=1)
    batch_size: int = option(128, "images per gradient step", least=1)
    share: float = option(0.5, "share of a batch that is transformed; the others are clean", above=0, most=1)
    anchor: float = option(
        0.5, "share of the untouched classifier's answer in what transformed images are trained to", least=0, most=1
    )
    sampled: int = option(5000, "training images per round whose weak points are sampled, at most", least=1)
    calls: int = option(40_000, "classifier calls per round in sampling", least=1)
    sampler: str = option("importance", "how weak points are drawn: the spec of a sampler of populations")
    held_out: float = option(
        0.2,
        f"share of the images that chooses the round, and as many test it: {MOST_MEASURED} each at most",
        above=0,
        below=0.5,
        remedy="The test part is as large.",
    )
    ways: tuple[float, ...] = option(
        (0.5, 0.75, 1.0),
        "how far from the untouched weights to a round's own the candidates lie, up to 1",
        above=0,
        most=1,
        fewest=1,
    )
    cost: float = option(
        0.01, "clean accuracy that a round may have lost on the held-out images to be chosen", least=0, most=1
    )
    samples: int = option(100, "draws of θ per image in measuring before and after", least=1)
    rate: float | None = option(
        None,
        f"learning rate, at its highest in a round: {RATE:g}, or {RATE_OF_FEW:g} with fewer than {FEW} training images",
        **RATES,
    )
    decay: float = option(0.01, "weight decay", least=0)

    @property
    def transformed(self) -> int:
        """Images of a batch that are transformed."""
        return max(1, round(self.share * self.batch_size))

    def recipe(self, images: int) -> Recipe:
        """How a round trains, with so many training images."""
        return Recipe(
            epochs=1,
            batch=self.batch_size,
            rate=self.rate or (RATE if images >= FEW else RATE_OF_FEW),
            optimiser="adamw",
            decay=self.decay,
            schedule="cosine",
            warm_up=0.05,
        )

    @property
    def criterion(self) -> str:
        """How the round is chosen, said beforehand."""
        ways = ", ".join(f"{way:g}" for way in self.ways)
        points = f"{100 * self.cost:g} percentage point{'' if self.cost == 0.01 else 's'}"
        return (
            f"the greatest ρ̂ under the nuisance on the held-out images, among the untouched classifier (round 0) and, "
            f"after every round, the weights {ways} of the way from it to the round's own, whose clean accuracy there "
            f"is at most {points} below the untouched classifier's"
        )


@dataclass(frozen=True, kw_only=True)
class HardeningInputs:
    """What is hardened, against what, and where to."""

    classifier: str = option(
        MISSING, "the spec of a torch module, such as torch:package.module:factory,weights=…", positional=True
    )
    images: str = option(MISSING, "labelled images' spec, such as folder:photos; split into parts", positional=True)
    nuisance: str = option(MISSING, "a nuisance's spec, such as affine:alpha=100")
    out: str = option(MISSING, "the folder for weights, rounds and report; a hardening that was interrupted is resumed")
    test: str | None = option(
        None, "images that choose the round and measure before and after; parts of IMAGES by default"
    )
    seed: int = option(0, "the seed of every random draw")
