"""Figures of failure points: curves along severity, histograms of first failures, and classes against severity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.sections.failure_points.words import Row

MOST_CLASSES, AT_EACH_END = 32, 15
MOST_TICKS = 12
PANELS = {"accuracy": "accuracy", "drop": "drop (accuracy at 0 − accuracy)", "failed": "share that has failed by then"}


def curve_figure(key: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """Accuracy, drop and the share of failed images against severity, with intervals as bands; those that are known."""
    there = {name for row in rows for entry in row["severities"] for name in PANELS if entry[name] is not None}
    names = [name for name in PANELS if name in there and (rows[0]["only"] is None or name == "failed")]

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            for row in rows:
                _line(axes, row, name, looks[row["classifier"]])
            axes.set_xlim(*_ends(rows[0]))
            lowest = min((entry[name] or 0.0 for row in rows for entry in row["severities"]), default=0.0)
            axes.set_ylim(min(0.0, 1.1 * lowest), 1)
            axes.set_xlabel(rows[0]["unit"])
            axes.set_ylabel(PANELS[name])
            axes.grid(axis="y")
            axes.set_axisbelow(True)

    about = ", ".join(PANELS[name] for name in names)
    told = ", ".join(row["classifier"] for row in rows)
    return svg(key, (WIDTH, 3.2), f"{about} of {told} against {rows[0]['unit']}, with intervals", draw)


def _ends(row: Row) -> tuple[float, float]:
    """Of the axis of severities; a single one stands in the middle of it."""
    first, last = row["severities"][0]["value"], row["limit"]
    return (first, last) if first < last else (0.9 * first, 1.1 * first)


def _line(axes: Axes, row: Row, name: str, look: Look) -> None:
    entries = [entry for entry in row["severities"] if entry[name] is not None]
    x, y = [entry["value"] for entry in entries], [entry[name] for entry in entries]
    bounds = [entry[f"{name}_interval"] or (entry[name], entry[name]) for entry in entries]
    low, high = [each[0] for each in bounds], [each[1] for each in bounds]
    axes.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0)
    marker = look.marker if len(x) <= MOST_TICKS else None
    axes.plot(x, y, color=look.colour, linestyle=look.dashes, marker=marker, markersize=3.5, linewidth=1.5)


def histogram_figure(key: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """First failures at each severity as bars, side by side; a line over each for all that are wrong there."""
    values = [f"{entry['value']:g}" for entry in rows[0]["severities"]]
    width = 0.84 / len(rows)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, row in enumerate(rows):
            look, paths = looks[row["classifier"]], max(1, row["paths"])
            x = [at - 0.42 + (place + 0.5) * width for at in range(len(values) + 1)]
            first = [entry["first_failures"] / paths for entry in row["severities"]] + [row["never"] or 0.0]
            axes.bar(x, first, width * 0.9, color=look.colour, alpha=0.75, linewidth=0)
            for at, entry in zip(x, row["severities"], strict=False):
                if entry["wrong"] is not None:
                    wrong = entry["wrong"] / paths
                    ends = [at - width * 0.45, at + width * 0.45]
                    axes.plot(ends, [wrong, wrong], color=look.colour, linewidth=1.8, solid_capstyle="butt")
        if rows[0]["severities"][0]["value"] == 0:
            axes.axvline(0.5, color="#bbbbbb", linewidth=0.8, linestyle=(0, (1, 3)))
        axes.axvline(len(values) - 0.5, color="#bbbbbb", linewidth=0.8, linestyle=(0, (1, 3)))
        step = max(1, -(-len(values) // MOST_TICKS))
        ticks = [*range(0, len(values), step), len(values)]
        axes.set_xticks(ticks, [[*values, "never"][tick] for tick in ticks])
        axes.set_xlim(-0.5, len(values) + 0.5)
        axes.set_xlabel(rows[0]["unit"])
        axes.set_ylabel("share of paths")
        axes.grid(axis="y")
        axes.set_axisbelow(True)

    told = ", ".join(row["classifier"] for row in rows)
    return svg(
        key, (WIDTH, 3.2), f"first failures of {told} at each {rows[0]['unit']}, and those that never fail", draw
    )


def shown_classes(row: Row) -> list[int | None]:
    """Places of the classes to show, those that fail soonest first; of a long list both ends with None between."""
    held = [sum(_held(each)) for each in row["classes"]]
    order = sorted(range(len(held)), key=lambda place: held[place])
    if len(order) <= MOST_CLASSES:
        return [*order]
    return [*order[:AT_EACH_END], None, *order[-AT_EACH_END:]]


def class_figure(key: str, rows: Sequence[Row]) -> Markup:
    """A map per classifier: accuracy, or the share that has not failed yet, of each class at each severity."""
    whole = rows[0]["only"] is None
    places = shown_classes(rows[0])
    values = [f"{entry['value']:g}" for entry in rows[0]["severities"]]
    names = ["⋮" if place is None else short(rows[0]["classes"][place]["class"], 24) for place in places]

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(rows), squeeze=False, sharey=True)[0]
        for axes, row in zip(panels, rows, strict=True):
            blank = [float("nan")] * len(values)
            shown = [blank if place is None else _held(row["classes"][place]) for place in places]
            mesh = axes.imshow(shown, aspect="auto", vmin=0, vmax=1, cmap="cividis")
            axes.set_title(short(row["classifier"], 24), fontsize=10)
            step = max(1, -(-len(values) // (MOST_TICKS // len(rows) + 2)))
            axes.set_xticks(range(0, len(values), step), values[::step])
            axes.set_xlabel(row["unit"])
            axes.set_yticks(range(len(places)), names)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        figure.colorbar(mesh, ax=list(panels), label="accuracy" if whole else "share not failed yet", pad=0.01)

    about = f"{'accuracy' if whole else 'share not failed yet'} of each class at each {rows[0]['unit']}"
    return svg(key, (WIDTH, 1.2 + 0.24 * len(places)), about, draw)


def _held(each: Row) -> list[float]:
    """Of a class, accuracy at each severity, or the share that has not failed yet."""
    return [*each["accuracy"]] if "accuracy" in each else [1 - failed for failed in each["failed"]]
