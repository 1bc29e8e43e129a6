"""How a classifier is hardened: the options, and the criterion by which a round is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError

from brittle.errors import BrittleError
from brittle.registry import did_you_mean, option, options_of
from brittle.samplers import sampler as open_sampler
from brittle.samplers.chain import ChainSampler
from brittle.samplers.importance import Importance
from brittle.samplers.rejection import Rejection
from brittle.training.trainer import Recipe

FEWEST_CALLS = 200  # an image, of a sampler that learns as it draws
MOST_MEASURED = 2000  # images that choose, and that before and after are measured on
RATE, RATE_OF_FEW, FEW = 1e-3, 3e-4, 5000  # few images are forgotten with less: benchmarks/harden_few.py

Trained = Literal["weak-points", "prior"]
Counted = Literal["equal", "corrected"]


@dataclass(frozen=True, kw_only=True)
class Hardening:
    """How a classifier is hardened."""

    on: Trained = option("weak-points", "what is trained on: weak-points, or plain draws of the prior")
    loss: Counted = option(
        "corrected", "how weak points count: equal, or corrected so that the mean loss is the prior's"
    )
    rounds: int = option(3, "how often weak points are sampled and trained on")
    steps: int = option(300, "gradient steps a round")
    batch_size: int = option(128, "images a gradient step")
    share: float = option(0.5, "share of a batch that is transformed; the others are clean")
    anchor: float = option(0.5, "share of the untouched classifier's answer in what transformed images are trained to")
    sampled: int = option(5000, "training images a round whose weak points are sampled, at most")
    calls: int = option(40_000, "classifier calls a round in sampling")
    sampler: str = option("importance", "how weak points are drawn: the spec of a sampler of populations")
    rate: float | None = option(
        None,
        f"learning rate, at its highest in a round: {RATE:g}, or {RATE_OF_FEW:g} with fewer than {FEW} training images",
    )
    decay: float = option(0.01, "weight decay")
    held_out: float = option(
        0.2, f"share of the images that chooses the round, and as many test it: {MOST_MEASURED} each at most"
    )
    ways: tuple[float, ...] = option(
        (0.5, 0.75, 1.0), "how far from the untouched weights to a round's own the candidates lie, up to 1"
    )
    cost: float = option(0.01, "clean accuracy that a round may have lost on the held-out images to be chosen")
    samples: int = option(100, "draws of θ an image in measuring before and after")

    def __post_init__(self) -> None:
        for name, words in (("on", get_args(Trained)), ("loss", get_args(Counted))):
            if getattr(self, name) not in words:
                raise BrittleError(f"{name} is {getattr(self, name)!r}", f"Give {' or '.join(words)}.")
        for name in ("rounds", "steps", "batch_size", "sampled", "calls", "samples"):
            if getattr(self, name) < 1:
                raise BrittleError(f"{name.replace('_', '-')} is {getattr(self, name)}", "Give at least 1.")
        if not 0 < self.share <= 1:
            raise BrittleError(f"share is {self.share:g}", "Give a share of a batch above 0 and up to 1, such as 0.5.")
        if not 0 < self.held_out < 0.5:
            raise BrittleError(
                f"held-out is {self.held_out:g}", "Give a share below 0.5, since the test part is as large."
            )
        if not self.ways or not all(0 < way <= 1 for way in self.ways):
            raise BrittleError(f"ways are {self.ways}", "Give shares above 0 and up to 1, such as 0.5 and 1.")
        if not 0 <= self.anchor <= 1:
            raise BrittleError(f"anchor is {self.anchor:g}", "Give a share between 0 and 1, such as 0.5.")
        if not 0 <= self.cost <= 1:
            raise BrittleError(f"cost is {self.cost:g}", "Give a share of the images, such as 0.01.")
        self.recipe(FEW)  # refuses rates that are none
        if isinstance(open_sampler(self.sampler), ChainSampler):
            raise BrittleError(
                f"the sampler {self.sampler!r} walks in chains, which say nothing of how often an image fails",
                "Use importance, adaptive, smc or auto.",
            )

    @property
    def fewest_calls(self) -> int:
        """Classifier calls an image that the sampler can do something with."""
        return 1 if isinstance(open_sampler(self.sampler), (Importance, Rejection)) else FEWEST_CALLS

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


def checked(options: dict[str, Any]) -> Hardening:
    """The settings from options as a caller spells them."""
    known = {field.name for field in options_of(Hardening).values()}
    for key in options:
        if key not in known:
            raise BrittleError(f"harden has no option {key!r}", did_you_mean(key, known))
    try:
        return TypeAdapter(Hardening).validate_python(options)
    except ValidationError as error:
        first = error.errors()[0]
        raise BrittleError(f"harden, option {first['loc'][0]!r}: {first['msg']}", "Mend that value.") from error
