"""Tables of the parts whose networks are measured each by itself: runs of one model are put together here."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gather
import numpy as np
import paper
from cells import Row, number, table
from scipy.stats import t as student

from brittle.statistics.interference import bootstrap, increases, index

MODELS = ("basic", "mixup", "fmix", "cutmix", "rm")
BAGNETS = (*(f"bagnet-9-{each}" for each in MODELS[:4]), "bagnet-17-basic")
MIXES = {"mixup": "MixUp", "fmix": "FMix", "cutmix": "CutMix"}


def model_of(name: str) -> str:
    """The model of a run: basic of basic-recipe-3, bagnet-9-fmix of bagnet-9-fmix-converged-0."""
    return name.rpartition("-")[0].removesuffix("-recipe").removesuffix("-converged")


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Mean ± standard deviation over runs, as the paper prints them."""
    if not values:
        return "–"
    more = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{number(statistics.mean(values), digits)}{more}"


def joined(rows: Sequence[Row], model: str, nuisance: str) -> dict[str, Any] | None:
    """The row of a model, as of one study: the index over its runs, and the class."""
    own = [row for row in rows if model_of(row["group"]) == model and row["nuisance"] == nuisance]
    if not own:
        return None
    changes = np.concatenate([np.asarray(row["increases"]).T for row in own]) / 100  # (runs, K)
    increase = increases(changes, np.zeros_like(changes))
    found = index(increase)
    top = "–" if found.top is None else own[0]["class_names"][found.top]
    known = {"di": found.value, "top": top, "agreeing": found.agreeing, "runs": len(own)}
    shown = {"class_names": own[0]["class_names"], "increases": (100 * changes).T.tolist()}
    return known | shown | {"interval": bootstrap(increase, 0.95)}


def told(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    ends = "" if row["interval"] is None else f" [{row['interval'][0]:.2f}, {row['interval'][1]:.2f}]"
    return f"{number(row['di'])}{ends}, {row['top']} ({row['agreeing']} of {row['runs']})"


def accuracy(rows: Sequence[Row], model: str, nuisance: str) -> list[float]:
    return [
        100 * row["accuracy_nuisance"]
        for row in rows
        if model_of(row["classifier"]) == model and row["nuisance"] == nuisance
    ]


def shapes(found: Path, part: str, models: Sequence[str], title: str) -> str:
    """Tables 2, 4 and 13 in kind: shape and texture accuracy beside the index and accuracy on shuffled patches."""
    rows, fields = gather.read(found, part, "shapes"), gather.read(found, part, "textures")
    distorted, right = gather.read(found, part, "interference"), gather.read(found, part, "accuracy")
    lines = []
    for model in models:
        own = [row for row in rows if model_of(row["classifier"]) == model]
        if own:
            plain = [100 * row["accuracy_clean"] for row in fields if model_of(row["classifier"]) == model]
            shares = ([100 * row[key] for row in own] for key in ("shape_accuracy", "texture_accuracy", "shape_bias"))
            cells = [spread(each, 1) for each in (*shares, plain, accuracy(right, model, "shuffle-2"))]
            lines.append(
                [paper.TITLES.get(model, model), f"{len(own)}", *cells, told(joined(distorted, model, "shuffle-2"))]
            )
    head = ("model", "runs", "by shape, %", "by texture, %", "shape bias, %", "textures alone, %", "shuffled 2×2, %")
    count = rows[0]["stimuli"]
    return (
        f"## {title}\n\n{table((*head, 'DI, shuffled 2×2'), lines)}\n± is the spread over runs, as in the paper. "
        f"{count:,} stimuli: the silhouette of one piece filled with the texture of another.\n"
    )


def paired(found: Path, part: str, reference: str, models: Sequence[str]) -> str:
    """Each model minus the reference, seed by seed: whether shape bias differs where the index does."""
    by_name = {row["classifier"]: row for row in gather.read(found, part, "shapes")}
    lines = []
    for model in models:
        apart: dict[str, list[float]] = {"shape_accuracy": [], "texture_accuracy": [], "shape_bias": []}
        for name, row in by_name.items():
            other = by_name.get(name.replace(model, reference, 1))
            if model_of(name) == model and model != reference and other is not None:
                for key, values in apart.items():
                    values.append(100 * (row[key] - other[key]))
        if len(apart["shape_bias"]) > 1:
            lines.append(
                [paper.TITLES.get(model, model), f"{len(apart['shape_bias'])}", *map(_student, apart.values())]
            )
    head = ("model", "pairs", "by shape, points", "by texture, points", "shape bias, points")
    return f"Minus {reference}, seed by seed (Student, 95 %, one at a time):\n\n{table(head, lines)}" if lines else ""


def _student(values: Sequence[float]) -> str:
    mean, count = statistics.mean(values), len(values)
    reach = float(student.ppf(0.975, count - 1)) * statistics.stdev(values) / count**0.5
    return f"{number(mean, 1)} [{number(mean - reach, 1)}, {number(mean + reach, 1)}]"


def recipe(found: Path) -> str:
    """The paper's recipe, runs of a model together."""
    trained = gather.read(found, "recipe", "networks")
    index_rows, hidden = gather.read(found, "recipe", "interference"), gather.read(found, "recipe", "occlusion")
    hidden = [
        row for row in hidden if row["sort"] == "classifier" and row["image_set"] == "test" and row["share"] == 0.3
    ]
    lines = []
    for model in MODELS:
        own = [row for row in trained if model_of(row["name"]) == model]
        if own:
            cut = [row for row in hidden if model_of(row["name"]) == model]
            ratios = [
                [row["iocclusion"] for row in cut if row["nuisance"] == mask and row["iocclusion"] is not None]
                for mask in ("cam-mnist", "rectangle-mnist")
            ]
            covered = [100 * row["accuracy"] for row in cut if row["nuisance"] == "rectangle-mnist"]
            lines.append(
                [
                    paper.TITLES[model],
                    f"{len(own)}",
                    spread([100 * (1 - row["test_error"]) for row in own]),
                    told(joined(index_rows, model, "shuffle-2")),
                    told(joined(index_rows, model, "patch-mnist")),
                    spread(covered, 1),
                    *map(spread, ratios),
                ]
            )
    head = ("model", "runs", "test accuracy, %", "DI, shuffle-2", "DI, patch-mnist", "CutOcclusion, %")
    head += ("iOcclusion, Grad-CAM masks", "iOcclusion, rectangles")
    return (
        f"### The same, runs of a model together\n\n{table(head, lines)}\n± is the spread over runs, as in the paper; "
        "the index is of all runs at once, with a rough interval from three runs on.\n"
    )


def recipe_indices(found: Path) -> str:
    """Tables 1, 3, 9 to 12 and 14 by the paper's recipe."""
    rows = gather.read(found, "recipe", "interference")
    lines = [
        [nuisance, *(told(joined(rows, model, nuisance)) for model in MODELS)]
        for nuisance in dict.fromkeys(row["nuisance"] for row in rows)
    ]
    head = ("distortion", *(paper.TITLES[model] for model in MODELS))
    return f"### The index under every distortion, by the paper's recipe\n\n{table(head, lines)}"


def both_ways(found: Path) -> str:
    """Table 8 and its reciprocal."""
    rows = gather.read(found, "both-ways", "networks")
    lines = []
    for images, title in (
        ("fashion", "FashionMNIST, partners from MNIST"),
        ("mnist", "MNIST, partners from FashionMNIST"),
    ):
        for mix, name in MIXES.items():
            by_seed = {
                kind: {
                    row["seed"]: 100 * (1 - row["test_error"])
                    for row in rows
                    if row["group"] == f"{mix}-{images}-{kind}"
                }
                for kind in ("own", "other")
            }
            apart = [by_seed["other"][seed] - own for seed, own in by_seed["own"].items() if seed in by_seed["other"]]
            if apart:
                cells = [spread(list(each.values())) for each in by_seed.values()]
                lines.append(
                    [title, name, f"{len(apart)}", *cells, _student(apart) if len(apart) > 1 else number(apart[0])]
                )
    head = ("trained on", "mix", "runs", "own partners, %", "others' partners, %", "others' minus own, points")
    return "## Table 8 trained longer, and its reciprocal: test accuracy\n\n" + table(head, lines)


def indices(found: Path, part: str, models: Sequence[str], title: str) -> str:
    rows, trained = gather.read(found, part, "interference"), gather.read(found, part, "networks")
    lines = []
    for model in models:
        own = [row for row in trained if model_of(row["name"]) == model]
        if own:
            cells = [told(joined(rows, model, nuisance)) for nuisance in ("shuffle-2", "shuffle-4", "patch")]
            loss = spread([row["losses"][-1] for row in own], 3)
            before = spread([row["losses"][3 * len(row["losses"]) // 4] for row in own], 3)
            right = spread([100 * (1 - row["test_error"]) for row in own])
            lines.append([model, f"{len(own)}", f"{own[0]['epochs']}", right, before, loss, *cells])
    head = (
        "network",
        "runs",
        "epochs",
        "test accuracy, %",
        "loss at three quarters",
        "loss",
        "DI, shuffle-2",
        "shuffle-4",
    )
    return f"## {title}\n\n{table((*head, 'patch'), lines)}"


def sections(found: Path) -> Iterator[str]:
    """What there is of it."""
    there = {part for part in ("stimuli", "converged", "both-ways", "deeper") if gather.read(found, part, "networks")}
    if "stimuli" in there:
        yield shapes(found, "stimuli", MODELS, "Tables 2 and 4 in kind: shape and texture, 15 epochs")
        yield paired(found, "stimuli", "basic", MODELS)
    if gather.read(found, "recipe", "shapes"):
        yield shapes(found, "recipe", MODELS, "The same by the paper's recipe")
    if "converged" in there:
        yield indices(found, "converged", BAGNETS, "BagNets trained on (B.8, figure 11)")
        yield shapes(found, "converged", BAGNETS, "Table 13 in kind: BagNets, shape and texture")
        yield paired(found, "converged", "bagnet-9-basic", BAGNETS[:4])
    if "deeper" in there:
        names = dict.fromkeys(row["group"] for row in gather.read(found, "deeper", "networks"))
        yield indices(found, "deeper", tuple(names), "B.8: WideResNet, DenseNet and PyramidNet")
    if "both-ways" in there:
        yield both_ways(found)
