"""How training images are augmented, what is minimised and what is recorded, from a user's options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import of_one_shape
from brittle.mixing import mixes
from brittle.random import draw_keys, uniform
from brittle.training import Network
from brittle.training.augmentation import AugmentationChain, BatchAugmentation, CropAndFlip, KeyedTransform
from brittle.training.data import TrainingImages
from brittle.training.mixing.mixer import Mixer
from brittle.training.mixing.objective import majority_cross_entropy, mixed_cross_entropy
from brittle.training.options import TrainingOptions
from brittle.training.step import Loss
from brittle.training.trainer import TrainingHistory, cross_entropy

DIVERSITY, MIX_DIVERSITY = "diversity", "mix_diversity"
RECORDED = (DIVERSITY, MIX_DIVERSITY)


class TrainingPlan(NamedTuple):
    augmentation: BatchAugmentation | None
    loss: Loss
    record: Mapping[str, Loss]  # losses that are not minimised
    about: Mapping[str, Any]  # what a resumed training must have in common; no entry for what is not used
    mixed_with: str | None = None  # the name of the other image set
    capture: bool = True  # whether steps may be captured, as far as this is concerned

    def diversities(self, went: TrainingHistory) -> dict[str, float | None]:
        """The losses of the last epoch with the majority's label and with mixed labels. Where nothing is mixed, both
        are the training loss; where the partners' labels are ignored, neither can be said."""
        if self.mixed_with is not None:
            return dict.fromkeys(RECORDED)
        return {name: went.recorded.get(name, went.losses)[-1] for name in RECORDED}


def training_plan(kind: Network, options: TrainingOptions, seed: int, device: torch.device) -> TrainingPlan:
    """The network's own augmentation, then crop and flip, then the mix."""
    own, parts, about = kind.transform(), list[BatchAugmentation](), dict[str, Any]()
    loss: Loss = cross_entropy
    record: dict[str, Loss] = {}
    mixed_with, held = None, True
    if own is not None:
        parts.append(KeyedTransform(own))
    if options.crop >= min(kind.shape[1:]):
        raise BrittleError(
            f"crop is {options.crop}, as much as images of {kind.shape[1]}×{kind.shape[2]} pixels have on a side: some "
            "crops would be black",
            "Use a smaller --crop, such as 4.",
        )
    if options.crop or options.flip:
        parts.append(CropAndFlip(options.crop, options.flip))
        about |= {"crop": options.crop, "flip": options.flip}
    if options.random_labels:
        about["random_labels"] = True
    if options.mix is not None:
        mixer = _mixer(kind, options, seed, device)
        parts.append(mixer)
        about["mix"] = mixes.spec_of(mixer.mix)
        if mixer.mix.pairs:
            about["objective"] = options.objective
        if mixer.others is not None:
            about["mix_with"], mixed_with = mixer.others.fingerprint(), mixer.others.set.name
            held = mixer.others.pixels is not None  # otherwise they are read for every batch
        elif mixer.mix.pairs:
            record[DIVERSITY] = majority_cross_entropy
            if mixer.mixed_targets:
                loss = mixed_cross_entropy
            else:
                record[MIX_DIVERSITY] = mixed_cross_entropy
    return TrainingPlan(AugmentationChain(parts) if parts else None, loss, record, about, mixed_with, held)


def refuse_single_image_batches(plan: TrainingPlan, images: int, batch: int) -> None:
    """An image that is alone in its batch would be mixed with itself."""
    if plan.record and min(images, batch) < 2:
        remedy = "Give more images." if images < 2 else "Use --batch-size 2 or more."
        raise BrittleError(f"{plan.about['mix']} mixes the images of a batch, and a batch has one", remedy)


def random_labels(data: TrainingImages, classes: int, seed: int) -> TrainingImages:
    """The images with labels that depend on seed and id alone, uniform over the classes."""
    keys = draw_keys(seed, "random labels", data.ids, torch.zeros(1, dtype=torch.int64))
    return data.relabelled((uniform(keys[:, 0], 1)[:, 0] * classes).long())


def _mixer(kind: Network, options: TrainingOptions, seed: int, device: torch.device) -> Mixer:
    assert options.mix is not None
    mix, mixed_targets = mixes.build(options.mix), options.objective == "mixed"
    if not mix.pairs and (options.mix_with is not None or not mixed_targets):
        raise BrittleError(
            f"{options.mix} mixes no images, so --mix-with and --objective mean nothing", "Leave them out."
        )
    if options.mix_with is None:
        return Mixer(mix, mixed_targets, seed)
    given = options.mix_with
    others = given if isinstance(given, TrainingImages) else TrainingImages(image_set(given), device, labelled=False)
    if of_one_shape(others.set).shape != kind.shape:
        wanted, there = ("×".join(map(str, each)) for each in (kind.shape, others.set.shape))
        raise BrittleError(
            f"{others.set.name!r} has images of {there}, which can't be mixed with images of {wanted}",
            "For a folder, give size=…, crop=… and channels=….",
        )
    moves = CropAndFlip(options.crop, options.flip, "partner moves") if options.crop or options.flip else None
    return Mixer(mix, mixed_targets, seed, others, moves)
