"""Generated shifts

Made by `python -m brittle.api.generate`: change options where they are declared, not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.generated_images import filter_asked
from brittle.api.generating import generate_asked, train_sliders_asked, train_tokens_asked
from brittle.api.notices import ProgressOption

if TYPE_CHECKING:
    from brittle.results import FilteredBenchmark, GenerateResult, TrainSlidersResult, TrainTokensResult


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


def generate(
    pipeline: str | Path | None = None,
    *,
    preset: Literal["cns-bench", "ood-cv", "few-classes", "all-classes"] | None = None,
    classes: str | str | Sequence[str] = (),
    labels: Sequence[int] = (),
    sliders: str | Path | None = None,
    shifts: str | str | Sequence[str] = (),
    tokens: str | Path | None = None,
    seeds: int | None = None,
    first_seed: int = 1,
    scales: Sequence[float] = (),
    template: str = "a picture of a {class}",
    steps: int | None = None,
    guidance: float | None = None,
    sampler: Literal["own", "ddim", "unipc"] | None = None,
    active: float | None = None,
    dtype: Literal["float32", "float16", "bfloat16"] = "float32",
    crop: int | None = None,
    format: Literal["jpg", "png"] = "jpg",
    quality: int = 95,
    at_once: int = 64,
    out: str | Path | None = None,
    device: str | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> GenerateResult:
    """Generate a benchmark in CNS-Bench's layout: every class and seed at scale 0, and under every shift.

    `found.spec` names it as an image set, `cns:FOLDER`. Gives what the command prints with --json; `out` also holds the
    run, in `run`.

    Parameters
    ----------
    pipeline: a folder that save_pretrained of diffusers wrote, or a name on the hub
    preset: settings of the paper, for all that is not given
    classes: class names a/b/c, or a text file with one per line
    labels: the classes' labels, 3/17/240; 0, 1, 2, … by default
    sliders: the folder of sliders
    shifts: these shifts, a/b/c; a+b moves two sliders together; all that there are sliders for by default
    tokens: the folder of learned words, one per class; without it classes go by name
    seeds: images per class at scale 0: that many seeds; 20 by default [between 1 and 999999]
    first_seed: the first of them, such as 1001 for images that share no noise with others [between 1 and 999999]
    scales: above 0, rising; 0.5, 1, 1.5, 2 and 2.5 by default [above 0]
    template: what is asked for, with {class} in it
    steps: noise steps; 50 by default [at least 1]
    guidance: classifier-free guidance; 1, none, by default. Stable Diffusion is used with 7.5 [at least 1]
    sampler: ddim, unipc, or own, the pipeline's scheduler, by default
    active: share of the noise steps, the last, in which sliders are active; 0.75 by default [between 0 and 1]
    dtype: numbers that the pipeline computes in
    crop: crop the central square of this many pixels [at least 1]
    format: of the files: jpg, as CNS-Bench's are, or png, without losses
    quality: of jpg files [between 1 and 100]
    at_once: images per batch of the pipeline; halved where memory runs out [at least 1]
    out: the benchmark's folder; the same command again resumes it, or extends it
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    engine: what carries it out: local (this process) or ray (several worker processes)
    address: the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine
    workers: how many workers ray starts; as many as there is room for by default [at least 1]
    time_limit: seconds that a unit may take on ray before another worker tries it; no limit by default [above 0]
    progress: shown in a terminal and a notebook; never with False
    """
    return generate_asked(locals())


def train_sliders(
    pipeline: str | Path | None = None,
    *,
    target: Literal["direction", "printed", "unconditional"] = "direction",
    eta: float = 1.0,
    rank: int = 4,
    training_steps: int = 300,
    batch: int = 32,
    rate: float = 0.001,
    pool: int = 128,
    seed: int = 0,
    preset: Literal["cns-bench", "ood-cv", "few-classes", "all-classes"] | None = None,
    classes: str | str | Sequence[str] = (),
    shifts: str | str | Sequence[str] = (),
    tokens: str | Path | None = None,
    template: str = "a picture of a {class}",
    shifted_template: str = "a picture of a {class} in {shift}",
    steps: int | None = None,
    guidance: float | None = None,
    sampler: Literal["own", "ddim", "unipc"] | None = None,
    together: int = 4,
    at_once: int = 64,
    out: str | Path | None = None,
    device: str | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> TrainSlidersResult:
    """Train a slider for every class and shift, as files that plain diffusers loads too.

    Gives what the command prints with --json; `out` also holds the run, in `run`.

    Parameters
    ----------
    pipeline: a folder that save_pretrained of diffusers wrote, or a name on the hub
    target: what a slider is to say; printed is the paper's equation 2 as it stands
    eta: how much of the shift there is at scale 1 [above 0]
    rank: rank of what is added to each layer [at least 1]
    training_steps: steps [at least 1]
    batch: images per slider and step [at least 1]
    rate: peak learning rate of AdamW [above 0]
    pool: images per class, which the pipeline makes, that noise is added to [at least 1]
    seed: the seed of first values, noise and times
    preset: settings of the paper, for all that is not given
    classes: class names a/b/c, or a text file with one per line
    shifts: the shifts, a/b/c, as prompts name them
    tokens: the folder of learned words, one per class; without it classes go by name
    template: the prompt that a slider starts from
    shifted_template: the prompt that it leads to
    steps: noise steps of the images that are trained on; 50 by default [at least 1]
    guidance: classifier-free guidance of these; 1, none, by default [at least 1]
    sampler: of these: ddim, unipc, or own, the pipeline's scheduler, by default
    together: sliders trained side by side, at most [at least 1]
    at_once: images per batch where the pipeline makes images [at least 1]
    out: the folder of the files; the same command again resumes it, or extends it
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    engine: what carries it out: local (this process) or ray (several worker processes)
    address: the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine
    workers: how many workers ray starts; as many as there is room for by default [at least 1]
    time_limit: seconds that a unit may take on ray before another worker tries it; no limit by default [above 0]
    progress: shown in a terminal and a notebook; never with False
    """
    return train_sliders_asked(locals())


def train_tokens(
    pipeline: str | Path | None = None,
    *,
    training_steps: int = 300,
    batch: int = 32,
    rate: float = 0.005,
    seed: int = 0,
    template: str = "a picture of a {class}",
    fit: Literal["resize", "pad"] = "resize",
    most: int = 1000,
    together: int = 4,
    images: Any,
    out: str | Path | None = None,
    device: str | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> TrainTokensResult:
    """Learn a word for every class of an image set, as files that plain diffusers loads too.

    Gives what the command prints with --json; `out` also holds the run, in `run`.

    Parameters
    ----------
    pipeline: a folder that save_pretrained of diffusers wrote, or a name on the hub
    training_steps: steps [at least 1]
    batch: images per class and step [at least 1]
    rate: peak learning rate of AdamW [above 0]
    seed: the seed of noise and times
    template: the prompt that the word stands in
    fit: how images come to the pipeline's size: resize, or pad with black
    most: images per class, at most: the first in the study's order [at least 1]
    together: words learned side by side, at most [at least 1]
    images: an image set: a spec, a folder, arrays (images, labels), a Dataset …
    out: the folder of the files; the same command again resumes it, or extends it
    device: where it runs: cpu, cuda, cuda:1 …; a GPU where there is one
    engine: what carries it out: local (this process) or ray (several worker processes)
    address: the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine
    workers: how many workers ray starts; as many as there is room for by default [at least 1]
    time_limit: seconds that a unit may take on ray before another worker tries it; no limit by default [above 0]
    progress: shown in a terminal and a notebook; never with False
    """
    return train_tokens_asked(locals())
