"""The tables of results.md, each beside what the paper prints."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import gather
import numpy as np
import occlusion_tables
import paper
import plan
import together
from cells import Row, found_by, number, pm, table

from brittle.statistics.interference import increases, index

PARTS = ("main", "long", *plan.BY_ITSELF, "architectures", "across", "random", "small", "reduced", "halves")


def networks(found: Path) -> str:
    """Every model: how many runs, and their test errors."""
    rows = []
    for part in PARTS:
        groups: dict[str, list[Row]] = {}
        for row in gather.read(found, part, "networks"):
            groups.setdefault(row["group"], []).append(row)
        for name, runs in groups.items():
            errors = [100 * run["test_error"] for run in runs]
            spread = f" ± {statistics.stdev(errors):.2f}" if len(errors) > 1 else ""
            first = runs[0]
            rows.append(
                [
                    part,
                    name,
                    str(first["network"]),
                    str(len(runs)),
                    f"{first['epochs']}",
                    f"{100 - statistics.mean(errors):.2f}{spread}",
                ]
            )
    head = ("part", "model", "network", "runs", "epochs", "test accuracy, % (± spread over runs)")
    return "## Networks\n\n" + table(head, rows)


def _bounds(row: Row) -> str:
    ends = row["rough_interval"]
    return "" if ends is None else f" [{ends[0]:.2f}, {ends[1]:.2f}]"


def worst_case(row: Row) -> float | None:
    """From the increases of every class and run."""
    changes = np.array(row["increases"]).T / 100
    return index(increases(changes, np.zeros_like(changes))).worst


def interference(found: Path) -> Iterator[str]:
    """Tables 1, 3, 9 to 12 and 14, and B.2, B.6."""
    rows = gather.read(found, "main", "interference")
    yield (
        "## The DI index\n\nHere: the index over five runs [rough 95 % interval over runs], and the class that "
        "errors go to with the number of runs that agree. *Chance* is the 95 % quantile if errors were spread over the "
        "classes at random, and if each run sent all of its errors to one class of its own: an older method than "
        "Brittle's present one (see [README.md](README.md)).\n"
    )
    seen = dict.fromkeys(row["nuisance"] for row in rows)
    for nuisance in seen:
        lines = []
        for model in paper.MODELS:
            row = found_by(rows, group=model, nuisance=nuisance)
            if row is None:
                continue
            printed = paper.DI.get(nuisance, {}).get(model)
            lines.append(
                [
                    paper.TITLES[model],
                    f"{number(row['di'])}{_bounds(row)}",
                    pm(printed),
                    f"{row['top_class']}, {row['agreeing_runs']} of {row['runs']}",
                    f"{row['points_lost']:.1f}",
                    f"{row['points_to_top']:.1f}",
                    f"{row['chance_spread_high']:.2f}; {row['chance_one_class_high']:.2f}",
                    number(worst_case(row)),
                    pm(paper.WORST.get(nuisance, {}).get(model)),
                ]
            )
        head = (
            *("model", "DI", "paper", "class", "points lost", "gained by the class", "chance"),
            *("worst case", "paper's worst case"),
        )
        where = paper.WHERE.get(nuisance, "")
        yield f"### {nuisance}{f' ({where})' if where else ''}\n\n{table(head, lines)}"


def accuracies(found: Path) -> str:
    """Table 4 in kind: accuracy under every distortion."""
    rows = gather.read(found, "main", "accuracy")
    names = list(dict.fromkeys(row["nuisance"] for row in rows))
    lines = []
    for nuisance in names:
        cells = [nuisance]
        for model in paper.MODELS:
            each = [
                100 * row["accuracy_nuisance"]
                for row in rows
                if row["nuisance"] == nuisance and row["classifier"].rpartition("-")[0] == model
            ]
            cells.append(f"{statistics.mean(each):.1f} ± {statistics.stdev(each):.1f}" if len(each) > 1 else "–")
        lines.append(cells)
    title = "## Accuracy under each distortion, % (table 4 in kind: rows shuffle-…)\n\n"
    return title + table(("distortion", *(paper.TITLES[model] for model in paper.MODELS)), lines)


def across(found: Path) -> str:
    """Table 8."""
    rows = gather.read(found, "across", "networks")
    lines = []
    for mix in ("mixup", "fmix", "cutmix"):
        cells = [paper.TITLES[mix]]
        for other in ("own", "mnist"):
            each = [100 * (1 - row["test_error"]) for row in rows if row["group"] == f"{mix}-{other}"]
            cells.append("–" if len(each) < 2 else f"{statistics.mean(each):.2f} ± {statistics.stdev(each):.2f}")
        printed = paper.TABLE8[mix]
        lines.append([*cells, f"{printed[0]}", f"{printed[1]}", f"{printed[2]}"])
    head = ("mix", "partners from FashionMNIST", "from MNIST", "paper: baseline", "with CIFAR-100", "with Fashion")
    return "## Table 8: the reformulated objective, test accuracy in % (the paper's columns are CIFAR-10)\n\n" + table(
        head, lines
    )


def reduced(found: Path) -> str:
    rows = gather.read(found, "reduced", "interference")
    lines = [
        [
            row["group"],
            str(row["runs"]),
            row["nuisance"],
            f"{number(row['di'])}{_bounds(row)}",
            f"{row['top_class']}, {row['agreeing_runs']} of {row['runs']}",
            f"{row['points_lost']:.1f}",
            f"{row['points_to_top']:.1f}",
        ]
        for row in rows
    ]
    head = ("model", "runs", "distortion", "DI", "class", "points lost", "gained by the class")
    return (
        "## Table 7 and figure 15: without the class that errors went to\n\n"
        f"{table(head, lines)}\nThe paper, on CIFAR-10: MixUp 0.39 ± 0.15, FMix 0.08 ± 0.06 (table 7), basic "
        "1.11 ± 0.28, CutMix 0.16 ± 0.04 (C.5.1).\n"
    )


def architectures(found: Path) -> str:
    rows = [
        *gather.read(found, "architectures", "interference"),
        *(row for row in gather.read(found, "main", "interference") if row["group"] == "basic"),
    ]
    lines = []
    for group in ("basic", "vgg", "bagnet-9", "bagnet-17", "vgg-mixup"):
        cells = ["PreAct-ResNet-18" if group == "basic" else group]
        for nuisance in ("shuffle-2", "shuffle-4", "patch"):
            row = found_by(rows, group=group, nuisance=nuisance)
            cells.append("–" if row is None else f"{number(row['di'])}{_bounds(row)}, {row['top_class']}")
        cells.append(number(paper.B8.get("resnet" if group == "basic" else group)))
        lines.append(cells)
    head = ("network", "shuffle-2", "shuffle-4", "patch", "paper, CIFAR-10, shuffled")
    return "## B.8: the DI index across architectures\n\n" + table(head, lines)


def augmentations(found: Path, part: str, epochs: int) -> str:
    """Table 6."""
    trained, shifted = gather.read(found, part, "networks"), gather.read(found, part, "affinity")
    runs = sum(row["group"] == f"basic-{part}" for row in trained)
    lines = []
    for mix in ("mixup", "fmix", "cutmix"):
        cells = [paper.TITLES[mix]]
        columns = [[row["affinity"] for row in shifted if row["augmentation"] == mix]]
        columns += [
            [row[key] for row in trained if row["group"] == f"{mix}-{part}"] for key in ("diversity", "mix_diversity")
        ]
        for place, each in enumerate(columns):
            said = f"{number(statistics.mean(each))} ± {statistics.stdev(each):.2f}" if len(each) > 1 else "–"
            printed = f" ({number(paper.TABLE6[mix][place])})" if mix in paper.TABLE6 else ""
            cells.append(said + printed)
        lines.append(cells)
    head = ("augmentation", "affinity, points", "diversity", "MixDiversity")
    return (
        f"## Table 6 after {epochs} epochs: affinity and diversity, ± spread over {runs} runs (in brackets the paper's "
        f"CIFAR-10)\n\n{table(head, lines)}\nAffinity is that of the basic networks on 5,000 pairs of test images; "
        "right is the label of the image with the larger share.\n"
    )


def recipe(found: Path) -> str:
    """What is there so far of the networks trained as in the paper, each by itself."""
    trained = gather.read(found, "recipe", "networks")
    index, hidden = gather.read(found, "recipe", "interference"), gather.read(found, "recipe", "occlusion")
    lines = []
    for row in trained:
        shuffled, patched = (found_by(index, group=row["name"], nuisance=each) for each in ("shuffle-2", "patch-mnist"))
        cells = [row["name"].replace("-recipe-", ", run "), f"{100 * (1 - row['test_error']):.2f}"]
        own = [each for each in hidden if each["sort"] == "classifier" and each["name"] == row["name"]]
        cam, cut = (
            found_by(own, nuisance=each, share=0.3, image_set="test") for each in ("cam-mnist", "rectangle-mnist")
        )
        if shuffled is None or patched is None or cam is None or cut is None:
            continue
        cells += [f"{100 * cut['train_accuracy_clean']:.2f}", f"{100 * cut['gap']:.1f}"]
        cells += [f"{number(each['di'])}, {each['top_class']}" for each in (shuffled, patched)]
        cells += [f"{100 * cut['accuracy']:.1f}", occlusion_tables.ratio(cam), occlusion_tables.ratio(cut)]
        lines.append(cells)
    head = ("model", "test accuracy, %", "on training images", "gap, points", "DI, shuffle-2", "DI, patch-mnist")
    head += ("CutOcclusion, %", "iOcclusion, Grad-CAM masks", "iOcclusion, rectangles")
    return (
        "## By the paper's recipe: 200 epochs, batches of 128\n\n"
        f"{table(head, lines)}\nOne row per training; both occlusions hide 30 % by pieces of MNIST, intervals are over "
        "images and leave out the spread between trainings.\n"
    )


def sections(found: Path) -> Iterator[str]:
    yield networks(found)
    if gather.read(found, "recipe", "networks"):
        yield recipe(found)
        yield together.recipe(found)
        yield together.recipe_indices(found)
    yield from interference(found)
    yield accuracies(found)
    yield from occlusion_tables.sections(found)
    yield augmentations(found, "long", 45)
    if gather.read(found, "recipe", "affinity"):
        yield augmentations(found, "recipe", 200)
    yield reduced(found)
    yield across(found)
    yield architectures(found)
    yield from together.sections(found)
