"""Train and harden

Made by `python -m brittle.api.generate`: change options where they are declared, not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.notices import ProgressOption
from brittle.api.train_and_harden import harden_classifier, train_network

if TYPE_CHECKING:
    from brittle.results import HardenResult
    from brittle.training import Network


def train(
    network: str | Network,
    images: Any,
    out: str | Path,
    *,
    test: Any = None,
    seed: int = 0,
    epochs: int | None = None,
    batch_size: int | None = None,
    rate: float | None = None,
    schedule: Literal["constant", "cosine", "step"] | None = None,
    decay: float | None = None,
    precision: Literal["float32", "bfloat16"] | None = None,
    mix: str | None = None,
    objective: Literal["mixed", "reformulated"] = "mixed",
    mix_with: Any = None,
    crop: int = 0,
    flip: bool = False,
    random_labels: bool = False,
    compile: bool = False,
    checkpoints: int = 1,
    device: str | None = None,
    progress: ProgressOption = None,
) -> dict[str, Any]:
    """Train a network by its own recipe into the file `out`, or resume its training.

    Gives what `brittle train --json` prints. `TrainingImages` may stand for images, and be shared.

    Parameters
    ----------
    network: a network's spec, such as cnn-2, cnn-1-da:shift=4 or preact-resnet-18:classes=9
    images: the training images' spec, such as idx:images.gz,labels=labels.gz
    out: the file of weights, .safetensors; a training that was interrupted is resumed
    test: images whose error is printed once training is over
    seed: the seed of first weights, order, augmentation, mixing, random labels and dropout
    epochs: how often every image is seen [at least 1]
    batch_size: images per step [at least 1]
    rate: learning rate [above 0 and at most 1000000]
    schedule: learning rate: constant, cosine down to 0, or step (a hundredth of it for the second half of training)
    decay: weight decay [at least 0]
    precision: float32, or bfloat16 for large networks on a GPU; weights stay float32
    mix: a mix's spec, such as mixup, cutmix, fmix, random-masks or cutout:size=8
    objective: mixed: the loss weighs both images' labels; reformulated: only the first one's, which has more weight
    mix_with: images, of which only pixels are used, to mix with; IMAGES themselves by default
    crop: pixels of black around an image before it is cropped at random to its size [at least 0]
    flip: mirror a random half of the images
    random_labels: replace each training image's label by a random one, the same in every epoch
    compile: compile the network (torch.compile): a minute's wait, then faster steps on a GPU
    checkpoints: epochs from one checkpoint to the next; 0 for none [at least 0]
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    progress: shown in a terminal and a notebook; never with False
    """
    return train_network(locals())


def harden(
    classifier: Any,
    images: Any,
    nuisance: Any,
    out: str | Path | None = None,
    *,
    test: Any = None,
    seed: int = 0,
    on: Literal["weak-points", "prior"] = "weak-points",
    loss: Literal["equal", "corrected"] = "corrected",
    rounds: int = 3,
    steps: int = 300,
    batch_size: int = 128,
    share: float = 0.5,
    anchor: float = 0.5,
    sampled: int = 5000,
    calls: int = 40000,
    sampler: str = "importance",
    held_out: float = 0.2,
    ways: Sequence[float] = (0.5, 0.75, 1.0),
    cost: float = 0.01,
    samples: int = 100,
    rate: float | None = None,
    decay: float = 0.01,
    device: str | None = None,
    progress: ProgressOption = None,
) -> HardenResult:
    """Fine-tune a classifier on its weak points under a nuisance, in rounds; the classifier given stays as it is.

    `out` gets the weights, what happened in every round, and a run folder of before and after with its report; the same
    call resumes after its last finished round.

    Parameters
    ----------
    classifier: the spec of a torch module, such as torch:package.module:factory,weights=…
    images: labelled images' spec, such as folder:photos; split into parts
    nuisance: a nuisance's spec, such as affine:alpha=100
    out: the folder for weights, rounds and report; a hardening that was interrupted is resumed
    test: images that choose the round and measure before and after; parts of IMAGES by default
    seed: the seed of every random draw
    on: what is trained on: weak-points, or plain draws of the prior
    loss: how weak points count: equal, or corrected so that the mean loss is the prior's
    rounds: how often weak points are sampled and trained on [at least 1]
    steps: gradient steps per round [at least 1]
    batch_size: images per gradient step [at least 1]
    share: share of a batch that is transformed; the others are clean [above 0 and at most 1]
    anchor: share of the untouched classifier's answer in what transformed images are trained to [between 0 and 1]
    sampled: training images per round whose weak points are sampled, at most [at least 1]
    calls: classifier calls per round in sampling [at least 1]
    sampler: how weak points are drawn: the spec of a sampler of populations
    held_out: share of the images that chooses the round, and as many test it: 2000 each at most [between 0 and 0.5
        (exclusive)]
    ways: how far from the untouched weights to a round's own the candidates lie, up to 1 [above 0 and at most 1]
    cost: clean accuracy that a round may have lost on the held-out images to be chosen [between 0 and 1]
    samples: draws of θ per image in measuring before and after [at least 1]
    rate: learning rate, at its highest in a round: 0.001, or 0.0003 with fewer than 5000 training images [above 0
        and at most 1000000]
    decay: weight decay [at least 0]
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    progress: shown in a terminal and a notebook; never with False
    """
    return harden_classifier(locals())
