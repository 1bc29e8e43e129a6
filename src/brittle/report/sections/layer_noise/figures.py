"""UREM's figure 7: σ* and P* against the layer, with spread and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, svg
from brittle.report.sections.layer_noise.words import is_weights
from brittle.report.sections.layered import APART, Row, named_layers


def layer_figure(key: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """Two curves per classifier, over layers that all of them have."""

    def draw(figure: Figure) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        layers = rows[0]["layers"]
        for place, row in enumerate(rows):
            shift = APART * (place - (len(rows) - 1) / 2)
            at = [position + shift for position in range(len(layers))]
            _curve(upper, row, at, looks[row["classifier"]], "mean", "interval", "spread", row["limit"])
            _curve(lower, row, at, looks[row["classifier"]], "p_star", "p_star_interval", "p_star_spread", 1.0)
        if is_weights(rows[0], layers[-1]):
            for axes in (upper, lower):
                axes.axvline(len(layers) - 1.5, color="#bbbbbb", linewidth=0.8)
        upper.set_ylim(0, 1.04 * rows[0]["limit"])
        upper.set_ylabel("σ* of the noise")
        lower.set_ylim(0, 1.04)
        lower.set_ylabel("P* of the new label")
        named_layers(lower, layers)
        for axes in (upper, lower):
            axes.grid(axis="y")
            axes.set_axisbelow(True)

    names = ", ".join(row["classifier"] for row in rows)
    about = f"noise on each layer at which predictions of {names} change, and probability of the new label"
    return svg(key, (WIDTH, 5.2), about, draw)


def depth_figure(key: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """Mean σ* against the place between input and output, for classifiers with other layers each."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for row in rows:
            look, inner = looks[row["classifier"]], [each for each in row["layers"] if not is_weights(row, each)]
            known = [each for each in inner if each["mean"] is not None]
            at = [each["number"] / max(1, row["last"] - 1) for each in known]
            low, high = zip(*(each["interval"] for each in known), strict=True) if known else ((), ())
            axes.fill_between(at, low, high, color=look.colour, alpha=0.15, linewidth=0)
            axes.plot(
                at,
                [each["mean"] for each in known],
                look.marker,
                color=look.colour,
                markersize=4,
                linestyle=look.dashes,
            )
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.04 * rows[0]["limit"])
        axes.set_xlabel("place of the layer, from input (0) to output (1)")
        axes.set_ylabel("mean σ* of the noise")
        axes.grid(axis="y")
        axes.set_axisbelow(True)

    names = ", ".join(row["classifier"] for row in rows)
    return svg(key, (WIDTH, 3.4), f"mean σ* of {names} against the place of the layer", draw)


def _curve(
    axes: Axes, row: Row, at: Sequence[float], look: Look, mean: str, interval: str, spread: str, most: float
) -> None:
    """Points joined from input to output, the weights apart; thin bars are the spread, thick ones the interval."""
    known = [(x, each) for x, each in zip(at, row["layers"], strict=True) if each[mean] is not None]
    joined = [(x, each[mean]) for x, each in known if not is_weights(row, each)]
    axes.plot([x for x, _ in joined], [y for _, y in joined], color=look.colour, linestyle=look.dashes, linewidth=1.2)
    for x, each in known:
        if each[spread] is not None:
            ends = max(0.0, each[mean] - each[spread]), min(most, each[mean] + each[spread])
            axes.plot([x, x], ends, color=look.colour, linewidth=0.8, alpha=0.6)
        axes.plot([x, x], each[interval], color=look.colour, linewidth=4, alpha=0.35, solid_capstyle="butt")
        axes.plot([x], [each[mean]], look.marker, color=look.colour, markersize=5, clip_on=False)
