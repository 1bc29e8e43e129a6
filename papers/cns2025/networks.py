"""Which small networks on FashionMNIST are ranked and held against the line: 20 kinds, and five sizes of one."""

from __future__ import annotations

from dataclasses import replace

import plan

WIDTHS = (4, 8, 16, 32, 64)  # of PreAct-ResNet-18, whose own is 64
NARROWER = 4  # times, where only a few images are used to see that it works
FIRST = 0  # the run of each kind that rankings compare
KINDS = ("cnn-1", "cnn-2", "cnn-2-dropout", "cnn-2-da", "small-plain", "small-augmented")
KINDS_EPOCHS = 12
WIDTH = "width-"  # how groups of these begin


def planned(small: bool = False) -> list[plan.Network]:
    """One network of each kind that the other papers' studies train, and three of each width."""
    earlier = [each for each in (*plan.main_part(), *plan.architectures()) if each.seed == FIRST]
    kinds = [plan.Network(kind, FIRST, network=kind, epochs=KINDS_EPOCHS) for kind in KINDS]
    if small:
        earlier, kinds = [plan.narrowed(each) for each in earlier], [replace(each, epochs=1) for each in kinds]
    return earlier + kinds + sizes(small)


def sizes(small: bool = False) -> list[plan.Network]:
    """Five widths of one architecture, trained with three seeds each."""
    return [
        plan.Network(
            f"{WIDTH}{width}",
            seed,
            network=f"{plan.PREACT}:width={width // NARROWER if small else width}",
            epochs=1 if small else plan.SHORT,
            options={"crop": 4, "flip": True},
        )
        for seed in (plan.FEWEST if small else plan.FEWER)
        for width in WIDTHS
    ]


def architecture(network: plan.Network) -> str:
    return network.network.partition(":")[0]
