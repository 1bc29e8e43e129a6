"""The figure of augmentations: affinity against diversity, as Gontijo-Lopes et al. 2020 draw it."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.figure import Figure

from brittle.report.page.colours import looks
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.sections.augmentation.words import Line

MOST = 24


def scatter(key: str, lines: Sequence[Line]) -> Markup:
    """A point per augmentation and model; bars are standard deviations over runs."""
    shown = lines[:MOST]
    appearance = looks(list(dict.fromkeys(each.group for each in shown)))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for each in shown:
            assert each.diversity.mean is not None
            assert each.affinity.mean is not None
            look = appearance[each.group]
            axes.errorbar(
                [each.affinity.mean],
                [each.diversity.mean],
                xerr=[each.affinity.spread or 0.0],
                yerr=[each.diversity.spread or 0.0],
                fmt=look.marker,
                color=look.colour,
                markersize=6,
                elinewidth=1.0,
            )
            axes.annotate(
                short(each.augmentation, 20),
                (each.affinity.mean, each.diversity.mean),
                xytext=(7, 5),
                textcoords="offset points",
                fontsize=9,
                color="#222222",
            )
        axes.margins(0.15)
        axes.set_xlabel("affinity, in points of accuracy")
        axes.set_ylabel("diversity: final training loss\nwith the majority’s label")
        axes.grid(True)
        axes.set_axisbelow(True)

    about = "affinity against diversity: " + "; ".join(
        f"{each.augmentation} {each.affinity.told()} and {each.diversity.told()}" for each in shown
    )
    return svg(key, (WIDTH, 3.8), about, draw)
