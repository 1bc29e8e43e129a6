"""The datasheet of a generated benchmark: the questions of Gebru et al. 2021 that its maker's settings answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brittle.images.scales.cns import CnsFile


def datasheet(files: Sequence[CnsFile], settings: Sequence[Mapping[str, Any]]) -> str:
    """As Markdown. What only its maker can answer is left open, in brackets."""
    shifts, labels = sorted({each.shift for each in files}), {each.label for each in files}
    scales = sorted({each.scale for each in files})
    seeds = {(each.label, each.seed) for each in files}
    said = [
        "# Datasheet",
        "Written by `brittle generate`. What stands in [brackets] is for whoever publishes it to answer.",
        "## Motivation",
        "Images of classes under generated shifts whose strength is a dial, to measure how robust image classifiers "
        "are and at which scale each image fails. [Who made it, for whom, and who paid?]",
        "## Composition",
        f"{len(files):,} generated images: {_count(len(labels), 'class')}, {_count(len(shifts), 'shift')} "
        f"({', '.join(shifts)}), {_count(len(seeds), 'pair')} of class and seed, scales "
        f"{', '.join(f'{each:g}' for each in scales)}. The image of a class and seed at scale 0 lies in the folder of "
        "every shift.",
        "Each image has its class, seed, shift and scale, in its path and in annotations_cns.json, which also holds "
        "the prompt and the slider files of every image. All images of a class and seed are related: they begin as the "
        "same noise.",
        "Labels are the classes that images were made for. Some images do not show them, more of them at higher "
        "scales: `brittle label` and `brittle filter` find out which. Nobody is known to be shown; what the pipeline "
        "was trained on decides what may come up.",
        "It is meant for testing alone: there is no split.",
        "## Collection",
        "Made by a diffusion pipeline with these settings:",
        "\n".join(_settings(each) for each in settings),
        "## Preprocessing, cleaning, labelling",
        "None: every image that was made is here. A file of annotations that `brittle filter` writes says which stay.",
        "## Uses",
        "Numbers on these images hold for what this pipeline makes of its words, which is not the world: biases of its "
        "training come along, as do things that go with a shift by accident. Nothing is known of how well they predict "
        "numbers on real images under such shifts. [Other uses, and uses to avoid?]",
        "## Distribution and maintenance",
        "[Where, under which licence, who answers questions? The licences of the pipeline and of the images that words "
        "were learned from apply.]",
    ]
    return "\n\n".join(said) + "\n"


def _settings(about: Mapping[str, Any]) -> str:
    return "- " + "; ".join(f"{key} {_text(value)}" for key, value in about.items() if value is not None)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _count(number: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"
