"""The figure of breaking points: which share of paths is still whole at each severity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from matplotlib.figure import Figure

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, svg
from brittle.report.sections.breaking_points.words import Row, unit


def survival_figure(key: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """A curve per classifier, with an interval for each severity."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for row in rows:
            look, curve = looks[row["classifier"]], row["survival"]
            if not curve["share"]:
                continue
            axes.fill_between(
                curve["values"], curve["low"], curve["high"], step="post", color=look.colour, alpha=0.15, linewidth=0
            )
            axes.step(curve["values"], curve["share"], where="post", color=look.colour, linestyle=look.dashes)
            if row["median"] is not None:
                axes.plot([row["median"]], [0.5], look.marker, color=look.colour, markersize=5, clip_on=False)
        axes.axhline(0.5, color="#bbbbbb", linewidth=0.8, linestyle=(0, (1, 3)))
        axes.set_xlim(0, rows[0]["limit"])
        axes.set_ylim(0, 1)
        axes.set_xlabel(unit(rows[0]))
        axes.set_ylabel("share of paths not yet broken")
        axes.grid(axis="y")
        axes.set_axisbelow(True)

    names = ", ".join(row["classifier"] for row in rows)
    return svg(key, (WIDTH, 3.6), f"share of paths of {names} that are not broken, against {unit(rows[0])}", draw)
