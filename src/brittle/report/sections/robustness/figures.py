"""Figures of robustness: against an option, and per class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.sections.robustness.curves import Curve
from brittle.report.sections.robustness.results import Row

MOST_CLASSES, AT_EACH_END = 32, 15


def curve_figure(
    key: str, curve: Curve, rows: Sequence[Row], looks: Mapping[str, Look], *, falling: bool | None
) -> Markup:
    """ρ, and accuracy or flip rate beside it, against the option's value; along severity from the untouched image on,
    with the drop of accuracy. `falling`: the smaller, the larger the changes; the axis is turned so that these lie to
    the right. None where nobody knows."""
    by = {(row["classifier"], row["nuisance"]): row for row in rows}
    names = list(dict.fromkeys(row["classifier"] for row in rows))
    labelled = all(row["reference"] == "label" for row in rows)
    panels = [("rho", "interval", "ρ")]
    panels += [
        ("accuracy_nuisance", "accuracy_nuisance_interval", "accuracy under the nuisance")
        if labelled
        else ("flip_rate", "flip_rate_interval", "flip rate")
    ]
    from_zero = curve.along_severity and all(row.get("drop") is not None for row in rows)
    if from_zero:
        panels.append(("drop", "drop_interval", "drop (clean accuracy − accuracy)"))

    def draw(figure: Figure) -> None:
        for axes, (value, interval, name) in zip(figure.subplots(1, len(panels)), panels, strict=True):
            for place, classifier in enumerate(names):
                look = looks[classifier]
                points = [(x, by[classifier, nuisance]) for x, nuisance in curve.points.items()]
                clean = points[0][1].get("accuracy_clean")
                start = [(0.0, _untouched(points[0][1]))] if from_zero and value != "rho" else []
                _line(axes, start + points, value, interval, look)
                if value == "accuracy_nuisance" and clean is not None and not from_zero:
                    axes.axhline(clean, color=look.colour, linewidth=0.9, linestyle=(place, (1, 3)), zorder=1)
            _option_axis(axes, curve, falling)
            lowest = min((row[value] for row in rows), default=0.0) if value == "drop" else 0.0
            axes.set_ylim(min(0.0, 1.1 * lowest), 1)
            axes.set_ylabel(name)
            axes.grid(axis="y")
            axes.set_axisbelow(True)

    about = f"ρ of {', '.join(names)} under {curve.kind} against {curve.option} = {_values(curve)}, with intervals"
    return svg(key, (WIDTH, 3.5), about, draw)


def _untouched(row: Row) -> Row:
    """What a row would say of severity 0."""
    clean = {"accuracy_nuisance": row["accuracy_clean"], "accuracy_nuisance_interval": row["accuracy_clean_interval"]}
    return clean | {"drop": 0.0, "drop_interval": None}


def _line(axes: Axes, points: Sequence[tuple[float, Row]], value: str, interval: str, look: Look) -> None:
    x, y = [at for at, _ in points], [row[value] for _, row in points]
    bounds = [row[interval] or (row[value], row[value]) for _, row in points]
    lengths = [[mid - low for mid, (low, _) in zip(y, bounds, strict=True)]]
    lengths += [[high - mid for mid, (_, high) in zip(y, bounds, strict=True)]]
    axes.errorbar(
        x, y, lengths, color=look.colour, marker=look.marker, linestyle=look.dashes,
        markersize=3.5, linewidth=1.5, elinewidth=1.2, capsize=4, capthick=1.2, zorder=3,
    )  # fmt: skip


def _option_axis(axes: Axes, curve: Curve, falling: bool | None) -> None:
    if curve.logarithmic:
        axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    start = [0.0] if curve.along_severity else []
    axes.set_xticks([*start, *curve.points], [f"{value:g}" for value in (*start, *curve.points)])
    if falling and not curve.along_severity:
        axes.invert_xaxis()
    direction = "" if falling is None else "   (larger changes of the image →)"
    axes.set_xlabel(f"{curve.option}{', logarithmic' if curve.logarithmic else ''}{direction}")


def _values(curve: Curve) -> str:
    return ", ".join(f"{value:g}" for value in curve.points)


def weakest_first(rows: Sequence[Row]) -> dict[int, str]:
    """label → class name, by the lowest ρ that any classifier has there; names alone may occur twice."""
    lowest: dict[int, float] = {}
    names: dict[int, str] = {}
    for row in rows:
        for each in row["classes"]:
            names[each["label"]] = each["class"]
            lowest[each["label"]] = min(each["rho"], lowest.get(each["label"], 1.0))
    return {label: names[label] for label in sorted(lowest, key=lambda label: lowest[label])}


def shown_classes(rows: Sequence[Row]) -> list[tuple[int, str] | None]:
    """The classes to show, weakest first: all of them, or the two ends of a long list with None between."""
    classes = list(weakest_first(rows).items())
    return [*classes] if len(classes) <= MOST_CLASSES else [*classes[:AT_EACH_END], None, *classes[-AT_EACH_END:]]


def class_figure(key: str, nuisance: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """A bar per class and classifier with its interval, the weakest classes on top; the simultaneous interval is the
    thin line behind it."""
    classes = shown_classes(rows)
    by = {(row["classifier"], each["label"]): each for row in rows for each in row["classes"]}
    height = 0.8 / len(rows)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, shown in enumerate(classes):
            for row_place, row in enumerate(rows):
                each = by.get((row["classifier"], shown[0])) if shown is not None else None
                if each is not None:
                    y = place - 0.4 + (row_place + 0.5) * height
                    _bar(axes, y, height, each, looks[row["classifier"]])
        axes.set_yticks(range(len(classes)), ["⋮" if each is None else short(each[1]) for each in classes])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(classes) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.set_xlabel("ρ of the class")
        axes.grid(axis="x")
        axes.set_axisbelow(True)

    inches = 0.7 + len(classes) * max(0.26, 0.15 * len(rows))
    about = f"ρ per class under {nuisance}, weakest first: {', '.join(each[1] for each in classes[:5] if each)}"
    return svg(key, (WIDTH, inches), about, draw)


def _bar(axes: Axes, y: float, height: float, each: Row, look: Look) -> None:
    axes.barh(y, each["rho"], height * 0.86, color=look.colour, alpha=0.35, linewidth=0)
    if each["interval_simultaneous"] is not None:
        axes.plot(each["interval_simultaneous"], [y, y], color=look.colour, linewidth=0.9, solid_capstyle="butt")
    if each["interval"] is not None:
        axes.plot(each["interval"], [y, y], color=look.colour, linewidth=2.6, solid_capstyle="butt")
    axes.plot(
        [each["rho"]], [y], look.marker, color="white", markeredgecolor=look.colour, markeredgewidth=1.2, markersize=4
    )
