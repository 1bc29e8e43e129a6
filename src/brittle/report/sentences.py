"""The findings of a run in plain sentences, made from its numbers; a tie is called a tie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brittle.images.base import ImageSet
from brittle.report.loaded import Run

Row = Mapping[str, Any]
MOST_PAIRS = 6  # past this many pairs of classifiers the leaders under each nuisance are named instead


def number(value: float | None, places: int = 3, sign: str = "-") -> str:
    """0.589; a real minus sign, and with `sign` "+" a plus; – where there is none."""
    return "–" if value is None else f"{value:{sign}.{places}f}".replace("-", "−")


def interval(bounds: Sequence[float] | None, sign: str = "-") -> str:
    """[0.568, 0.619]; what nothing random went into is exact."""
    if bounds is None:
        return ""
    return "exact" if bounds[0] == bounds[1] else f"[{number(bounds[0], sign=sign)}, {number(bounds[1], sign=sign)}]"


def estimate(value: float | None, bounds: Sequence[float] | None, sign: str = "-") -> str:
    return f"{number(value, sign=sign)} {interval(bounds, sign)}".strip()


def listed(names: Sequence[str], most: int = 5) -> str:
    """a, b and c; a long list is cut."""
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def pixels(images: ImageSet) -> str:
    """28 × 28 pixels; 120–500 × 90–375 pixels where images differ."""
    heights, widths = ([shape[axis] for shape in images.shapes] for axis in (1, 2))
    across, down = (
        f"{min(sides)}–{max(sides)}" if min(sides) < max(sides) else str(sides[0]) for sides in (widths, heights)
    )
    return f"{across} × {down} pixels"


def size(images: ImageSet) -> str:
    """The pixels, how many shapes there are of them, and the channels."""
    channels = sorted({shape[0] for shape in images.shapes})
    shapes = f" in {len(images.shapes)} shapes" if len(images.shapes) > 1 else ""
    return f"{pixels(images)}{shapes}, {' or '.join(map(str, channels))} channel{'s' * (channels != [1])}"


def title(run: Run) -> str:
    if run.study.title:
        return run.study.title
    what = "Robustness" if "results" in run.summary else "Weak points"
    return f"{what} of {listed(list(run.study.classifiers), 3)} under {listed(list(run.study.nuisances), 3)}"


def findings(run: Run, images: str, told: tuple[str, str] | None = None) -> list[str]:
    """What robustness says of one image set, most important first; nothing where it was not measured. How the two
    classifiers `told` compare has been said already."""
    if not run.results(images):
        return []
    rows, pairs = run.results(images), run.comparisons(images)
    names = list(dict.fromkeys((pair["first"], pair["second"]) for pair in pairs))
    names = [each for each in names if each != told]
    said = [_pair(run, images, *each) for each in names] if len(names) <= MOST_PAIRS else _leaders(run, images)
    said += [_most_brittle(run, images, name) for name in run.study.classifiers]
    if all(row.get("accuracy_clean") is not None for row in rows):
        clean = {row["classifier"]: row for row in rows}
        each = [
            f"{name} {estimate(row['accuracy_clean'], row['accuracy_clean_interval'])}" for name, row in clean.items()
        ]
        said.append(f"Clean accuracy, for comparison: {listed(each, 8)}.")
    return said


def _pair(run: Run, images: str, first: str, second: str) -> str:
    """How two classifiers compare over all nuisances."""
    pairs = [pair for pair in run.comparisons(images) if (pair["first"], pair["second"]) == (first, second)]
    wins = {
        name: [pair for pair in pairs if pair["rho_better"] == side]
        for name, side in ((first, "first"), (second, "second"))
    }
    ties = [pair["nuisance"] for pair in pairs if pair["rho_better"] == "tie"]
    if len(ties) == len(pairs):
        under = f"under {ties[0]}" if len(ties) == 1 else f"under {_all(len(ties))}"
        return (
            f"{first} and {second} tie {under}: no interval of their paired difference in ρ lies on one side of zero."
        )
    parts = []
    for name, other in sorted(((first, second), (second, first)), key=lambda each: -len(wins[each[0]])):
        if wins[name]:
            parts.append(_wins(run, images, name, other, wins[name], len(pairs)))
    if ties:
        parts.append(f"they tie under {listed(ties)}")
    return "; ".join(parts) + "."


def _all(count: int) -> str:
    return "both nuisances" if count == 2 else f"all {count} nuisances"


def _wins(run: Run, images: str, name: str, other: str, won: Sequence[Row], total: int) -> str:
    largest = max(won, key=lambda pair: abs(pair["rho_difference"]))
    bounds = largest["rho_interval"]
    bounds = bounds if largest["rho_difference"] > 0 else [-bounds[1], -bounds[0]]
    rho = {row["classifier"]: row["rho"] for row in run.results(images, largest["nuisance"])}
    numbers = (
        f"ρ {number(rho[name])} against {number(rho[other])}, "
        f"difference {estimate(abs(largest['rho_difference']), bounds)}, paired"
    )
    labelled = all(row["reference"] == "label" for row in run.results(images, largest["nuisance"]))
    wins = "is more robust than" if labelled else "keeps to its own prediction more than"
    if total == 1:
        return f"{name} {wins} {other} under {largest['nuisance']} ({numbers})"
    under = _all(total) if len(won) == total else f"{len(won)} of {total} nuisances"
    where = f"the largest difference is under {largest['nuisance']} ({numbers})"
    return f"{name} {wins} {other} under {under}; {where}"


def _leaders(run: Run, images: str) -> list[str]:
    said = []
    for nuisance in run.study.nuisances:
        ranked = ranks(run, images, nuisance)
        rho = {row["classifier"]: row for row in run.results(images, nuisance)}
        best = max(rho, key=lambda name: rho[name]["rho"])
        tied = [name for name, (top, _) in ranked.items() if top == 1 and name != best]
        also = f"; not told apart from it: {listed(tied)}" if tied else "; every other classifier is less robust"
        said.append(
            f"Under {nuisance} ρ is highest for {best}, {estimate(rho[best]['rho'], rho[best]['interval'])}{also}."
        )
    return said


def ranks(run: Run, images: str, nuisance: str) -> dict[str, tuple[int, int]]:
    """Each classifier's best and worst possible rank by ρ, given the paired intervals: equal ends are no tie."""
    names = list(run.study.classifiers)
    above, below = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for pair in run.comparisons(images, nuisance):
        if pair["rho_better"] != "tie":
            better, worse = (pair["first"], pair["second"])[:: 1 if pair["rho_better"] == "first" else -1]
            above[worse] += 1
            below[better] += 1
    return {name: (1 + above[name], len(names) - below[name]) for name in names}


def _most_brittle(run: Run, images: str, name: str) -> str:
    """Where one classifier is weakest: under which nuisance, and there on which class."""
    rows = [row for row in run.results(images) if row["classifier"] == name]
    worst = min(rows, key=lambda row: row["rho"])
    where = (
        f"{name} is most brittle under {worst['nuisance']}" if len(rows) > 1 else f"{name} under {worst['nuisance']}"
    )
    said = f"{where}: ρ {estimate(worst['rho'], worst['interval'])}"
    if worst.get("accuracy_nuisance") is not None:
        said += (
            f"; accuracy {number(worst['accuracy_nuisance'])} instead of {number(worst['accuracy_clean'])}, and "
            f"{number(worst['accuracy_worst'])} if all of the first {worst['worst_of']} draws must be right"
        )
    else:
        said += f"; it leaves its clean prediction in {100 * worst['flip_rate']:.1f} % of the draws"
    classes = worst.get("classes", [])
    return f"{said}. {_weakest_class(classes)}".strip() if len(classes) > 1 else f"{said}."


def _weakest_class(classes: Sequence[Row]) -> str:
    ordered = sorted(classes, key=lambda each: each["rho"])
    weakest = ordered[0]
    bounds = weakest["interval_simultaneous"]
    said = f"The lowest class there is {weakest['class']}, ρ {estimate(weakest['rho'], bounds)}"
    if bounds is None:
        return f"{said}."
    near = [each["class"] for each in ordered[1:] if each["interval_simultaneous"][0] <= bounds[1]]
    apart = f", not told apart from {listed(near, 3)}" if near else ", below every other class"
    return f"{said}{apart} (intervals simultaneous over {len(classes)} classes)."


def cautions(run: Run) -> list[str]:
    """What a reader must see before the numbers: warnings, skipped images, tolerances not reached."""
    said = [text[0].upper() + text[1:] + "." for text in run.summary["warnings"] if text]
    for name, skipped in run.summary["skipped"].items():
        if skipped:
            said.append(f"{len(skipped)} images of {name} can't be read and were left out: {listed(skipped, 3)}.")
    for row in run.summary.get("results", ()):
        if row["tolerance"] is not None and not row["tolerance_reached"]:
            said.append(
                f"Tolerance not reached: {row['classifier']} under {row['nuisance']} has a half-width of "
                f"{number(row['half_width'], 4)} where {row['tolerance']:g} was asked for; the plan ran out first."
            )
    for name in run.study.images:
        if any(row["reference"] != "label" for row in run.results(name)):
            said.append(
                f"The images of {name} have no labels (or not all have one): where there is none, ρ and right or wrong "
                "refer to each classifier's own clean prediction, so accuracies are not given."
            )
    return said
