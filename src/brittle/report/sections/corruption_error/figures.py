"""The figure of corruption errors: CE and rCE of every shift, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, short, svg

Row = Mapping[str, Any]
MOST_SHIFTS = 20
FILLED: Mapping[str, Any] = {"-": "full", "--": "none", ":": "left", "-.": "top"}  # where colours repeat


def errors_figure(key: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """A line per shift, a mark per classifier, with intervals; the last line is the mean over shifts."""
    shifts = rows[0]["shifts"][:MOST_SHIFTS]
    several = len(rows[0]["shifts"]) > 1
    both = [("ce", "mce"), ("rce", "mean_rce")]
    if all(shift["error_clean"] is None for shift in rows[0]["shifts"]):
        both = both[:1]

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(both), sharey=True, squeeze=False)[0]
        for axes, (name, mean) in zip(panels, both, strict=True):
            for place, row in enumerate(rows):
                look, off = looks[row["classifier"]], 0.7 * ((place + 0.5) / len(rows) - 0.5)
                filled = FILLED[look.dashes]
                found = [(at, shift[name], shift[f"{name}_interval"]) for at, shift in enumerate(row["shifts"])]
                found = found[:MOST_SHIFTS] + ([(len(shifts), row[mean], row[f"{mean}_interval"])] if several else [])
                for at, value, ends in found:
                    if value is None:
                        continue
                    if ends is not None:
                        axes.plot(ends, [at + off] * 2, color=look.colour, linewidth=1.2, alpha=0.6)
                    axes.plot([value], [at + off], look.marker, color=look.colour, markersize=4.5, fillstyle=filled)
                axes.plot([], [], look.marker, color=look.colour, label=short(row["classifier"], 24), fillstyle=filled)
            axes.axvline(1, color="#888888", linewidth=0.8, linestyle=(0, (4, 3)))
            axes.set_xlabel({"ce": "CE", "rce": "rCE"}[name] + f" (1 is {short(rows[0]['reference'], 20)})")
            axes.grid(axis="x")
            axes.set_axisbelow(True)
        names = [short(shift["nuisance"], 22) for shift in shifts] + (["mean over shifts"] if several else [])
        panels[0].set_yticks(range(len(names)), names)
        panels[0].set_ylim(len(names) - 0.5, -0.5)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)

    lines = len(shifts) + several
    height = min(14.0, 1.7 + max(0.5, 0.11 * len(rows)) * lines)
    who = ", ".join(row["classifier"] for row in rows)
    return svg(key, (WIDTH, height), f"CE and rCE of {who} under every shift, with intervals", draw)
