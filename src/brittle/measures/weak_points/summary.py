"""What weak points say of a whole image set: where they lead, which parameters break the classifier, and how many of
them can be trusted."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import RunView
from brittle.measures.weak_points.diagnosis import NOTHING, TRUSTED, judged
from brittle.types import Classifier, Nuisance


class Weak(NamedTuple):
    """The weak points of one image."""

    place: int  # of the image in planned order
    label: int  # what counts as right, as the classifier counts
    wrong: bool  # already wrong untouched
    diagnosis: dict[str, Any]
    predicted: NDArray[np.int32]  # (k,)

    @property
    def found(self) -> bool:
        return bool(self.diagnosis["status"] != NOTHING)

    @property
    def leads_to(self) -> Counter[int]:
        """How many of the draws are of which other label (the paper's footnote 3)."""
        return Counter(self.predicted[self.predicted != self.label].tolist()) if self.found else Counter()


def read(run: RunView, classifier: str, images: str, nuisance: str) -> list[Weak]:
    """Every image's weak points in planned order."""
    subject, clean = run.subjects[images], run.clean(classifier, images)["predicted"]
    references = run.references(classifier, images)
    places = {number: place for place, number in enumerate(subject.ids.tolist())}
    found = []
    for _, rows in run.rows(classifier, images, nuisance):
        texts = rows["diagnosis"].to_pylist()
        starts = [row for row, text in enumerate(texts) if text is not None]
        ids, predicted = rows["image"].to_numpy(), rows["predicted"].to_numpy()
        for start, end in itertools.pairwise([*starts, len(texts)]):
            place = places[int(ids[start])]
            label = int(references[place]) if references[place] >= 0 else int(clean[place])
            wrong = int(clean[place]) != label
            found.append(Weak(place, label, wrong, json.loads(texts[start]), predicted[start:end]))
    return found


def summarise_weak_points(sampler: str, run: RunView) -> dict[str, Any]:
    """An entry per (image set, nuisance, classifier), under "weak_points"."""
    entries, warnings = [], []
    for images, nuisance, name in itertools.product(run.subjects, run.nuisances, run.classifiers):
        weak = read(run, name, images, nuisance)
        entry = {
            "classifier": name,
            "image_set": images,
            "nuisance": nuisance,
            "prior": run.prior(images, nuisance),
            "sampler": sampler,
            "seed": run.seed,
        }
        entry |= summarise(weak, run.classifiers[name], run.nuisances[nuisance], run.subjects[images].names)
        entries.append(entry)
        warnings += _warnings(entry)
    return {"weak_points": entries, "warnings": warnings}


def summarise(weak: Sequence[Weak], classifier: Classifier, nuisance: Nuisance, names: Sequence[str]) -> dict[str, Any]:
    """Numbers of one classifier under one nuisance, and a row per image."""
    statuses = Counter(each.diagnosis["status"] for each in weak)
    told = [each for each in weak if each.found and not each.wrong]
    missed = [each.diagnosis["missed"] for each in weak if each.diagnosis["missed"] is not None]
    return {
        "images": len(weak),
        "found": sum(each.found for each in weak),
        "trusted": statuses[TRUSTED],
        "statuses": dict(statuses),
        "methods": dict(Counter(each.diagnosis["method"] for each in weak)),
        "already_wrong": sum(each.wrong for each in weak),
        "already_wrong_are": "sampled like the others, and left out of flows and parameters",
        "hard": "hard" in classifier.can,
        "calls": sum(each.diagnosis["calls"] for each in weak),
        "effective": _median([each.diagnosis["effective"] for each in weak]),
        "per_1000": _median([each.diagnosis["per_1000"] for each in weak]),
        "missed": float(np.mean(missed)) if missed else None,
        "flows": flows(told, classifier),
        "parameters": parameters(told, nuisance),
        "per_image": [_of_image(each, classifier, names) for each in weak],
    }


def flows(weak: Sequence[Weak], classifier: Classifier) -> list[dict[str, Any]]:
    """Label → label: shares of the weak points that have another label, which sum to 1. Every image's draws weigh the
    same in all, so that one of another label among many counts little."""
    shares: defaultdict[tuple[int, int], float] = defaultdict(float)
    images: Counter[tuple[int, int]] = Counter()
    for each in weak:
        for label, count in each.leads_to.items():
            shares[each.label, label] += count / len(each.predicted)
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


def parameters(weak: Sequence[Weak], nuisance: Nuisance) -> list[dict[str, Any]]:
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
        }
        for at in range(numbers)
        if np.all(prior_deviation[:, at] > 1e-12)
    ]
    return sorted(rows, key=lambda row: -float(row["information"]))


def parameter_names(nuisance: Nuisance, numbers: int) -> list[str]:
    """A name for each parameter that was looked at."""
    words = list(nuisance.parameters)
    if len(words) >= numbers and numbers == len(judged(len(words))):
        return [words[place] for place in judged(len(words)).tolist()]
    return [f"{words[0]} {place + 1}" for place in range(numbers)]


def _of_image(each: Weak, classifier: Classifier, names: Sequence[str]) -> dict[str, Any]:
    found = each.diagnosis
    top = each.leads_to.most_common(1)
    return {
        "id": found["id"],
        "name": names[each.place],
        "label": classifier.labels[each.label],
        "already_wrong": each.wrong,
        "leads_to": classifier.labels[top[0][0]] if top else None,
        **{
            key: found[key]
            for key in (
                "method",
                "status",
                "calls",
                "effective",
                "per_1000",
                "acceptance",
                "rhat",
                "kish",
                "pareto_k",
                "missed",
                "another_label",
                "parameter_effective",
                "parameter_rhat",
                "smallest",
                "smallest_log_prior",
            )
        },
        "smallest_label": None
        if found["smallest_predicted"] is None
        else classifier.labels[found["smallest_predicted"]],
    }


def _median(values: Sequence[float]) -> float | None:
    known = [value for value in values if not math.isnan(value)]
    return float(np.median(known)) if known else None


def _warnings(entry: dict[str, Any]) -> list[str]:
    where = f"weak points of {entry['classifier']!r} under {entry['nuisance']}"
    bad = {status: count for status, count in entry["statuses"].items() if status != TRUSTED}
    if not bad:
        return []
    told = ", ".join(f"{status}: {count}" for status, count in sorted(bad.items()))
    return [f"{where}: the draws of {sum(bad.values())} of {entry['images']} images can't be trusted ({told})"]
