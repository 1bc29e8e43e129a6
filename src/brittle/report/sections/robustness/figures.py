"""Figures of robustness: against an option, and per class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from brittle.nuisances import nuisances
from brittle.registry import options_of
from brittle.report.blocks.figure import Axis, Bars, Figure, Line, Mark, Panel, Points, Rule, category_axis
from brittle.report.blocks.text import ClassifierName
from brittle.report.page.section import Row
from brittle.report.page.words import listed, percent
from brittle.report.sections.marks import chart, intervals
from brittle.types import Nuisance

LOG_FROM = 5  # values that span at least this factor are drawn on a logarithmic axis
MOST_CLASSES, AT_EACH_END = 32, 15


def curve_figure(curve: Curve, rows: Sequence[Row], *, falling: bool | None) -> Figure:
    """ρ, and accuracy or flip rate beside it, against the option's value; along severity from the untouched image on,
    with the drop of accuracy. `falling`: the smaller, the larger the changes; the axis is turned so that these lie to
    the right. None where that is not known."""
    names = list(dict.fromkeys(row["classifier"] for row in rows))
    from_zero = curve.along_severity and all(row.get("drop") is not None for row in rows)
    panels = {"rho": "ρ"}
    if all(row["reference"] == "label" for row in rows):
        panels["accuracy_nuisance"] = "accuracy under the nuisance"
    else:
        panels["flip_rate"] = "flip rate"
    if from_zero:
        panels["drop"] = "drop (clean accuracy − accuracy)"
    lowest = min(0.0, *(1.1 * (row.get("drop") or 0.0) for row in rows))
    x = _option_axis(curve, falling)
    values = ", ".join(f"{value:g}" for value in curve.points)
    return Figure(
        f"ρ of {', '.join(names)} under {curve.kind} against {curve.option} = {values}, with intervals",
        tuple(
            Panel(
                tuple(mark for name in names for mark in _curve(curve, rows, name, value, from_zero)),
                x,
                Axis(label, low=lowest if value == "drop" else 0.0, high=1.0, grid=True),
            )
            for value, label in panels.items()
        ),
        f"A mark per nuisance that was measured, joined in order; bars are {percent(rows[0]['confidence'])} intervals, "
        f"each on its own{'; dotted: clean accuracy' if 'accuracy_nuisance' in panels and not from_zero else ''}.",
    )


def _curve(curve: Curve, rows: Sequence[Row], name: str, value: str, from_zero: bool) -> Iterator[Mark]:
    by, who = {row["nuisance"]: row for row in rows if row["classifier"] == name}, ClassifierName(name)
    points = [(x, by[nuisance]) for x, nuisance in curve.points.items()]
    clean = points[0][1].get("accuracy_clean")
    if from_zero and value != "rho":
        points.insert(0, (0.0, _untouched(points[0][1])))
    at, values = tuple(x for x, _ in points), tuple(row[value] for _, row in points)
    ends = (row["interval" if value == "rho" else f"{value}_interval"] for _, row in points)
    yield Line(who, at, values, markers=True)
    yield intervals(who, at, ends, weight="thin", caps=True)
    if value == "accuracy_nuisance" and clean is not None and not from_zero:
        yield Rule(clean, "x", who, "dotted")


def _untouched(row: Row) -> Row:
    """What a row would say of severity 0."""
    clean = {"accuracy_nuisance": row["accuracy_clean"], "accuracy_nuisance_interval": row["accuracy_clean_interval"]}
    return clean | {"drop": 0.0, "drop_interval": None}


def _option_axis(curve: Curve, falling: bool | None) -> Axis:
    ticks = [0.0] * curve.along_severity + list(curve.points)
    direction = "" if falling is None else "   (larger changes of the image →)"
    return Axis(
        f"{curve.option}{', logarithmic' * curve.logarithmic}{direction}",
        tuple((value, f"{value:g}") for value in ticks),
        log=curve.logarithmic,
        falling=bool(falling) and not curve.along_severity,
    )


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


def class_figure(nuisance: str, rows: Sequence[Row]) -> Figure:
    """A bar per class and classifier with its interval, the weakest classes on top; the simultaneous interval is the
    thin line behind it."""
    classes = shown_classes(rows)
    height = 0.8 / len(rows)
    marks = [
        mark
        for turn, row in enumerate(rows)
        for mark in _classes(row, {shown[0]: at for at, shown in enumerate(classes) if shown}, turn, height)
    ]
    names = [each[1] for each in classes if each]
    return chart(
        f"ρ per class under {nuisance}, weakest first: {listed(names)}",
        marks,
        Axis("ρ of the class", low=0.0, high=1.0, grid=True),
        category_axis(["⋮" if each is None else each[1] for each in classes], falling=True),
        f"Bars reach to ρ of the class, marked by a ring. The thick line is its {percent(rows[0]['confidence'])} "
        "interval, on its own; the thin one holds for all classes of a classifier at once: use it to pick out a class.",
        height=0.7 + len(classes) * max(0.26, 0.15 * len(rows)),
    )


def _classes(row: Row, places: dict[int, int], turn: int, height: float) -> Iterator[Mark]:
    """One classifier, its bars beside those of others."""
    who = ClassifierName(row["classifier"])
    known = [each for each in row["classes"] if each["label"] in places]
    at = tuple(places[each["label"]] - 0.4 + (turn + 0.5) * height for each in known)
    rho = tuple(each["rho"] for each in known)
    yield Bars(who, at, rho, width=height * 0.86, along="x", faint=(0.35,) * len(known))
    yield intervals(who, at, (each["interval_simultaneous"] for each in known), "x", weight="hair")
    own = [(each["interval"], y) for each, y in zip(known, at, strict=True) if each["interval"] is not None]
    ends = tuple(x for (low, high), _ in own for x in (low, high, None))
    yield Line(who, ends, tuple(y for _, y in own for _ in "abc"), "solid", "thick")
    yield Points(who, rho, at, hollow=True)


class Curve(NamedTuple):
    """`points`: option value → the nuisance's name in the study, by rising value."""

    kind: str
    option: str
    about: str  # the option's line of help
    fixed: str  # the other options that are not at their default
    points: dict[float, str]

    @property
    def along_severity(self) -> bool:
        """Whether the option is a severity, whose 0 is the untouched image."""
        return self.option == "level"

    @property
    def logarithmic(self) -> bool:
        values = list(self.points)
        return not self.along_severity and values[0] > 0 and values[-1] / values[0] >= LOG_FROM


def curves(spaces: Mapping[str, Nuisance]) -> list[Curve]:
    """Every family with at least two values; a grid over two options gives a curve for each row and column."""
    families: dict[tuple[str, str, str], dict[float, str]] = {}
    for name, space in spaces.items():
        kind = nuisances.name_of(space)
        values = {key: getattr(space, field.name) for key, field in options_of(type(space)).items()}
        for key, value in values.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                others = repr(sorted((other, repr(v)) for other, v in values.items() if other != key))
                families.setdefault((kind, key, others), {}).setdefault(float(value), name)
    return [
        _of_option(kind, key, spaces, dict(sorted(points.items())))
        for (kind, key, _), points in families.items()
        if len(points) >= 2
    ]


def _of_option(kind: str, key: str, spaces: Mapping[str, Nuisance], points: dict[float, str]) -> Curve:
    space = spaces[next(iter(points.values()))]
    options = options_of(type(space))
    fixed = [
        f"{other}={getattr(space, field.name)}"
        for other, field in options.items()
        if other != key and getattr(space, field.name) != field.default
    ]
    return Curve(kind, key, options[key].metadata.get("help", ""), ", ".join(fixed), points)
