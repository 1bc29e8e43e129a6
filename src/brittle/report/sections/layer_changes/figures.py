"""The figure of targeted changes: how large they are, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from matplotlib.figure import Figure

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, svg
from brittle.report.sections.layered import APART, Row, named_layers


def changes_figure(key: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """Relative size against layer, one curve per classifier."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        layers = rows[0]["layers"]
        for place, row in enumerate(rows):
            look, shift = looks[row["classifier"]], APART * (place - (len(rows) - 1) / 2)
            known = [(at + shift, each) for at, each in enumerate(row["layers"]) if each["relative"] is not None]
            at, middle = [x for x, _ in known], [each["relative"] for _, each in known]
            axes.plot(at, middle, look.marker, color=look.colour, linestyle=look.dashes, linewidth=1.2, markersize=5)
            for x, each in known:
                low, high = each["relative_interval"]
                ends = [low, each["relative"] if high is None else high]
                axes.plot([x, x], ends, color=look.colour, linewidth=4, alpha=0.35, solid_capstyle="butt")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("change of the layer, relative to its rms")
        named_layers(axes, layers)
        axes.grid(axis="y")
        axes.set_axisbelow(True)

    names = ", ".join(row["classifier"] for row in rows)
    return svg(key, (WIDTH, 3.8), f"size of targeted changes of each layer of {names}, relative to what it gives", draw)
