"""Tables and figures of the page, from what redo.py wrote.

python papers/cns2025/page.py [--found FOLDER --out FOLDER]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import drops
import figures
import gather
import numpy as np
import subsets

from brittle.statistics.estimate import Estimate
from brittle.statistics.line import line as line_of

HERE = Path(__file__).parent
Row = dict[str, Any]
SIZES = {"fashion": (2, 5, 8), "lite": (10, 50, 100, 500)}  # of random subsets of the classes
RUNS = {"fashion": "kinds", "lite": "corruptions"}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(each)} |" for each in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


def number(value: float | None, digits: int = 3) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # + 0.0: no −0.000


def chance(p_value: float | None) -> str:
    return "< 0.001" if p_value is not None and p_value < 0.001 else number(p_value)


def estimate(value: float | None, ends: Sequence[float] | None, digits: int = 3) -> str:
    """0.412 [0.380, 0.440]"""
    between = "" if ends is None else f" [{number(ends[0], digits)}, {number(ends[1], digits)}]"
    return number(value, digits) + between


def networks(found: Path) -> Iterator[str]:
    rows = gather.read(found, "fashion", "networks")
    if rows:
        yield "## Networks on FashionMNIST\n"
        shown = [
            [row["name"], row["network"], f"{row['parameters']:,}", f"{row['epochs']}", number(1 - row["test_error"])]
            for row in rows
        ]
        yield table(("network", "kind", "parameters", "epochs", "test accuracy"), shown)


def errors(found: Path, part: str) -> Iterator[str]:
    rows = gather.read(found, part, "means", RUNS[part])
    if rows:
        again = drops.estimates(gather.read(found, part, "classes", RUNS[part])) if part == "lite" else {}
        yield f"### Corruption errors against {rows[0]['reference']}, {rows[0]['images']} images\n"
        shown = [
            [
                row["classifier"],
                estimate(row["mce"], row["mce_interval"]),
                estimate(row["mean_rce"], row["mean_rce_interval"]),
                estimate(row["drop_over_images"], _drop_interval(row, again)),
            ]
            for row in sorted(rows, key=lambda row: row["drop_over_images"])
        ]
        yield table(("classifier", "mCE", "mean rCE", "drop over images"), shown)
    if rows and part == "lite":
        told = drops.differences(gather.read(found, part, "classes", RUNS[part]))
        yield "The drop of one less that of another, over the same photographs; intervals hold for all pairs at once:\n"
        yield table(
            ("classifiers", "difference of drops"),
            [[f"{one} − {other}", estimate(each.value, each.interval)] for (one, other), each in told.items()],
        )


def _drop_interval(row: dict[str, Any], again: Mapping[str, Estimate]) -> Any:
    """Of the run, or of what was worked out again."""
    return again[row["classifier"]].interval if row["classifier"] in again else row["drop_over_images_interval"]


def shifts(found: Path, part: str) -> Iterator[str]:
    """By corruption: accuracy at the highest level, failure points, and the label fallen into most often."""
    rows = gather.read(found, part, "points", RUNS[part])
    if not rows:
        return
    last = {(row["classifier"], row["nuisance"]): row for row in gather.read(found, part, "severities", RUNS[part])}
    names = list(dict.fromkeys(row["classifier"] for row in rows))[:3]
    classes = dict.fromkeys(row["class"] for row in gather.read(found, part, "classes", RUNS[part]))
    words = {str(place): name for place, name in enumerate(classes)} if part == "fashion" else {}
    yield f"### By corruption: {', '.join(names)}\n"
    shown = [
        [
            row["nuisance"],
            row["classifier"],
            number(last[row["classifier"], row["nuisance"]]["accuracy"]),
            estimate(row["mean"], row["mean_interval"], 2),
            number(row["never"]),
            f"{row['recovered']}",
            "–" if row["fall"] is None else f"{words.get(row['fall'], row['fall'])} ({100 * row['fall_share']:.0f} %)",
        ]
        for row in sorted(rows, key=lambda row: row["nuisance"])
        if row["classifier"] in names
    ]
    head = (
        "corruption",
        "classifier",
        "accuracy at the last",
        "mean failure point",
        "never",
        "recovered",
        "falls into",
    )
    yield table(head, shown)


def ranks(found: Path, part: str) -> Iterator[str]:
    rows = gather.read(found, part, "places", RUNS[part])
    if rows:
        yield f"### Pairs that change places along the scale, of {rows[0]['pairs']}\n"
        under = {(row["nuisance"], row["by"]): row for row in rows}
        shown = [
            [nuisance]
            + [
                f"{under[nuisance, by][key]}"
                for by in ("accuracy", "drop")
                for key in ("changing_places", "more_than_noise")
            ]
            for nuisance in dict.fromkeys(row["nuisance"] for row in rows)
        ]
        yield table(("corruption", "by accuracy", "more than noise", "by drop", "more than noise"), shown)


def line(found: Path) -> Iterator[str]:
    rows = gather.read(found, "fashion", "lines", "kinds")
    if not rows:
        return
    whole = {row["axis"]: row for row in rows if row["nuisance"] == ""}
    yield "### Accuracy on the line\n"
    yield table(
        ("axes", "slope", "correlation", "p"),
        [
            [
                axis,
                estimate(row["slope"], row["slope_interval"]),
                estimate(row["correlation"], row["correlation_interval"]),
                chance(row["p_value"]),
            ]
            for axis, row in whole.items()
        ],
    )
    points = gather.read(found, "fashion", "gains", "kinds")
    points.sort(key=lambda row: -(row["gain"] if row["gain"] is not None else -math.inf))
    yield table(
        ("model", "accuracy", "under corruptions", "gain", "effective robustness (probit)"),
        [
            [
                row["model"],
                number(row["accuracy"]),
                number(row["accuracy_shifted"]),
                estimate(row["gain"], row["gain_interval"]),
                estimate(row["effective_robustness"], row["effective_robustness_interval"]),
            ]
            for row in points
        ],
    )
    yield f"Gains have 95 % intervals that hold for all {len(points)} models at once.\n"
    yield from levels(found)
    yield from sizes(found)


def levels(found: Path) -> Iterator[str]:
    """The line level by level, with and without the two BagNets, which lie far below all others."""
    rows = gather.read(found, "fashion", "severities", "kinds")
    names = sorted({row["classifier"] for row in rows})
    at = {(row["classifier"], row["nuisance"], row["value"]): row["accuracy"] for row in rows}
    values = sorted({row["value"] for row in rows} - {0.0})
    shown = []
    for nuisance in sorted({row["nuisance"] for row in rows}):
        for words, chosen in _with_and_without(names):
            clean = np.array([at[name, nuisance, 0.0] for name in chosen])
            fits = [line_of(clean, np.array([at[name, nuisance, value] for name in chosen])) for value in values]
            told = [f"{number(fit.slope.value, 2)} ({number(fit.correlation.value, 2)})" for fit in fits]
            shown.append([nuisance, words, *told])
    points = gather.read(found, "fashion", "gains", "kinds")
    whole = []
    for words, chosen in _with_and_without([row["model"] for row in points]):
        own = [row for row in points if row["model"] in chosen]
        fit = line_of(np.array([row["accuracy"] for row in own]), np.array([row["accuracy_shifted"] for row in own]))
        said = [estimate(each.value, each.interval) for each in (fit.slope, fit.correlation)]
        whole.append([words, f"{len(own)}", *said, chance(fit.p_value)])
    yield "The pooled line with and without the two BagNets:\n"
    yield table(("models", "how many", "slope", "correlation", "p"), whole)
    yield "Slope (correlation) at each level:\n"
    yield table(("corruption", "models", *(f"level {value:g}" for value in values)), shown)


def _with_and_without(names: Sequence[str]) -> tuple[tuple[str, list[str]], ...]:
    return ("all", list(names)), ("no BagNets", [name for name in names if not name.startswith("bagnet")])


def sizes(found: Path) -> Iterator[str]:
    rows = gather.read(found, "fashion", "partial")
    if rows:
        yield "### Does size explain robustness?\n"
        yield table(
            ("run", "within", "models", "ρ(parameters, OOD · ID)", "p", "with log parameters", "p"),
            [
                [
                    row["run"],
                    row["family"] or "all",
                    f"{row['models']}",
                    estimate(row["correlation"], row["interval"], 2),
                    chance(row["p_value"]),
                    estimate(row["log_correlation"], row["log_interval"], 2),
                    chance(row["log_p_value"]),
                ]
                for row in rows
            ],
        )


def few_classes(found: Path, part: str) -> Iterator[str]:
    rows = gather.read(found, part, "classes", RUNS[part])
    if not rows:
        return
    curves = subsets.curves(rows)
    count = len(curves.images)
    accuracy, drop = subsets.over(curves, np.arange(count))
    yield f"### Few classes against all {count} (A.7.4): {subsets.DRAWS} random subsets, 95 % of them lie between\n"
    shown = [["all", number(accuracy[0]), number(drop[0]), "1.00"]]
    for each in subsets.subsets(curves, [size for size in SIZES[part] if size < count]):
        tau = "–" if each.tau is None else _between(each.tau, 2)
        shown.append([f"{each.classes}", _between(each.accuracy), _between(each.drop), tau])
    first = curves.names[0]
    yield table(("classes", f"accuracy of {first} at 0", "its mean drop", "τ of the order by drop"), shown)


def contrast(found: Path) -> Iterator[str]:
    rows = gather.read(found, "lite", "severities", "contrast")
    if rows:
        values = list(dict.fromkeys(row["value"] for row in rows))
        at = {(row["classifier"], row["value"]): row for row in rows}
        yield "### Contrast at seven severities (A.4): accuracy\n"
        shown = [
            [name, *(number(at[name, value]["accuracy"]) for value in values)]
            for name in dict.fromkeys(row["classifier"] for row in rows)
        ]
        yield table(("level", *(f"{value:g}" for value in values)), shown)


def _between(ends: tuple[float, float], digits: int = 3) -> str:
    return f"{number(ends[0], digits)} to {number(ends[1], digits)}"


def sections(found: Path) -> list[str]:
    said = [*networks(found)]
    for part, title in (("fashion", "Small networks on FashionMNIST"), ("lite", "EfficientNet-Lite on photographs")):
        own = [*errors(found, part), *shifts(found, part), *ranks(found, part)]
        own += [*line(found)] if part == "fashion" else [*contrast(found)]
        own += [*few_classes(found, part)]
        said += [f"## {title}\n", *own] if own else []
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--found", type=Path, default=HERE, help="where redo.py wrote its tables")
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    said = sections(options.found)
    if not said:
        raise SystemExit(f"{options.found} has no tables: run papers/cns2025/redo.py first")
    text = "\n".join(["# CNS-Bench's evaluation redone: every figure", "", "Written by page.py.", "", *said])
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.md").write_text(text, encoding="utf-8")
    figures.draw(options.found, options.out)
    print(text)


if __name__ == "__main__":
    main()
