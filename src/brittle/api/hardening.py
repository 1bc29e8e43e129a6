"""Hardening a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.carried_out import Shown, shown, unseen, warn
from brittle.api.paths import given_classifier, given_images

if TYPE_CHECKING:
    from brittle.results import Hardened


def harden(
    classifier: Any,
    images: Any,
    nuisance: Any,
    out: str | Path | None = None,
    *,
    test: Any = None,
    on: Literal["weak-points", "prior"] = "weak-points",
    loss: Literal["equal", "corrected"] = "corrected",
    rounds: int = 3,
    steps: int = 300,
    batch_size: int = 128,
    share: float = 0.5,
    anchor: float = 0.5,
    sampled: int = 5000,
    calls: int = 40_000,
    sampler: str = "importance",
    held_out: float = 0.2,
    ways: Sequence[float] = (0.5, 0.75, 1.0),
    cost: float = 0.01,
    samples: int = 100,
    rate: float | None = None,
    decay: float = 0.01,
    seed: int = 0,
    device: str | None = None,
    progress: Shown = None,
) -> Hardened:
    """Fine-tunes a classifier on its weak points under a nuisance, in rounds; the classifier given stays as it is.

    `classifier` is a torch module, or the spec of one. `images` are labelled; parts of them choose the round and
    measure before and after, or parts of `test`. `out` gets the weights, what happened in every round, and a run folder
    of before and after with its report; the same call resumes after its last finished round. What the other options
    mean, `brittle harden --help` says.
    """
    # What trains is imported when something is trained.
    from brittle.hardening.harden import harden_classifier
    from brittle.results import Hardened

    with shown(progress) as seen:
        found = harden_classifier(
            given_classifier(classifier),
            given_images(images),
            nuisance,
            out,
            test=given_images(test),
            on=on,
            loss=loss,
            rounds=rounds,
            steps=steps,
            batch_size=batch_size,
            share=share,
            anchor=anchor,
            sampled=sampled,
            calls=calls,
            sampler=sampler,
            held_out=held_out,
            ways=tuple(ways),
            cost=cost,
            samples=samples,
            rate=rate,
            decay=decay,
            seed=seed,
            device=device,
            progress=seen,
        )
    hardened = Hardened(**vars(found))
    if out is not None:
        hardened.report()
    warn([*unseen(seen), *found.summary["warnings"]])
    return hardened
