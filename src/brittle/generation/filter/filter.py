"""The filter carried out: scores, thresholds from labels or from an earlier filter, and annotations of what stays.

The output folder gets `scores/SHIFT.parquet`, `filter.json` (thresholds, and how well they tell images apart on labels
that were not used to choose them), and files of annotations that `cns:FOLDER,annotations=…` reads: of the images that
the filter keeps, of those that text alignment alone would keep and, where there are labels, of those that are labelled
and not called out of class. Each holds whole paths: a seed stays under a shift only if all of its scales stay.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittle.errors import BrittleError
from brittle.files import read_whole, real_path, write_durably
from brittle.generation.encoders import encoder
from brittle.generation.filter.judged import JudgedFilter, LabelledScores, as_values, choosing, judged, share_of
from brittle.generation.filter.options import FilterInputs, FilterOptions
from brittle.generation.filter.rule import SCORES, Array, Mask, kept_paths, removed
from brittle.generation.filter.scores import Scorer, all_scores
from brittle.generation.labels.rule import described, verdicts
from brittle.generation.labels.store import Labeller, read_labels
from brittle.generation.stored import StoredImages, stored_images
from brittle.images.scales.cns import write_annotations
from brittle.progress import Progress
from brittle.statistics.estimate import Estimate

RESULT = "filter.json"
KEPT, KEPT_BY_TEXT, KEPT_BY_LABELS = "annotations.json", "annotations_text.json", "annotations_labels.json"
FEWEST = 10  # out-of-class labels below which a threshold says little


@dataclass(frozen=True)
class ShiftCounts:
    """Of one shift: paths before and after."""

    shift: str
    paths: int
    kept: int
    kept_by_text: int


@dataclass(frozen=True)
class FilterResult:
    """What was removed, and how well the filter tells images of their class from others."""

    folder: Path
    images: int
    images_gone: int  # that the rule speaks against, whatever else is on their paths
    thresholds: dict[str, float]
    shifts: Sequence[ShiftCounts]
    labels_of: str = ""  # whose labels; "" where thresholds are an earlier filter's
    chosen_on: int = 0  # labelled images, those called partly left out
    judged_on: int = 0
    out_of_class: int = 0  # of those that judge
    partly: int = 0
    filters: Sequence[JudgedFilter] = ()
    left: Estimate = Estimate()  # share of out-of-class images among those kept that judge
    left_before: Estimate = Estimate()  # the same of all of them
    options: FilterOptions | None = None

    @property
    def annotations(self) -> Path:
        return self.folder / KEPT

    @property
    def values(self) -> dict[str, Any]:
        """Plain values, as in filter.json and `--json`."""
        return {
            "folder": str(self.folder),
            "annotations": str(self.annotations),
            "images": self.images,
            "images_gone": self.images_gone,
            "thresholds": self.thresholds,
            "shifts": [asdict(each) for each in self.shifts],
            "labels_of": self.labels_of,
            "chosen_on": self.chosen_on,
            "judged_on": self.judged_on,
            "out_of_class": self.out_of_class,
            "partly": self.partly,
            **self.left_before.named("out_of_class_before"),
            **self.left.named("out_of_class_left"),
            "filters": [as_values(each) for each in self.filters],
            "options": None if self.options is None else asdict(self.options),
        }


@dataclass(frozen=True)
class Judgement:
    """What labels say of a filter."""

    limits: Array
    filters: Sequence[JudgedFilter]
    judges: Mask  # (n,) images whose labels judge
    known: Mask  # (n,) images that are called in or out of class
    out: Mask  # (n,) of these, out of class
    partly: int


def filter_benchmark(
    what: FilterInputs, options: FilterOptions, device: str, progress: Progress, warn: Callable[[str], None]
) -> FilterResult:
    """Scores all images, and keeps the paths of which no image is removed."""
    if (what.labels is None) == (what.thresholds is None):
        raise BrittleError(
            "the filter needs either labels or thresholds",
            "Give --labels FOLDER, or --thresholds of an earlier filter.",
        )
    images = stored_images(what.folder)
    folder = Path(real_path(what.out)) if what.out is not None else images.root / "filter"
    labellers = [] if what.labels is None else read_labels(Path(real_path(what.labels)))
    given = None if what.thresholds is None else read_thresholds(Path(real_path(what.thresholds)))
    text = encoder(what.text, device)
    scorer = Scorer(text, text, encoder(what.image, device), options.prompt, options.prompt_in_shift)
    with progress:
        scores = all_scores(scorer, images, folder / "scores", progress)
    judgement = None if given is not None else _judgement(images, scores, labellers, options, warn)
    limits = given if judgement is None else judgement.limits
    assert limits is not None
    found = _written(images, scores, limits, judgement, labellers, options, folder)
    if not any(each.kept for each in found.shifts):
        warn("no path stays: thresholds are higher than some score of every path")
    return found


def read_thresholds(path: Path) -> Array:
    """The thresholds that an earlier filter chose."""
    file = path / RESULT if path.is_dir() else path
    try:
        found = json.loads(read_whole(file))["thresholds"]
        return np.array([float(found[name]) for name in SCORES])
    except FileNotFoundError:
        raise BrittleError(f"there is no file {file}", "Name the folder that `brittle filter` wrote.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise BrittleError(
            f"{file} holds no thresholds", "Name the filter.json that `brittle filter` wrote."
        ) from error


def _judgement(
    images: StoredImages,
    scores: Array,
    labellers: Sequence[Labeller],
    options: FilterOptions,
    warn: Callable[[str], None],
) -> Judgement:
    said = verdicts(labellers)
    called = np.array([said.get(each.file, "") for each in images.files])
    known, out = np.isin(called, ["in class", "out of class"]), called == "out of class"
    groups = [each.key if options.split == "seed" else str(each.label) for each in images.files]
    chosen = choosing(groups, options.choose, options.seed)
    labelled = LabelledScores(scores, out, images.group)
    choose, judge = labelled.part(chosen & known), labelled.part(~chosen & known)
    few = int(choose.out.sum())
    if 0 < few < FEWEST:
        warn(f"thresholds are chosen on {few} out-of-class images: label more of them before you trust this filter")
    if not judge.out.any() or judge.out.all():
        warn("the labels that judge the filter are all of one kind: TPR or FPR can't be told")
    limits, filters = judged(choose, judge, options.share, options.votes, options.confidence, options.seed)
    return Judgement(limits, filters, ~chosen & known, known, out, int((called == "partly").sum()))


def _written(
    images: StoredImages,
    scores: Array,
    limits: Array,
    judgement: Judgement | None,
    labellers: Sequence[Labeller],
    options: FilterOptions,
    folder: Path,
) -> FilterResult:
    gone, by_text = removed(scores, limits, options.votes), removed(scores[:, :1], limits[:1], 1)
    stays = {KEPT: kept_paths(images.path, gone), KEPT_BY_TEXT: kept_paths(images.path, by_text)}
    if judgement is not None:
        said = verdicts(labellers)
        wrong = np.array([said.get(each.file, "out of class") == "out of class" for each in images.files])
        if not wrong.all():
            stays[KEPT_BY_LABELS] = kept_paths(images.path, wrong)
    for name, mask in stays.items():
        chosen = [each for each, there in zip(images.files, mask, strict=True) if there]
        write_annotations(folder / name, chosen, {"filter": name})
    found = FilterResult(
        folder,
        len(images),
        int(gone.sum()),
        dict(zip(SCORES, limits.tolist(), strict=True)),
        _counts(images, stays[KEPT], stays[KEPT_BY_TEXT]),
        **({} if judgement is None else _told(images, judgement, stays[KEPT], labellers, options)),
        options=options,
    )
    text = json.dumps(found.values, indent=1)
    write_durably(folder / RESULT, lambda to: to.write_text(text, encoding="utf-8"))
    return found


def _told(
    images: StoredImages, judgement: Judgement, stays: Mask, labellers: Sequence[Labeller], options: FilterOptions
) -> dict[str, Any]:
    """What a result says of the labels."""
    judges, out = judgement.judges, judgement.out
    share = [
        share_of(out[part], images.group[part], options.confidence, options.seed) for part in (judges & stays, judges)
    ]
    return {
        "labels_of": described(labellers),
        "chosen_on": int((judgement.known & ~judges).sum()),
        "judged_on": int(judges.sum()),
        "out_of_class": int((judges & out).sum()),
        "partly": judgement.partly,
        "filters": judgement.filters,
        "left": share[0],
        "left_before": share[1],
    }


def _counts(images: StoredImages, kept: Mask, by_text: Mask) -> list[ShiftCounts]:
    """Paths by shift: all of them, and those that stay."""
    of_path = {int(path): each.shift for path, each in zip(images.path, images.files, strict=True)}

    def counted(mask: Mask) -> Counter[str]:
        return Counter(of_path[int(path)] for path in np.unique(images.path[mask]))

    everything, ours, text = counted(np.ones_like(kept)), counted(kept), counted(by_text)
    return [ShiftCounts(shift, everything[shift], ours[shift], text[shift]) for shift in images.shifts]
