"""The benchmark is generated, filtered by the proxy's labels, and reduced in the paper's stages."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.nn.functional import pad
from train import keep
from work import BORDER, CLASSES, SCALES, Pictures, Work, spread, tiled

import brittle
from brittle.diffusion.generator import Made
from brittle.diffusion.prompts import CLASS_PROMPT, prompt
from brittle.generation.labels.proxy import label_by_proxy
from brittle.generation.labels.rule import verdicts
from brittle.generation.labels.store import read_labels
from brittle.generation.linear_probe import fit_probe
from brittle.generation.reduction import Evidence, quantile_threshold, reduced, stage_counts, write_to_label
from brittle.generation.shares import share_of_images
from brittle.generation.shift_words import annotate_shifts
from brittle.generation.stored import StoredImages, stored_images
from brittle.progress import Progress
from classifiers import JUDGES, MEASURED, opened, predicted, spec_of

FOLDER = "benchmark"
RUN = "run"  # within such a folder: what `brittle generate` resumes from
TEMPERATURE = 0.1  # of the softmax over shift words: that the small encoder was trained with
PROBED = 10_000  # real images that the linear probe is fitted to; the encoders have seen them, as images
PARTLY = 3  # a proxy says "partly" where the class is among its first so many answers
SHOWN_CLASSES = (0, 1, 5, 8, 9)


class ImageTable(NamedTuple):
    """Stored images as arrays (n,)."""

    stored: StoredImages
    shift: NDArray[np.str_]
    label: NDArray[np.int64]
    seed: NDArray[np.int64]
    scale: NDArray[np.float64]

    def pixels(self) -> Tensor:
        """(n, 1, 32, 32) uint8."""
        return self.stored.pixels(self.stored.files).mul(255).round().to(torch.uint8)

    def paths(self, shift: str, kept: set[str] | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places (paths, scales) of one shift, and the group (paths,): its class and seed. With `kept`, only paths
        of which every image is named there."""
        names = [each.file for each in self.stored.files]
        places: dict[tuple[int, int], dict[float, int]] = {}
        for place in np.flatnonzero(self.shift == shift):
            if kept is None or names[place] in kept:
                places.setdefault((int(self.label[place]), int(self.seed[place])), {})[self.scale[place]] = int(place)
        scales = np.unique(self.scale)
        whole = {key: each for key, each in sorted(places.items()) if len(each) == len(scales)}
        rows = [[each[scale] for scale in scales] for each in whole.values()]
        group = [label * 10_000 + seed for label, seed in whole]
        return np.array(rows, dtype=np.int64).reshape(-1, len(scales)), np.array(group, dtype=np.int64)


def benchmark(work: Work) -> None:
    """WORK/benchmark, in CNS-Bench's layout."""
    began = time.monotonic()
    generated(work, FOLDER, work.sizes.seeds)
    seconds = time.monotonic() - began
    work.pack(FOLDER, without=RUN)
    table = opened_table(work)
    count = len(table.label)
    keep(work, "benchmark", images=count, seconds=seconds, images_per_second=count / seconds)
    lines, pixels = [], table.pixels()
    for shift in work.sizes.shifts:
        places, _ = table.paths(shift)
        labels = table.label[places[:, 0]]
        for label in SHOWN_CLASSES[:: 1 if not work.tiny else 3]:
            lines.append(pixels[places[np.flatnonzero(labels == label)[0]]])
    save_picture(work.picture("grid"), lines)


def generated(work: Work, folder: str, seeds: int, first_seed: int = 1) -> None:
    """Images of all classes, shifts and scales by so many seeds; the same again resumes it."""
    brittle.generate(
        work.folder / "pipeline",
        classes=CLASSES,
        sliders=work.folder / "sliders",
        shifts=work.sizes.shifts,
        tokens=work.folder / "tokens",
        seeds=seeds,
        first_seed=first_seed,
        scales=SCALES[1:],
        steps=work.sizes.steps,
        guidance=work.sizes.guidance,
        format="png",
        at_once=work.sizes.at_once,
        out=work.folder / folder,
        device=str(work.device),
        progress=False,
    )


def made(label: int, seed: int, scales: Mapping[str, float]) -> Made:
    return Made(label, seed, tuple(sorted((shift, float(scale)) for shift, scale in scales.items() if scale)))


def opened_table(work: Work, folder: str = FOLDER, annotations: str | None = None) -> ImageTable:
    stored = stored_images(str(work.folder / folder), annotations)
    columns = zip(*[(each.shift, each.label, each.seed, each.scale) for each in stored.files], strict=True)
    shift, label, seed, scale = (np.array(each) for each in columns)
    return ImageTable(stored, shift, label, seed, scale)


def out_of_class(work: Work) -> None:
    """Labels by the proxy, and what the filter makes of them (section 3.4, table 2b)."""
    stored, labels = stored_images(str(work.folder / FOLDER)), work.folder / "labels"
    label_by_proxy(stored, [spec_of(work, name) for name in JUDGES], PARTLY, labels, str(work.device), Progress())
    encoders = work.folder / "encoders"
    found = brittle.filter(
        str(work.folder / FOLDER),
        text=str(encoders / "clip"),
        image=str(encoders / "views"),
        labels=str(labels),
        device=str(work.device),
        progress=False,
    )
    rows = []
    for each in found.filters:
        for part, rates in (("judged", each.judged), ("chosen on", each.chosen_on)):
            named = zip(("true positive", "false positive", "accuracy"), rates, strict=True)
            rows.append(
                {"filter": each.name, "labels": part} | {k: v for n, e in named for k, v in spread(n, e).items()}
            )
    work.write("filter", rows)
    work.write("filter-shifts", [asdict(each) for each in found.shifts])
    keep(
        work,
        "filter",
        labels_of=found.labels_of,
        images=found.images,
        images_gone=found.images_gone,
        chosen_on=found.chosen_on,
        judged_on=found.judged_on,
        out_of_class=found.out_of_class,
        partly=found.partly,
        **spread("out_of_class_left", found.left),
        **spread("out_of_class_before", found.left_before),
    )
    work.pack("labels")
    work.pack(FOLDER, without=RUN)
    said = verdicts(read_labels(labels))
    counts = [
        {"scale": float(scale), "verdict": verdict, "images": sum(said[e.file] == verdict for e in of_scale)}
        for scale, of_scale in itertools.groupby(sorted(stored.files, key=lambda e: e.scale), key=lambda e: e.scale)
        for of_scale in [list(of_scale)]
        for verdict in ("in class", "partly", "out of class")
    ]
    work.write("verdicts", counts)


def stages(work: Work) -> None:
    """What people would have to label, and table 8; the proxy labels what is left."""
    table = opened_table(work)
    pixels, clip, views = table.pixels(), work.encoder("clip"), work.encoder("views")
    real = work.fashion(slice(0, PROBED))
    probe = fit_probe(views.features(with_border(real.images)).numpy(), real.labels.numpy(), len(CLASSES))
    answers = np.stack([predicted(opened(work, name), pixels).numpy() == table.label for name in MEASURED], 1)
    evidence = Evidence(
        probe.predicted(views.features(pixels.float() / 255).numpy()) == table.label,
        answers,
        aligned(clip, pixels, table.label),
    )
    test = work.test()
    limit = quantile_threshold(
        aligned(clip, (with_border(test.images) * 255).round().to(torch.uint8), test.labels.numpy())
    )
    found = reduced(evidence, table.scale, table.stored.path, limit)
    said = verdicts(read_labels(work.folder / "labels"))
    verdict = [said[each.file] if left else "" for each, left in zip(table.stored.files, found.to_label, strict=True)]
    work.write("stages", [each._asdict() for each in stage_counts(table.scale, found, verdict)])
    left = write_to_label(work.folder / "to-label.json", table.stored, found)
    keep(work, "stages", threshold=limit, to_label=left, probe_test_error=_probe_error(work, probe, test))
    _visible(work, table, pixels)


def _visible(work: Work, table: ImageTable, pixels: Tensor) -> None:
    """Table 9 asks people whether the shift is clearly visible; here the encoder's words say whether they see it."""
    rows, clip = [], work.encoder("clip")
    named = annotate_shifts(
        clip, pixels.float() / 255, table.label.tolist(), CLASSES, work.sizes.shifts, temperature=TEMPERATURE
    )
    own = np.array(named.names()) == table.shift
    for shift, scale in itertools.product(work.sizes.shifts, SCALES):
        here = (table.shift == shift) & (table.scale == scale)
        rows.append({"shift": shift, "scale": scale} | spread("named", share_of_images(own[here])))
    work.write("visible", rows)


def _probe_error(work: Work, probe: Any, test: Pictures) -> float:
    features = work.encoder("views").features(with_border(test.images)).numpy()
    return float((probe.predicted(features) != test.labels.numpy()).mean())


def aligned(clip: Any, pixels: Tensor, labels: NDArray[np.int64], shift: str = "") -> NDArray[np.float64]:
    """Cosine (n,) of images (n, 1, 32, 32) uint8 with the words of their class, or of it in a shift."""
    words = [f"{prompt(CLASS_PROMPT, name)} in {shift}" if shift else prompt(CLASS_PROMPT, name) for name in CLASSES]
    texts = clip.texts(words)[torch.from_numpy(np.asarray(labels))]
    found: NDArray[np.float64] = (clip.images(pixels.float() / 255) * texts).sum(1).double().numpy()
    return found


def with_border(images: Tensor) -> Tensor:
    """Images (n, 28, 28) uint8 → (n, 1, 32, 32) in [0, 1]."""
    return pad(images, (BORDER,) * 4)[:, None].float() / 255


def save_picture(file: Path, lines: Sequence[Tensor], zoom: int = 2) -> None:
    grid = tiled(lines).numpy()
    Image.fromarray(grid).resize((grid.shape[1] * zoom, grid.shape[0] * zoom), 0).save(file)
