"""The options of `brittle label`."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from brittle.registry.options import option, validated


@validated("label")
@dataclass(frozen=True, kw_only=True)
class LabelInputs:
    """What is labelled, and where the labels are."""

    folder: str = option(
        MISSING, "a benchmark in CNS-Bench's layout, such as `brittle generate` writes", positional=True
    )
    out: str = option(MISSING, "the folder of labels, a file per person; the same again goes on")
    examples: str | None = option(None, "an image set of real images, of which one opens each class: its spec")
    annotations: str | None = option(
        None, "only images that this file lists, such as FOLDER/filter/annotations.json of `brittle filter`"
    )


@validated("label")
@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """How images are labelled."""

    count: int | None = option(
        None, "only so many images, drawn by the seed: for the share of a benchmark that is out of class", least=1
    )
    seed: int = option(0, "the seed of that draw")
    people: int = option(2, "how many people label each image", least=1)
    shift_visible: bool = option(True, "ask of shifted images whether the shift is clearly visible, too")
    proxy: tuple[str, ...] = option(
        (),
        "in place of people, a classifier's spec whose answers stand in for labels, and are called a proxy's wherever "
        "they are used; may be repeated",
    )
    partly: int = option(
        3, "rank of the class among a proxy's answers up to which it says partly; the first is class", least=1
    )
