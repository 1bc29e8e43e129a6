"""Hardening a classifier."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittle.hardening.harden import Hardened


def harden(
    classifier: Any, images: Any, nuisance: Any, out: str | Path | None = None, *, test: Any = None, **options: Any
) -> Hardened:
    """Fine-tunes a classifier on its weak points under a nuisance, in rounds; the classifier given stays as it is.

    `classifier` is a torch module, or the spec of one. `images` are labelled; parts of them choose the round and
    measure before and after, or parts of `test`. `out` gets the weights, what happened in every round, and where
    everything is named by a spec, a run folder of before and after; the same call resumes after its last finished
    round. `options` are those of `brittle.hardening.options.HardeningOptions` (on, rounds, steps, share, rate,
    held_out, …), and seed, device and progress.
    """
    from brittle.hardening.harden import harden_classifier  # what trains is imported when something is trained

    return harden_classifier(classifier, images, nuisance, out, test=test, **options)
