"""Figures of before and after: the change of every class, and the candidates of a hardening."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.page.words import number
from brittle.report.sections.before_after.changes import QUANTITIES, ClassChanges
from brittle.report.sections.before_after.record import Candidate, Record

MOST_NUMBERED = 10  # rounds; past so many the figure does not number them
FAR = 0.1  # of clean accuracy: a bound so far below every candidate is said, not drawn
GREY = "#888888"


def is_far(record: Record) -> bool:
    """Whether the least clean accuracy allowed lies outside the figure."""
    return record.least < min(each.accuracy_clean for each in record.rounds) - FAR


def candidate_figure(key: str, record: Record, before: Look, after: Look) -> Markup:
    """ρ against clean accuracy on the held-out images; a line leads from the untouched weights to a round's own."""
    untouched, best = record.rounds[0], record.rounds[record.chosen]
    rounds: dict[int, list[Candidate]] = {}
    for each in record.rounds[1:]:
        rounds.setdefault(each.round, []).append(each)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (turn, found) in enumerate(rounds.items()):
            walk = [untouched, *sorted(found, key=lambda each: each.way)]
            x, y = [each.accuracy_clean for each in walk], [each.rho for each in walk]
            axes.plot(x, y, color="#bbbbbb", linewidth=0.9, zorder=1)
            axes.plot(x[1:], y[1:], "o", color=GREY, markersize=4, label="" if place else "candidates", zorder=2)
            if len(rounds) <= MOST_NUMBERED:
                axes.annotate(
                    f"round {turn}", (x[-1], y[-1]), (0, 8), textcoords="offset points", fontsize=9, ha="center"
                )
        _mark(axes, untouched, before, "untouched" if record.chosen else "untouched, and chosen")
        if record.chosen:
            _mark(axes, best, after, "chosen")
        axes.margins(0.12, 0.16)
        if not is_far(record):
            least = axes.axvline(record.least, color="#222222", linewidth=1.1, linestyle="--")
            least.set_label("least clean accuracy allowed")
            left, right = axes.get_xlim()
            axes.axvspan(left, record.least, color="#f3f3f3", zorder=0)
            axes.set_xlim(left, right)
        axes.set_xlabel("clean accuracy")
        axes.set_ylabel("ρ")
        axes.grid()
        axes.set_axisbelow(True)
        figure.legend(
            loc="outside upper left", ncols=4, frameon=False, fontsize=8.5, columnspacing=1.2, handletextpad=0.4
        )

    about = (
        f"ρ against clean accuracy of {len(record.rounds)} candidates on the held-out images: untouched "
        f"{number(untouched.rho)} at {number(untouched.accuracy_clean)}, chosen {number(best.rho)} at "
        f"{number(best.accuracy_clean)}, least clean accuracy allowed {number(record.least)}"
    )
    return svg(key, (6.6, 3.5), about, draw)


def _mark(axes: Axes, candidate: Candidate, look: Look, name: str) -> None:
    at = ([candidate.accuracy_clean], [candidate.rho])
    axes.plot(*at, look.marker, color=look.colour, markersize=8, linestyle="", label=name, zorder=3)


def class_figure(key: str, classes: Sequence[ClassChanges], colours: Mapping[int, str]) -> Markup:
    """A row per class and a panel per quantity: the difference with its simultaneous interval, around zero."""

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(QUANTITIES), sharey=True, sharex=True)
        for axes, (quantity, name) in zip(panels, QUANTITIES.items(), strict=True):
            axes.axvline(0, color="#666666", linewidth=1)
            for place, each in enumerate(classes):
                change = each.of(quantity)
                colour = colours[change.side]
                if change.bounds is not None:
                    axes.plot(change.bounds, [place, place], color=colour, linewidth=2, solid_capstyle="butt")
                axes.plot([change.value], [place], "o", color="white", markeredgecolor=colour, markersize=5)
            axes.set_xlabel(name)
            axes.grid(axis="x")
            axes.set_axisbelow(True)
            axes.tick_params(axis="y", length=0)
        panels[0].set_yticks(range(len(classes)), [short(each.name) for each in classes])
        panels[0].set_ylim(len(classes) - 0.5, -0.5)

    told = ", ".join(f"{each.name} {number(each.rho, sign='+')}" for each in classes[:5])
    about = f"after − before per class, the least gain in ρ first: {told}"
    return svg(key, (WIDTH, 0.8 + 0.27 * len(classes)), about, draw)
