"""How a network is trained: a network's own recipe, and what a user says instead."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, replace
from typing import Any, Literal

from brittle.errors import BrittleError
from brittle.registry.options import option, validated

Optimiser = Literal["sgd", "adamw"]
Schedule = Literal["constant", "cosine", "step"]
Precision = Literal["float32", "bfloat16"]
Objective = Literal["mixed", "reformulated"]

SCHEDULES = "learning rate: constant, cosine down to 0, or step (a hundredth of it for the second half of training)"

RATES: dict[str, Any] = {"above": 0, "most": 1e6, "flag": "lr"}


@validated("recipe")
@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a network is trained."""

    epochs: int = option(50, "how often every image is seen", least=1)
    batch: int = option(128, "images per step", least=1)
    rate: float = option(0.05, "peak learning rate", **RATES)
    optimiser: Optimiser = option("sgd", "sgd (with momentum) or adamw")
    momentum: float = option(0.9, "momentum of sgd", least=0, below=1)
    decay: float = option(0.0, "weight decay", least=0)
    schedule: Schedule = option("constant", SCHEDULES)
    warm_up: float = option(0.0, "share of training during which the learning rate rises to its peak", least=0, below=1)
    precision: Precision = option("float32", "precision of forward and backward passes; weights are float32")

    def rate_at(self, done: float) -> float:
        """The learning rate after a share `done` of training."""
        if done < self.warm_up:
            return self.rate * done / self.warm_up
        if self.schedule == "constant":
            return self.rate
        if self.schedule == "step":
            return self.rate if done < 0.5 else self.rate / 100
        return self.rate * 0.5 * (1 + math.cos(math.pi * (done - self.warm_up) / (1 - self.warm_up)))


@validated("train")
@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What a user may say about a training; the network's own recipe says the rest."""

    epochs: int | None = option(None, "how often every image is seen", least=1)
    batch_size: int | None = option(None, "images per step", least=1)
    rate: float | None = option(None, "learning rate", **RATES)
    schedule: Schedule | None = option(None, SCHEDULES)
    decay: float | None = option(None, "weight decay", least=0)
    precision: Precision | None = option(None, "float32, or bfloat16 for large networks on a GPU; weights stay float32")
    mix: str | None = option(None, "a mix's spec, such as mixup, cutmix, fmix, random-masks or cutout:size=8")
    objective: Objective = option(
        "mixed", "mixed: the loss weighs both images' labels; reformulated: only the first one's, which has more weight"
    )
    mix_with: Any = option(None, "images, of which only pixels are used, to mix with; IMAGES themselves by default")
    crop: int = option(0, "pixels of black around an image before it is cropped at random to its size", least=0)
    flip: bool = option(False, "mirror a random half of the images")
    random_labels: bool = option(False, "replace each training image's label by a random one, the same in every epoch")
    compile: bool = option(False, "compile the network (torch.compile): a minute's wait, then faster steps on a GPU")
    checkpoints: int = option(1, "epochs from one checkpoint to the next; 0 for none", least=0)

    def __post_init__(self) -> None:
        remedy = "Name a mix: --mix mixup."
        if self.mix is None and self.mix_with is not None:
            raise BrittleError("train: there are images to mix with, but no mix", remedy)
        if self.mix is None and self.objective == "reformulated":
            raise BrittleError("train: the reformulated objective is about mixed images, and there is no mix", remedy)
        if self.mix_with is not None and self.objective == "mixed":
            raise BrittleError(
                "train: labels can't be mixed with those of other images", "Use --objective reformulated."
            )

    def changed(self, recipe: Recipe) -> Recipe:
        """The recipe with what was said."""
        said: dict[str, Any] = {"epochs": self.epochs, "batch": self.batch_size, "rate": self.rate}
        said |= {"schedule": self.schedule, "decay": self.decay, "precision": self.precision}
        return replace(recipe, **{key: value for key, value in said.items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class TrainingInputs:
    """What is trained, on what, and where to."""

    network: str = option(
        MISSING, "a network's spec, such as cnn-2, cnn-1-da:shift=4 or preact-resnet-18:classes=9", positional=True
    )
    images: str = option(MISSING, "the training images' spec, such as idx:images.gz,labels=labels.gz", positional=True)
    out: str = option(MISSING, "the file of weights, .safetensors; a training that was interrupted is resumed")
    test: str | None = option(None, "images whose error is printed once training is over")
    seed: int = option(0, "the seed of first weights, order, augmentation, mixing, random labels and dropout")
