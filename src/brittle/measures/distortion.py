"""Whether what a distortion gets wrong goes to one class: the DI index, which measures put into their summaries.

Marcu & Prügel-Bennett 2022, equation 1 (see `statistics.interference`). It is derived from rows that are there anyway:
predictions on distorted images, and clean predictions of the same images. Classifiers of one `group` are runs of one
model; one that has no group is a single run, for which nothing can be said about consistency.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import RunView, pairs_of
from brittle.statistics.interference import (
    WrongAnswers,
    all_to_one,
    bootstrap,
    increases,
    index,
    renamed_at_random,
    unequal_shares,
)

INTERFERENCE_KEY = "interference"  # the key of these rows in a summary
CLEAN = "clean"
SIMULATIONS = 1000  # beside another measure
FEWEST_SIMULATIONS = 200
SIMULATED = 1 << 18  # numbers of a simulation beside another measure: fewer simulations where classes are many
EVENLY, BY_SHARE = "all classes alike", "classes as often as they are given untouched"  # where errors go by chance
CONFIDENCE = 0.95


class DistortionPart(NamedTuple):
    """One of several distortions whose rows stand in one cell: those with this value in this column."""

    name: str
    column: str
    value: int


class WrongPredictions(NamedTuple):
    """What a classifier wrongly says of its evaluated images."""

    place: NDArray[np.int64]  # (E,) of the image, for each image and class that it is wrongly given
    given: NDArray[np.int64]  # (E,) that class
    share: NDArray[np.float64]  # (E,) of all answers
    labels: NDArray[np.int64]  # (M,) what is right, of every image of the set
    before: NDArray[np.int64]  # (M,) what it says of the untouched image; the label where that was not evaluated
    seen: NDArray[np.bool_]  # (M,)
    rows: int

    def distorted(self, classes: int) -> NDArray[np.float64]:
        """Shares (K,) of all answers that are wrongly each class."""
        return np.asarray(np.bincount(self.given, self.share, classes), np.float64)

    def clean(self, classes: int) -> NDArray[np.float64]:
        """The same of the untouched images."""
        counts = np.bincount(self.before[self.before != self.labels], minlength=classes)
        return np.asarray(counts / max(1, int(self.seen.sum())))

    def answers_untouched(self, classes: int) -> NDArray[np.float64]:
        """How many of the untouched images are given each class (K,)."""
        return np.bincount(self.before[self.seen], minlength=classes).astype(np.float64)


def interference_rows(run: RunView, where: str, sets: Collection[str] | None = None) -> list[dict[str, Any]]:
    """The index of every model on every image set under every nuisance of a measure that distorts images; nothing where
    labels, images at severity 0, or clean predictions, are missing. `where` says which answers its rows hold, such as
    "at the break"; `sets`, which of its image sets, all by default. A measure puts this into its summary under
    the key `INTERFERENCE_KEY`."""
    if run.read(CLEAN) is None:
        return []
    found = []
    for images, nuisance in pairs_of(run):
        subject = run.images[images]
        if subject.labelled and subject.origin and (sets is None or images in sets):
            for group, names in models(run):
                found.append(interference_row(run, group, names, images, nuisance, where))
    return found


def interference_row(
    run: RunView,
    group: str,
    names: list[str],
    images: str,
    nuisance: str,
    where: str,
    part: DistortionPart | None = None,
) -> dict[str, Any]:
    """The index of one model for its place beside another measure."""
    classes = len(run.classifiers[names[0]].labels)
    simulations = min(SIMULATIONS, max(FEWEST_SIMULATIONS, SIMULATED // (classes * len(names))))
    one = interference(run, group, names, images, nuisance, simulations, CONFIDENCE, part)
    return {key: value for key, value in one.items() if key != "per_class"} | {"where": where}


def models(run: RunView) -> Iterator[tuple[str, list[str]]]:
    """Names of the classifiers of each group with the same classes; one without a group is alone. Where members of a
    group differ in classes they are several models, told apart by who they are."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, facts in run.classifiers.items():
        groups.setdefault((facts.group or name, facts.labels), []).append(name)
    often = Counter(group for group, _ in groups)
    return (
        (group if often[group] == 1 else f"{group} ({', '.join(names)})", names) for (group, _), names in groups.items()
    )


def interference(
    run: RunView,
    group: str,
    names: list[str],
    images: str,
    nuisance: str,
    simulations: int,
    confidence: float,
    part: DistortionPart | None = None,
) -> dict[str, Any]:
    """The index of the runs of one model, with chance levels, and in points of accuracy."""
    found = [wrong_predictions(run, name, images, nuisance, part) for name in names]
    labels = run.classifiers[names[0]].with_class_names_of(run.images[images]).labels
    classes, images_seen = len(labels), min(int(one.seen.sum()) for one in found)
    distorted, clean = (
        np.stack([of(one, classes) for one in found]) for of in (WrongPredictions.distorted, WrongPredictions.clean)
    )
    increase = increases(distorted, clean)
    di = index(increase)
    value = 0.0 if di.value is None else di.value
    lost = distorted.sum(1) - clean.sum(1)
    rough = None if di.value is None else bootstrap(increase, confidence)
    answers = _together(found, classes)
    nulls = {EVENLY: renamed_at_random(answers, clean, value, simulations, run.seed)}
    shares = unequal_shares(np.mean([one.answers_untouched(classes) for one in found], 0))
    if shares is not None:
        nulls[BY_SHARE] = renamed_at_random(answers, clean, value, simulations, run.seed, shares)
    towards, spread = max(nulls.items(), key=lambda each: (each[1].p_value, each[1].mean))
    one_class = all_to_one(distorted, clean, value, simulations, run.seed)
    return {
        "group": group,
        "runs": len(names),
        "classifiers": names,
        "image_set": images,
        "nuisance": nuisance if part is None else part.name,
        "images": images_seen,
        "samples": min(one.rows // max(1, int(one.seen.sum())) for one in found),
        "classes": classes,
        "di": di.value,
        "rough_interval": None if rough is None else list(rough),
        "confidence": confidence,
        "worst_case": di.worst,
        "top_class": None if di.top is None else labels[di.top],
        "tied_classes": [labels[each] for each in di.tied],
        "top_share": di.share,
        "agreeing_runs": di.agreeing,
        "runs_without_increase": di.undefined,
        "points_lost": 100 * float(lost.mean()),
        "points_to_top": 100 * di.increase / classes,
        "points_by_chance": 100 * spread.increase / classes,
        "chance_spread": {"mean": spread.mean, "high": spread.high, "p_value": spread.p_value, "towards": towards},
        "chance_one_class": {"mean": one_class.mean, "high": one_class.high, "p_value": one_class.p_value},
        "per_class": [
            {"class": label, "increases": (100 * each).tolist()}
            for label, each in zip(labels, (distorted - clean).T, strict=True)
        ],
    }


def wrong_predictions(
    run: RunView, classifier: str, images: str, nuisance: str, part: DistortionPart | None = None
) -> WrongPredictions:
    """Every wrong prediction counts, however many there are of one class. Without a label, what the classifier says of
    the clean image is right."""
    subject, labels = run.images[images], run.references(classifier, images).copy()
    if (labels < 0).any():
        labels[labels < 0] = _clean_predictions(run, classifier, images, subject.ids[labels < 0])
    classes, rows, found = len(run.classifiers[classifier].labels), 0, []
    seen = np.zeros(len(subject), bool)
    for whole in run.rows(run.cell(classifier, images, nuisance)):
        table = whole if part is None else whole.filter(whole[part.column].to_numpy() == part.value)
        places, predicted = subject.places(table["image"].to_numpy()), table["predicted"].to_numpy()
        wrong = predicted != labels[places]
        found.append(np.unique(places[wrong] * classes + predicted[wrong], return_counts=True))
        seen[places] = True
        rows += table.num_rows
    nothing = np.zeros(0, np.int64)
    keys, counts = (np.concatenate([nothing, *(each[column] for each in found)]) for column in (0, 1))
    share = np.asarray(counts / max(1, rows), np.float64)
    if (np.diff(keys) <= 0).any():  # an image's draws are in several units
        keys, inside = np.unique(keys, return_inverse=True)
        share = np.asarray(np.bincount(inside, share, len(keys)), np.float64)
    before = labels.copy()
    before[seen] = _clean_predictions(run, classifier, images, subject.ids[seen])
    return WrongPredictions(keys // classes, keys % classes, share, labels, before, seen, rows)


def _together(found: list[WrongPredictions], classes: int) -> WrongAnswers:
    """The answers of all runs. Every image keeps the names of its label and of its errors while untouched."""
    place, given, share = (
        np.concatenate([getattr(one, name) for one in found]) for name in ("place", "given", "share")
    )
    run = np.repeat(np.arange(len(found)), [len(one.given) for one in found])
    images, image = np.unique(place, return_inverse=True)
    kept = np.sort(np.stack([found[0].labels, *(one.before for one in found)], 1)[images], 1)
    kept[:, 1:][kept[:, 1:] == kept[:, :-1]] = classes
    return WrongAnswers(image, run, given, share, kept)


def _clean_predictions(run: RunView, classifier: str, images: str, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    view = run.read(CLEAN)
    assert view is not None
    said = view.fold(view.cell(classifier, images)).compute()
    return np.asarray(said["predicted"][run.images[images].places(ids), 0], np.int64)
