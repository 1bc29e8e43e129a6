"""Rank against severity (CNS-Bench 2025, figure 7), with ties by the paper's rule and by paired tests."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.sections.ranking.words import BY, Row

APART = 0.5  # of a rank, over which those that share one are spread
MOST_BARS = 5  # classifiers: the bars of more hide one another


def bump_chart(key: str, row: Row, chosen: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """One line per classifier, the best on top; on the right, bars reach over the ranks that tests leave open,
    where classifiers are few."""
    count = len(row["classifiers"])

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        _lines(left, row, chosen, looks, "rank_by_overlap")
        _lines(right, row, chosen, looks, "rank")
        left.set_title(
            f"ties: intervals of ±{row['sigma']:g} standard error{'s' * (row['sigma'] != 1)} overlap", fontsize=10
        )
        bars = "; bars: ranks left open" if len(chosen) <= MOST_BARS else ""
        right.set_title(f"ties: paired tests, corrected{bars}", fontsize=10)
        left.set_ylabel(f"rank {BY[row['by']]}")
        left.set_ylim(count + 0.6, 0.4)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
        left.set_yticks(range(1, count + 1) if count <= 12 else [1, *range(5, count + 1, 5)])

    names = ", ".join(each["classifier"] for each in chosen)
    height = min(7.5, 2.3 + 0.28 * count)
    return svg(key, (WIDTH, height), f"rank {BY[row['by']]} of {names} against {row['unit']}", draw)


def _lines(axes: Axes, row: Row, chosen: Sequence[Row], looks: Mapping[str, Look], key: str) -> None:
    severities = row["severities"]
    step = min((after - before for before, after in itertools.pairwise(severities)), default=1.0)
    for place, each in enumerate(chosen):
        look = looks[each["classifier"]]
        # Lines that share a rank lie side by side, and so do bars, each over its own severity.
        off = (place + 0.5) / len(chosen) - 0.5
        at = [severity + (0.5 * step * off if key == "rank" else 0) for severity in severities]
        if key == "rank" and len(chosen) <= MOST_BARS:
            for x, least, most in zip(at, each["rank"], each["rank_at_most"], strict=True):
                axes.plot(
                    [x] * 2, [least + APART * off, most + APART * off], color=look.colour, linewidth=1.3, alpha=0.4
                )
        axes.plot(
            at, [rank + APART * off for rank in each[key]], color=look.colour, linestyle=look.dashes,
            marker=look.marker, markersize=5, label=short(each["classifier"], 24),
        )  # fmt: skip
    axes.set_xlabel(row["unit"])
    if len(severities) <= 12:
        axes.set_xticks(severities, [f"{severity:g}" for severity in severities])
    axes.grid(axis="y")
    axes.set_axisbelow(True)
