"""The tables of results.md, each beside what the paper prints."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gather
import numpy as np
import paper
from studies import SHARES

from brittle.statistics.interference import increases, index

Row = Mapping[str, Any]


def found_by(rows: Sequence[Row], **wanted: Any) -> Row | None:
    return next((row for row in rows if all(row[key] == value for key, value in wanted.items())), None)


def pm(mean_and_spread: tuple[float, float] | None) -> str:
    return "–" if mean_and_spread is None else f"{mean_and_spread[0]:.2f} ± {mean_and_spread[1]:.2f}"


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}".replace("-", "−")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def networks(found: Path) -> str:
    """Every model: how many runs, and their test errors."""
    rows = []
    for part in ("main", "architectures", "across", "random", "small", "reduced", "halves"):
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
        "classes at random, and if each run sent all of its errors to one class of its own.\n"
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


def occlusion(found: Path) -> Iterator[str]:
    """Tables 5, 15 and 16."""
    rows = [row for row in gather.read(found, "main", "occlusion") if row["sort"] == "group"]
    index = gather.read(found, "main", "interference")
    own = [row for row in rows if row["run"] == "occluded"]
    lines = []
    for model in paper.MODELS:
        cam = found_by(own, name=model, nuisance="cam-mnist", share=0.3)
        cut = found_by(own, name=model, nuisance="rectangle-mnist", share=0.3)
        di = found_by(index, group=model, nuisance="patch-30-mnist")
        if cam is None or cut is None or di is None:
            continue
        printed = paper.TABLE5[model]
        lines.append(
            [
                paper.TITLES[model],
                f"{number(di['di'])} ({printed[0]})",
                f"{100 * cut['accuracy']:.1f} ({printed[1]})",
                f"{number(cut['relative'])}",
                f"{_ratio(cam)} ({printed[2]})",
                f"{_ratio(cut)}",
            ]
        )
    head = ("model", "DI", "CutOcclusion, %", "A/A₀", "iOcclusion, Grad-CAM masks", "iOcclusion, rectangles")
    yield (
        "## Table 5: 30 % hidden by pieces of MNIST (in brackets the paper's CIFAR-10)\n\n"
        f"{table(head, lines)}\niOcclusion is the ratio of means over the runs, with Fieller's 95 % interval; *gap* "
        "where the generalisation gap is too small to divide by.\n"
    )
    for nuisance in ("cam", "cam-mnist", "rectangle", "rectangle-mnist", "fourier", "tiles"):
        lines = []
        for model in paper.MODELS:
            points = [found_by(own, name=model, nuisance=nuisance, share=share) for share in SHARES]
            if any(point is None for point in points):
                continue
            first = points[0]
            assert first is not None
            printed = paper.TABLE16.get(model) if nuisance == "cam" else None
            gaps = [
                f"{100 * point['occluded_gap']:.2f}" + (f" ({printed[place]})" if printed else "")
                for place, point in enumerate(points)
                if point is not None
            ]
            four = "; ".join(
                f"{100 * point['train_accuracy']:.1f}, {100 * point['accuracy']:.1f}" for point in points if point
            )
            lines.append(
                [
                    paper.TITLES[model],
                    *(each.replace("-", "−") for each in gaps),
                    f"{100 * first['gap']:.2f}" + (f" ({printed[5]})" if printed else ""),
                    f"{100 * first['train_accuracy_clean']:.1f}, {100 * first['accuracy_clean']:.1f}",
                    four,
                ]
            )
        head = (
            "model",
            *(f"{share:.0%}" for share in SHARES),
            "no occlusion",
            "clean train, test",
            "train, test at each",
        )
        title = "Table 16: gaps between training and test accuracy in points (in brackets the paper's CIFAR-10)"
        yield f"## {title if nuisance == 'cam' else f'The same under {nuisance}'}\n\n{table(head, lines)}"
    yield _typical([row for row in rows if row["run"] == "typical"])
    yield _random(found, own)


def _ratio(row: Row) -> str:
    if not row["divisible"] or row["iocclusion"] is None:
        return "gap"
    low, high = row["iocclusion_interval"] or (None, None)
    return f"{number(row['iocclusion'])} [{number(low)}, {number(high)}]"


def _typical(rows: Sequence[Row]) -> str:
    """Figures 4 and 6."""
    lines = []
    for nuisance in ("rectangle", "cam"):
        for model in ("basic", "fmix"):
            for kind in ("typical", "tail"):
                points = [
                    row for row in rows if (row["name"], row["nuisance"], row["image_set"]) == (model, nuisance, kind)
                ]
                if points:
                    lines.append(
                        [
                            nuisance,
                            paper.TITLES[model],
                            kind,
                            f"{100 * points[0]['train_accuracy_clean']:.1f}, {100 * points[0]['accuracy_clean']:.1f}",
                            *(f"{100 * row['accuracy']:.1f} ({number(row['relative'])})" for row in points),
                            " ".join(_ratio(row).split(" [")[0] for row in points),
                        ]
                    )
    head = ("mask", "model", "images", "clean train, test", *(f"{share:.0%}" for share in SHARES), "iOcclusion")
    return "## Figures 4 and 6: typical and tail images, accuracy in % (A/A₀)\n\n" + table(head, lines)


def _random(found: Path, own: Sequence[Row]) -> str:
    """Table 15: half of the image hidden."""
    rows = [row for row in gather.read(found, "random", "occlusion") if row["sort"] == "classifier"]
    lines = []
    for nuisance in ("cam", "rectangle"):
        for model in ("basic-random", "fmix-random"):
            here = [
                row
                for row in rows
                if row["nuisance"] == nuisance and row["share"] == 0.5 and row["name"].startswith(model)
            ]
            if not here:
                continue
            cut, ratio = ([row[key] for row in here] for key in ("accuracy", "iocclusion"))
            printed = paper.TABLE15[model]
            lines.append(
                [
                    nuisance,
                    model,
                    f"{100 * statistics.mean(cut):.1f} ({printed[0]})",
                    f"{100 * statistics.mean(ratio):.1f} ± {100 * statistics.stdev(ratio):.1f} ({printed[1]})",
                    f"{100 * statistics.mean(row['train_accuracy_clean'] for row in here):.1f}",
                    f"{100 * statistics.mean(row['train_accuracy'] for row in here):.1f}",
                ]
            )
        clean = found_by(own, name="fmix", nuisance=nuisance, share=0.5)
        if clean is not None:
            printed = paper.TABLE15["fmix"]
            ratio_of = "gap" if not clean["divisible"] else number(100 * clean["iocclusion"], 1)
            lines.append(
                [
                    nuisance,
                    "fmix, true labels",
                    f"{100 * clean['accuracy']:.1f} ({printed[0]})",
                    f"{ratio_of} ({printed[1]})",
                    f"{100 * clean['train_accuracy_clean']:.1f}",
                    f"{100 * clean['train_accuracy']:.1f}",
                ]
            )
    head = ("mask", "model", "CutOcclusion, %", "iOcclusion × 100", "training accuracy, %", "the same, half hidden")
    return "## Table 15: random labels, half of the image hidden (in brackets the paper's CIFAR-10)\n\n" + table(
        head, lines
    )


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


def sections(found: Path) -> Iterator[str]:
    yield networks(found)
    yield from interference(found)
    yield accuracies(found)
    yield from occlusion(found)
    yield reduced(found)
    yield across(found)
    yield architectures(found)
