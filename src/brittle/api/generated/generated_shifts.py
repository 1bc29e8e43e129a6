"""Generated shifts

Made by `python -m brittle.api.generate`: change options where they are declared, not here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from brittle.api.generated_images import filter_asked
from brittle.api.notices import ProgressOption

if TYPE_CHECKING:
    from brittle.results import FilteredBenchmark


def filter(
    folder: str | Path,
    *,
    text: str,
    image: str,
    labels: str | Path | None = None,
    thresholds: str | Path | None = None,
    out: str | Path | None = None,
    share: float = 0.9,
    votes: int = 2,
    choose: float = 0.5,
    split: Literal["seed", "class"] = "seed",
    prompt: str = "a picture of a {class}",
    prompt_in_shift: str = "a picture of a {class} in {shift}",
    confidence: float = 0.95,
    seed: int = 0,
    device: str | None = None,
    progress: ProgressOption = None,
) -> FilteredBenchmark:
    """Keep the generated images that still show their class, by four scores and thresholds from labels.

    `found.annotations` is the file that `cns:FOLDER,annotations=…` reads; TPR, FPR and accuracy are judged on labels
    that chose no threshold; `found.values` are plain, as `brittle filter --json` prints them.

    Parameters
    ----------
    folder: a benchmark in CNS-Bench's layout, such as `brittle generate` writes
    text: the encoder of texts and images: a model of transformers such as openai/clip-vit-base-patch16, or a folder
    image: the second encoder of images, such as facebook/dinov2-base, or a folder; the first is that of texts
    labels: the folder of labels (brittle label) by which thresholds are chosen and judged
    thresholds: thresholds of an earlier filter in place of labels: its folder or filter.json
    out: where scores, thresholds and annotations go; FOLDER/filter by default
    share: share of the labelled out-of-class images that each threshold alone removes at least [above 0 and at most
        1]
    votes: how many of the four scores must speak against an image that goes [between 1 and 4]
    choose: share of the labels that thresholds are chosen on; the others judge the filter [between 0 and 1
        (exclusive)]
    split: what is never on both sides of that split: images of one class and seed, or whole classes
    prompt: the text that an image at any scale is compared with
    prompt_in_shift: the second text
    confidence: of the intervals [between 0 and 1 (exclusive)]
    seed: the seed of the split and of the intervals' draws
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    progress: shown in a terminal and a notebook; never with False
    """
    return filter_asked(locals())
