"""Which networks are trained for the reproduction, in parts, and how each is trained.

The paper trains 200 epochs in batches of 128, at a rate of 0.1 for the first half and 0.001 for the second. The part
`recipe` does just that, a few networks at a time. The others have the same schedule over fewer epochs, in batches of
512 (at four times as many images a step the rate is kept at 0.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import deep

SEEDS = (0, 1, 2, 3, 4)
FEWER, FEWEST = SEEDS[:3], SEEDS[:2]
EPOCHS, SHORT, LONG, CONVERGED = 15, 10, 45, 60
BATCH = 512
MIXES = {"basic": "", "mixup": "mixup", "fmix": "fmix", "cutmix": "cutmix", "rm": "random-masks"}
PREACT = "preact-resnet-18"
FASHION, SMALL, MNIST = "fashion", "small-objects", "mnist"  # what is trained on


@dataclass(frozen=True)
class Network:
    """One network: `group` names the model, of which the seeds are runs."""

    group: str
    seed: int
    network: str = PREACT
    images: str = FASHION
    share: float = 1.0  # of the training images
    without: int = -1  # a class that is left out
    epochs: int = EPOCHS
    batch: int = BATCH
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.group}-{self.seed}"

    @property
    def checkpoints(self) -> int:
        """Epochs between checkpoints; none where training takes a minute or two."""
        return 10 if self.epochs > LONG else 0


def _mixed(mix: str, **more: Any) -> dict[str, Any]:
    return ({"mix": mix} if mix else {}) | more


def main_part() -> list[Network]:
    """The five models of tables 1, 3 to 6, 9 to 12, 14 and 16, with the paper's crop and flip."""
    return [
        Network(name, seed, options=_mixed(mix, crop=4, flip=True)) for seed in SEEDS for name, mix in MIXES.items()
    ]


def architectures() -> list[Network]:
    """B.8: the basic training of others, and B.6's VGG with MixUp."""
    basic, mixed = _mixed("", crop=4, flip=True), _mixed("mixup", crop=4, flip=True)
    kinds = {"vgg": ("small-vgg", basic), "bagnet-9": ("bagnet-9", basic), "bagnet-17": ("bagnet-17", basic)}
    kinds["vgg-mixup"] = ("small-vgg", mixed)
    return [
        Network(name, seed, network=network, epochs=SHORT, options=options)
        for seed in SEEDS
        for name, (network, options) in kinds.items()
    ]


def across_sets() -> list[Network]:
    """Table 8: the reformulated objective, partners from the same set and from MNIST."""
    return [
        Network(
            f"{mix}-{'mnist' if other else 'own'}",
            seed,
            epochs=SHORT,
            options=_mixed(mix, crop=4, flip=True, objective="reformulated") | ({"mix_with": other} if other else {}),
        )
        for seed in FEWER
        for mix in ("mixup", "fmix", "cutmix")
        for other in ("", "mnist")
    ]


def reduced(label: int) -> list[Network]:
    """Table 7 and figure 15: without the class to which errors went."""
    return [
        Network(f"{name}-without", seed, without=label, epochs=SHORT, options=_mixed(MIXES[name], crop=4, flip=True))
        for seed in FEWEST
        for name in ("basic", "mixup", "fmix", "cutmix")
    ]


def random_labels() -> list[Network]:
    """Table 15 and figure 13: labels that mean nothing, of a sixth of the images, which are seen more often. Without
    crop and flip, so that a few epochs suffice to learn them by heart."""
    return [
        Network(f"{name}-random", seed, share=1 / 6, epochs=60, options=_mixed(MIXES[name], random_labels=True))
        for seed in FEWER
        for name in ("basic", "fmix")
    ]


def small_objects() -> list[Network]:
    """Table 17 in kind."""
    return [
        Network(
            f"{name}-small",
            seed,
            network=f"{PREACT}:classes=2,side=56",
            images=SMALL,
            epochs=SHORT,
            options=_mixed(MIXES[name], crop=8, flip=True),
        )
        for seed in FEWER
        for name in ("basic", "fmix", "cutmix")
    ]


def longer() -> list[Network]:
    """Three times as many epochs, so that there is a generalisation gap to divide by: for iOcclusion."""
    return [
        Network(f"{name}-long", seed, epochs=LONG, options=_mixed(mix, crop=4, flip=True))
        for seed in FEWEST
        for name, mix in MIXES.items()
    ]


def recipe() -> list[Network]:
    """The five models as the paper trains them. Each is measured by itself, so that tables gather over calls."""
    as_printed = {"epochs": 200, "batch": 128}
    return [
        Network(f"{name}-recipe", seed, **as_printed, options=_mixed(mix, crop=4, flip=True))
        for seed in SEEDS
        for name, mix in MIXES.items()
    ]


def stimuli() -> list[Network]:
    """Section 2.1: the five models of the main part, to be asked about shape and texture."""
    return main_part()


def converged() -> list[Network]:
    """Table 13, figure 11 and B.8: BagNet-9 in the paper's four ways, and BagNet-17, for six times as many epochs."""
    kinds = {f"bagnet-9-{name}": ("bagnet-9", MIXES[name]) for name in ("basic", "mixup", "fmix", "cutmix")}
    kinds["bagnet-17-basic"] = ("bagnet-17", "")
    return [
        Network(f"{name}-converged", seed, network, epochs=CONVERGED, options=_mixed(mix, crop=4, flip=True))
        for seed in FEWER
        for name, (network, mix) in kinds.items()
    ]


def both_ways() -> list[Network]:
    """Table 8 trained longer: FashionMNIST with partners from MNIST, and the reciprocal. Digits are not mirrored."""
    return [
        Network(
            f"{mix}-{images}-{'other' if other else 'own'}",
            seed,
            images=images,
            epochs=LONG,
            options=_mixed(mix, crop=4, flip=images == FASHION, objective="reformulated")
            | ({"mix_with": other} if other else {}),
        )
        for seed in FEWER
        for images, partner in ((FASHION, MNIST), (MNIST, FASHION))
        for mix in ("mixup", "fmix", "cutmix")
        for other in ("", partner)
    ]


def deeper() -> list[Network]:
    """B.8: WideResNet, DenseNet and PyramidNet."""
    return [
        Network(name, seed, network=name, epochs=SHORT, options=_mixed("", crop=4, flip=True))
        for seed in FEWER
        for name in deep.NAMES
    ]


HALVES = 10


def halves() -> list[Network]:
    """Small networks, each on a random half of the training images: how often those that have not seen an image get it
    right stands in for the memorisation scores of figures 4 and 6."""
    return [Network("half", seed, network="small-plain", share=0.5, epochs=12) for seed in range(HALVES)]


# Parts whose networks are each measured by itself, so that they can be trained over several calls: tables gather.
BY_ITSELF = ("recipe", "stimuli", "converged", "both-ways", "deeper")


def part(name: str, removed: int = 8, small: bool = False) -> list[Network]:
    """The networks of a part; `small` ones are two runs of each, narrow and with one epoch."""
    if name == "reduced":
        found = reduced(removed)
    else:
        found = {
            "main": main_part,
            "architectures": architectures,
            "across": across_sets,
            "random": random_labels,
            "small": small_objects,
            "halves": halves,
            "long": longer,
            "recipe": recipe,
            "stimuli": stimuli,
            "converged": converged,
            "both-ways": both_ways,
            "deeper": deeper,
        }[name]()
    return [narrowed(each) for each in found if each.seed < 2] if small else found


def narrowed(network: Network) -> Network:
    kind, _, options = network.network.partition(":")
    if kind in deep.SMALLEST:
        return replace(network, epochs=1, network=deep.SMALLEST[kind])
    if kind not in (PREACT, "small-vgg", "bagnet-9", "bagnet-17"):
        return replace(network, epochs=1)
    return replace(network, epochs=1, network=f"{kind}:{options + ',' if options else ''}width=4")
