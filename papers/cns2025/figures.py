"""The figures of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gather
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

DPI = 110
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#8A8A8A")
MARKS = "osD^v<>P"
SHOWN = 8  # classifiers in one panel
PANELS = 6
Row = Mapping[str, Any]


def _panels(count: int, width: float = 4.2, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    columns = min(count, 3)
    lines = -(-count // columns)
    figure, grid = plt.subplots(lines, columns, figsize=(width * columns, height * lines), squeeze=False)
    for axes in list(grid.flat)[count:]:
        axes.set_axis_off()
    for axes in list(grid.flat)[:count]:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, list(grid.flat)[:count]


def _saved(figure: Figure, out: Path, legend_of: Axes | None = None) -> None:
    """With the legend of one panel, which is that of all, below them."""
    figure.tight_layout()
    if legend_of is not None:
        handles, names = legend_of.get_legend_handles_labels()
        figure.legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, fontsize=8, frameon=False)
    figure.savefig(out, dpi=DPI, bbox_inches="tight")
    plt.close(figure)


def _some(names: Sequence[str], order: Mapping[str, float]) -> list[str]:
    """Of many classifiers some, from the least to the greatest."""
    ranked = sorted(names, key=lambda name: order[name])
    wanted = min(len(ranked), SHOWN)
    return [ranked[place * (len(ranked) - 1) // max(1, wanted - 1)] for place in range(wanted)]


def drops(found: Path, part: str, run: str, out: Path) -> None:
    """Figures 6 and 10: drop against severity, with bands; the corruptions that cost most."""
    rows = gather.read(found, part, "severities", run)
    if not rows:
        return
    names, nuisances = ([*dict.fromkeys(row[key] for row in rows)] for key in ("classifier", "nuisance"))
    mean = {name: float(np.mean([row["drop"] for row in rows if row["classifier"] == name])) for name in names}
    cost = {each: float(np.mean([row["drop"] for row in rows if row["nuisance"] == each])) for each in nuisances}
    chosen, shown = _some(names, mean), sorted(nuisances, key=lambda each: -cost[each])[:PANELS]
    figure, panels = _panels(len(shown))
    for axes, nuisance in zip(panels, shown, strict=True):
        for place, name in enumerate(chosen):
            own = [row for row in rows if (row["classifier"], row["nuisance"]) == (name, nuisance)]
            x, colour = [row["value"] for row in own], COLOURS[place]
            axes.plot(x, [100 * row["drop"] for row in own], color=colour, marker=MARKS[place], ms=4, label=name)
            bounds = [row["drop_interval"] or [row["drop"]] * 2 for row in own]
            axes.fill_between(x, *(100 * np.array(bounds).T), color=colour, alpha=0.1, linewidth=0)
        axes.set_title(nuisance, fontsize=10)
        axes.set_xlabel("level")
        axes.set_ylabel("drop, points")
    _saved(figure, out, panels[0])


def ranks(found: Path, part: str, run: str, out: Path) -> None:
    """Figure 7: rank by accuracy against severity, by tests; the corruptions under which most pairs change places."""
    rows = [row for row in gather.read(found, part, "ranks", run) if row["by"] == "accuracy"]
    places = [row for row in gather.read(found, part, "places", run) if row["by"] == "accuracy"]
    if not rows:
        return
    order = sorted(places, key=lambda row: (-row["more_than_noise"], -row["changing_places"]))
    shown = [row["nuisance"] for row in order][:PANELS]
    mean = dict.fromkeys(dict.fromkeys(row["classifier"] for row in rows), 0.0)
    for row in rows:
        mean[row["classifier"]] += float(np.mean(row["values"]))
    chosen = _some(list(mean), mean)
    figure, panels = _panels(len(shown))
    for axes, nuisance in zip(panels, shown, strict=True):
        for place, name in enumerate(chosen):
            row = next(row for row in rows if (row["classifier"], row["nuisance"]) == (name, nuisance))
            x = np.array(row["severities"]) + 0.06 * (place - len(chosen) / 2)
            axes.plot(x, row["rank"], color=COLOURS[place], marker=MARKS[place], ms=4, label=name)
            axes.vlines(x, row["rank"], row["rank_at_most"], color=COLOURS[place], alpha=0.25)
        axes.invert_yaxis()
        axes.set_title(nuisance, fontsize=10)
        axes.set_xlabel("level")
        axes.set_ylabel("rank by accuracy")
    _saved(figure, out, panels[0])


def line(found: Path, out: Path) -> None:
    """Figures 20 to 23: accuracy under corruptions against accuracy without, and the slope at each level."""
    points = gather.read(found, "fashion", "gains", "kinds")
    lines = [row for row in gather.read(found, "fashion", "lines", "kinds") if row["axis"] == "plain"]
    if not points:
        return
    figure, (scatter, slopes) = _panels(2, 5.6, 4.4)
    x, y = (np.array([row[key] for row in points]) for key in ("accuracy", "accuracy_shifted"))
    scatter.plot(x, y, "o", color=COLOURS[0])
    for place, row in enumerate(sorted(points, key=lambda row: row["accuracy_shifted"])):
        right, up = ((5, -3), (-5, -3), (0, 6), (0, -11))[place % 4]  # so that neighbours' names do not meet
        side = "left" if right > 0 else "right" if right < 0 else "center"
        at = row["accuracy"], row["accuracy_shifted"]
        scatter.annotate(row["model"], at, (right, up), textcoords="offset points", fontsize=7, ha=side)
    whole = next(row for row in lines if row["nuisance"] == "")
    if whole["slope"] is not None:
        ends = np.array([x.min(), x.max()])
        scatter.plot(ends, y.mean() + whole["slope"] * (ends - x.mean()), color=COLOURS[-1])
    scatter.set_xlabel("accuracy without a corruption")
    scatter.set_ylabel("mean accuracy under corruptions")
    shown = [*dict.fromkeys(row["nuisance"] for row in lines if row["nuisance"])]
    for place, nuisance in enumerate(shown):
        own = [row for row in lines if row["nuisance"] == nuisance and row["slope"] is not None]
        style = {"color": COLOURS[place % len(COLOURS)], "linestyle": ("-", "--", ":")[place // len(COLOURS) % 3]}
        slopes.plot([row["value"] for row in own], [row["slope"] for row in own], label=nuisance, **style)
    slopes.set_xlabel("level")
    slopes.set_ylabel("slope")
    slopes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    slopes.set_xticks(sorted({row["value"] for row in lines if row["nuisance"]}))
    _saved(figure, out)


def failures(found: Path, part: str, run: str, out: Path) -> None:
    """Figure 13: first failures at each level, and images that are wrong there, side by side."""
    rows = gather.read(found, part, "severities", run)
    if not rows:
        return
    name = rows[0]["classifier"]
    nuisances = [*dict.fromkeys(row["nuisance"] for row in rows)][:PANELS]
    figure, panels = _panels(len(nuisances))
    for axes, nuisance in zip(panels, nuisances, strict=True):
        own = [row for row in rows if (row["classifier"], row["nuisance"]) == (name, nuisance)]
        x = np.arange(len(own))
        axes.bar(x - 0.2, [row["first_failures"] for row in own], 0.4, color=COLOURS[0], label="fail first there")
        axes.bar(x + 0.2, [row["wrong"] for row in own], 0.4, color=COLOURS[1], label="wrong there")
        axes.set_xticks(x, [f"{row['value']:g}" for row in own])
        axes.set_title(f"{nuisance}, {name}", fontsize=10)
        axes.set_xlabel("level")
        axes.set_ylabel("images")
    _saved(figure, out, panels[0])


def draw(found: Path, out: Path) -> None:
    for part, run in (("fashion", "kinds"), ("lite", "corruptions")):
        drops(found, part, run, out / f"{part}-drops.png")
        ranks(found, part, run, out / f"{part}-ranks.png")
        failures(found, part, run, out / f"{part}-failures.png")
    drops(found, "lite", "contrast", out / "contrast.png")
    line(found, out / "line.png")
