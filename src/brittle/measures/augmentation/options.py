"""Which augmentations are looked at, and by whom."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.commands import LOOKS, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class AugmentationOptions:
    """The options of the measure `augmentation`."""

    of: tuple[str, ...] = option(
        ("mixup", "cutmix", "fmix"),
        "augmentations: specs of mixes (mixup, fmix:alpha=2) and of nuisances; may be repeated",
    )
    reference: str | None = option(
        None, "classifiers whose accuracy tells affinity, by name or group: trained without these; all by default"
    )
    samples: int = option(1, "draws per image and augmentation", least=1, most=10**5, extends=True)
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "augmentation",
    "Measure how much accuracy a classifier loses on augmented images (affinity), with the augmentation's diversity.",
    AugmentationOptions,
    LOOKS,
    nuisance="none",
)
