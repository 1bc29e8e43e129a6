"""The options of `brittle filter`."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Literal

from brittle.registry.options import option, validated


@validated("filter")
@dataclass(frozen=True, kw_only=True)
class FilterInputs:
    """What is filtered, with which encoders, and by whose labels."""

    folder: str = option(
        MISSING, "a benchmark in CNS-Bench's layout, such as `brittle generate` writes", positional=True
    )
    text: str = option(
        MISSING,
        "the encoder of texts and images: a model of transformers such as openai/clip-vit-base-patch16, or a folder",
    )
    image: str = option(
        MISSING, "the second encoder of images, such as facebook/dinov2-base, or a folder; the first is that of texts"
    )
    labels: str | None = option(None, "the folder of labels (brittle label) by which thresholds are chosen and judged")
    thresholds: str | None = option(
        None,
        "thresholds of an earlier filter in place of labels: its folder or filter.json",
        remedy="Give one of the two.",
    )
    out: str | None = option(None, "where scores, thresholds and annotations go; FOLDER/filter by default")


@validated("filter")
@dataclass(frozen=True, kw_only=True)
class FilterOptions:
    """How it is filtered."""

    share: float = option(
        0.9, "share of the labelled out-of-class images that each threshold alone removes at least", above=0, most=1
    )
    votes: int = option(2, "how many of the four scores must speak against an image that goes", least=1, most=4)
    choose: float = option(
        0.5, "share of the labels that thresholds are chosen on; the others judge the filter", above=0, below=1
    )
    split: Literal["seed", "class"] = option(
        "seed", "what is never on both sides of that split: images of one class and seed, or whole classes"
    )
    prompt: str = option("a picture of a {class}", "the text that an image at any scale is compared with")
    prompt_in_shift: str = option("a picture of a {class} in {shift}", "the second text")
    confidence: float = option(0.95, "of the intervals", above=0, below=1)
    seed: int = option(0, "the seed of the split and of the intervals' draws")
