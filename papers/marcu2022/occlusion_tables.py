"""Tables 5, 15, 16 and 17: CutOcclusion and iOcclusion."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import gather
import paper
from cells import Row, found_by, number, table
from studies import SHARES

MASKS = ("cam", "cam-mnist", "rectangle", "rectangle-mnist", "fourier", "tiles")
TRAINED = {"main": ("", "five runs, 15 epochs"), "long": ("-long", "two runs, 45 epochs")}  # by part


def sections(found: Path) -> Iterator[str]:
    """Tables 5, 15, 16 and 17, and what figures 4 and 6 show."""
    rows = {part: [row for row in gather.read(found, part, "occlusion") if row["sort"] == "group"] for part in TRAINED}
    own = {part: [row for row in each if row["run"] == "occluded"] for part, each in rows.items()}
    yield from (table5(found, own[part], part) for part in TRAINED if own[part])
    yield from (gaps(own[part], part, mask) for part in TRAINED for mask in MASKS if _has(own[part], mask))
    yield _typical([row for row in rows["main"] if row["run"] == "typical"])
    yield _random(found, own["main"])
    yield small_objects(found)


def _has(rows: Sequence[Row], mask: str) -> bool:
    return any(row["nuisance"] == mask for row in rows)


def table5(found: Path, rows: Sequence[Row], part: str) -> str:
    """DI, CutOcclusion and iOcclusion side by side."""
    suffix, how = TRAINED[part]
    index, lines = gather.read(found, part, "interference"), []
    for model in paper.MODELS:
        cam = found_by(rows, name=model + suffix, nuisance="cam-mnist", share=0.3)
        cut = found_by(rows, name=model + suffix, nuisance="rectangle-mnist", share=0.3)
        di = found_by(index, group=model, nuisance="patch-30-mnist")
        if cam is None or cut is None:
            continue
        printed = paper.TABLE5[model]
        lines.append(
            [
                paper.TITLES[model],
                "–" if di is None else f"{number(di['di'])} ({printed[0]})",
                f"{100 * cut['accuracy']:.1f} ({printed[1]})",
                f"{number(cut['relative'])}",
                f"{ratio(cam)} ({printed[2]})",
                f"{ratio(cut)}",
            ]
        )
    head = ("model", "DI", "CutOcclusion, %", "A/A₀", "iOcclusion, Grad-CAM masks", "iOcclusion, rectangles")
    return (
        f"## Table 5, {how}: 30 % hidden by pieces of MNIST (in brackets the paper's CIFAR-10)\n\n"
        f"{table(head, lines)}\niOcclusion is the ratio of means over the runs, with Fieller's 95 % interval; *gap* "
        "where the generalisation gap is too small to divide by.\n"
    )


def gaps(rows: Sequence[Row], part: str, mask: str) -> str:
    """Table 16: numerator and denominator of iOcclusion, and the four accuracies that they are made of."""
    suffix, how = TRAINED[part]
    lines = []
    for model in paper.MODELS:
        points = [
            point for share in SHARES if (point := found_by(rows, name=model + suffix, nuisance=mask, share=share))
        ]
        if len(points) < len(SHARES):
            continue
        first, printed = points[0], paper.TABLE16.get(model) if mask == "cam" else None
        beside = [f" ({each})" for each in printed] if printed else [""] * (len(SHARES) + 1)
        values = [*(point["occluded_gap"] for point in points), first["gap"]]
        lines.append(
            [
                paper.TITLES[model],
                *(number(100 * value) + more for value, more in zip(values, beside, strict=True)),
                f"{100 * first['train_accuracy_clean']:.1f}, {100 * first['accuracy_clean']:.1f}",
                "; ".join(f"{100 * point['train_accuracy']:.1f}, {100 * point['accuracy']:.1f}" for point in points),
                "; ".join(ratio(point).split(" [")[0] for point in points),
            ]
        )
    head = (
        *("model", *(f"{share:.0%}" for share in SHARES), "no occlusion", "clean train, test"),
        *("train, test at each", "iOcclusion at each"),
    )
    title = f"Table 16, {how}: gaps between training and test accuracy in points (in brackets the paper's CIFAR-10)"
    return f"## {title if mask == 'cam' else f'The same under {mask}, {how}'}\n\n{table(head, lines)}"


def small_objects(found: Path) -> str:
    """Table 17 in kind."""
    rows = [row for row in gather.read(found, "small", "occlusion") if row["sort"] == "group"]
    lines = []
    for model, printed in paper.TABLE17.items():
        for mask in ("cam", "rectangle"):
            row = found_by(rows, name=f"{model}-small", nuisance=mask)
            if row is not None:
                lines.append(
                    [
                        paper.TITLES[model],
                        mask,
                        f"{100 * row['accuracy']:.1f} ± {100 * row['accuracy_spread']:.1f} ({printed[0]})",
                        f"{ratio(row)} ({printed[1]})",
                        f"{100 * row['train_accuracy_clean']:.1f}, {100 * row['accuracy_clean']:.1f}",
                        f"{100 * row['train_accuracy']:.1f}, {100 * row['accuracy']:.1f}",
                    ]
                )
    head = ("model", "mask", "CutOcclusion, % ± spread over runs", "iOcclusion", "clean train, test", "occluded")
    return (
        "## Table 17 in kind: is there a small bag among three others? 30 % hidden (in brackets the paper's hard hats)"
        f"\n\n{table(head, lines)}"
    )


def ratio(row: Row) -> str:
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
                            " ".join(ratio(row).split(" [")[0] for row in points),
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
