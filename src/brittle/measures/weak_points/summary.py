"""What weak points say of a whole image set: where they lead, which parameters break the classifier, and how many of
them can be trusted."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from brittle.measures.base import ROWS, Cell, ClassifierFacts, ReadRows, RunView, Tables, pairs_of
from brittle.measures.clean.measure import clean_columns
from brittle.measures.folds import WholeFold
from brittle.measures.plan import Unit
from brittle.measures.weak_points.diagnosis import MAY_MISS, NO_OTHER_LABEL, NOTHING, TRUSTED, Diagnosis, judged
from brittle.types import Nuisance, ReadableTheta

DOUBTING = "p(θ | not ℓ, x): the more probable, the less the classifier gives the label"
FAILING = "p(θ | the prediction is not ℓ, x): the prior, where the prediction is another label"
UNTOLD = ("image", "mean", "deviation", "prior_mean", "prior_deviation", "smallest_predicted")


class ImageWeakPoints(NamedTuple):
    """The weak points of one image."""

    place: int  # of the image in planned order
    label: int  # what counts as right, as the classifier counts
    wrong: bool  # already wrong untouched
    diagnosis: dict[str, Any]
    predicted: Mapping[int, int]  # label → how many of the draws are of it
    draws: int

    @property
    def found(self) -> bool:
        return bool(self.diagnosis["status"] != NOTHING)

    @property
    def leads_to(self) -> Counter[int]:
        """How many of the draws are of which other label (the paper's footnote 3)."""
        others = {label: count for label, count in self.predicted.items() if label != self.label}
        return Counter(others if self.found else {})


def read(run: RunView, cell: Cell) -> list[ImageWeakPoints]:
    """Every image's weak points in planned order."""
    fold = run.fold(cell)
    assert isinstance(fold, WeakPointsFold)
    diagnoses = [row for part in fold.diagnoses for row in part.to_pylist()]
    subject, references = run.images[cell.images], run.references(cell.classifier, cell.images)
    clean = clean_columns(run, cell.classifier, cell.images, len(diagnoses))["predicted"]
    places = subject.places(np.array([diagnosis["image"] for diagnosis in diagnoses])).tolist()
    labels = [int(references[place] if references[place] >= 0 else clean[place]) for place in places]
    columns = zip(places, labels, diagnoses, strict=True)
    return [
        ImageWeakPoints(place, label, int(clean[place]) != label, found, *fold.predicted[found["image"]])
        for place, label, found in columns
    ]


class WeakPointsFold(WholeFold):
    """A diagnosis of every image, and how many of its draws are of which label; the draws themselves are not kept."""

    def __init__(self) -> None:
        self.diagnoses: list[pa.Table] = []
        self.predicted: dict[int, tuple[dict[int, int], int]] = {}  # by image: how often which label, of how many draws

    def update(self, unit: Unit, tables: Tables, given: ReadRows) -> None:
        self.diagnoses.append(tables["images"])
        image, predicted = (tables[ROWS][name].to_numpy() for name in ("image", "predicted"))
        for each in tables["images"]["image"].to_pylist():
            labels, counts = np.unique(predicted[image == each], return_counts=True)
            self.predicted[each] = dict(zip(labels.tolist(), counts.tolist(), strict=True)), int(counts.sum())

    def merge(self, later: Self) -> None:
        self.diagnoses += later.diagnoses
        self.predicted |= later.predicted

    def compute(self) -> Self:
        return self


def summarise_weak_points(sampler: str, run: RunView, failing: bool = False) -> dict[str, Any]:
    """An entry per (image set, nuisance, classifier)."""
    entries, warnings, calls = [], [], dict.fromkeys(run.classifiers, 0)
    for (images, nuisance), name in itertools.product(pairs_of(run), run.classifiers):
        weak = read(run, run.cell(name, images, nuisance))
        entry: dict[str, Any] = {
            "classifier": name,
            "image_set": images,
            "nuisance": nuisance,
            "prior": run.prior(images, nuisance),
            "sampler": sampler,
            "failing": failing,
            "draws_of": FAILING if failing else DOUBTING,
            "seed": run.seed,
        }
        subject = run.images[images]
        entry |= summarise(
            weak, run.classifiers[name].with_class_names_of(subject), run.nuisances[nuisance], subject.names
        )
        entries.append(entry)
        warnings += entry_warnings(entry)
        calls[name] += entry["calls"]
    return {"entries": entries, "warnings": warnings + missed_regions(entries), "calls": calls}


def summarise(
    weak: Sequence[ImageWeakPoints], classifier: ClassifierFacts, nuisance: Nuisance, names: Sequence[str]
) -> dict[str, Any]:
    """Numbers of one classifier under one nuisance, and a row per image."""
    statuses = Counter(each.diagnosis["status"] for each in weak)
    told = [each for each in weak if each.found and not each.wrong]
    known, wrong = (
        [each.diagnosis[key] for each in weak if each.diagnosis.get(key) is not None]
        for key in ("one_minus_mu", "wrong_share")
    )
    return {
        "images": len(weak),
        "found": sum(each.found for each in weak),
        "trusted": statuses[TRUSTED],
        "no_other_label": statuses[NO_OTHER_LABEL],
        "statuses": dict(statuses),
        "methods": dict(Counter(each.diagnosis["method"] for each in weak)),
        "already_wrong": sum(each.wrong for each in weak),
        "already_wrong_are": "sampled like the others, and left out of flows and parameters",
        "hard": "hard" in classifier.can,
        "calls": sum(each.diagnosis["calls"] for each in weak),
        "effective": _median([each.diagnosis["effective"] for each in weak]),
        "per_1000": _median([each.diagnosis["per_1000"] for each in weak]),
        "one_minus_mu": float(np.mean(known)) if known else None,
        "wrong_share": float(np.mean(wrong)) if wrong else None,
        "least_met": max((each.diagnosis.get("least_met") or 0.0 for each in weak), default=0.0) or None,
        "flows": flows(told, classifier),
        "parameters": parameters(told, nuisance),
        "per_image": [_of_image(each, classifier, names) for each in weak],
    }


def flows(weak: Sequence[ImageWeakPoints], classifier: ClassifierFacts) -> list[dict[str, Any]]:
    """Label → label: shares of the weak points that have another label, which sum to 1. Every image's draws weigh the
    same in all, so that one of another label among many counts little."""
    shares: defaultdict[tuple[int, int], float] = defaultdict(float)
    images: Counter[tuple[int, int]] = Counter()
    for each in weak:
        for label, count in each.leads_to.items():
            shares[each.label, label] += count / each.draws
            images[each.label, label] += 1
    total = math.fsum(shares.values())
    return [
        {
            "from": start,
            "to": end,
            "from_label": classifier.labels[start],
            "to_label": classifier.labels[end],
            "share": share / total,
            "images": images[start, end],
        }
        for (start, end), share in sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    ]


def parameters(weak: Sequence[ImageWeakPoints], nuisance: Nuisance) -> list[dict[str, Any]]:
    """How each parameter's posterior differs from its prior, on average over images, most telling first.

    `shift` is the distance between the means and `spread` the ratio of the standard deviations, in those of the
    prior; `information` is the Kullback–Leibler divergence between normals of these moments, in nats."""
    if not weak:
        return []
    mean, deviation, prior_mean, prior_deviation = (
        np.array([each.diagnosis[name] for each in weak])
        for name in ("mean", "deviation", "prior_mean", "prior_deviation")
    )
    numbers = mean.shape[1]
    words = parameter_names(nuisance, numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        signed, ratio = (mean - prior_mean) / prior_deviation, deviation / prior_deviation
        information = 0.5 * (ratio**2 + signed**2 - 1 - 2 * np.log(np.maximum(ratio, 1e-6)))
    rows = [
        {
            "parameter": words[at],
            "shift": float(np.abs(signed[:, at]).mean()),
            "signed_shift": float(signed[:, at].mean()),
            "spread": float(ratio[:, at].mean()),
            "information": float(information[:, at].mean()),
            "told": isinstance(nuisance, ReadableTheta) and words[at] in nuisance.readings,
        }
        for at in range(numbers)
        if np.all(prior_deviation[:, at] > 1e-12)
    ]
    return sorted(rows, key=lambda row: -float(row["information"]))


def parameter_names(nuisance: Nuisance, numbers: int) -> list[str]:
    """A name for each parameter that was looked at."""
    words = list(nuisance.parameters)
    if isinstance(nuisance, ReadableTheta) and numbers > len(judged(len(words))):
        return [*(words[place] for place in judged(len(words)).tolist()), *nuisance.readings]
    if len(words) >= numbers and numbers == len(judged(len(words))):
        return [words[place] for place in judged(len(words)).tolist()]
    return [f"{words[0]} {place + 1}" for place in range(numbers)]


def _of_image(each: ImageWeakPoints, classifier: ClassifierFacts, names: Sequence[str]) -> dict[str, Any]:
    found, labels = each.diagnosis, classifier.labels
    top = each.leads_to.most_common(1)
    return {name: found.get(name) for name in Diagnosis._fields if name not in UNTOLD} | {
        "id": found["image"],
        "name": names[each.place],
        "label": labels[each.label],
        "already_wrong": each.wrong,
        "leads_to": labels[top[0][0]] if top else None,
        "smallest_label": None if found["smallest_predicted"] is None else labels[found["smallest_predicted"]],
    }


def _median(values: Sequence[float]) -> float | None:
    known = [value for value in values if not math.isnan(value)]
    return float(np.median(known)) if known else None


def entry_warnings(entry: dict[str, Any]) -> list[str]:
    where = f"weak points of {entry['classifier']!r} under {entry['nuisance']}"
    said = []
    fine = (TRUSTED, NO_OTHER_LABEL, MAY_MISS)
    bad = {status: count for status, count in entry["statuses"].items() if status not in fine}
    if bad:
        told = ", ".join(f"{status}: {count}" for status, count in sorted(bad.items()))
        said += [f"{where}: the draws of {sum(bad.values())} of {entry['images']} images can't be trusted ({told})"]
    if entry["no_other_label"]:
        said += [
            f"{where}: on {entry['no_other_label']} of {entry['images']} images no draw has another label; their 1 − µ "
            "is what the classifier doubts there, and leaves out failures that were never met"
        ]
    return said


def missed_regions(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """One sentence for all entries: on how many images of each classifier other regions of failures may exist."""
    counts: Counter[str] = Counter()
    for entry in entries:
        counts[entry["classifier"]] += entry["statuses"].get(MAY_MISS, 0)
    concerned = [entry for entry in entries if entry["statuses"].get(MAY_MISS)]
    if not concerned:
        return []
    images = {name: sum(entry["images"] for entry in entries if entry["classifier"] == name) for name in +counts}
    where = ", ".join(f"{counts[name]} of {total} of {name!r}" for name, total in images.items())
    least = max(entry["least_met"] for entry in concerned)
    return [
        f"weak points: on some images ({where}, over all nuisances) failures take up less than {least:.2g} of the "
        "prior, so another region of failures as small may have been missed; a larger budget looks further"
    ]
