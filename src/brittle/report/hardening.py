"""The report's section on a hardening, from the harden.json that `brittle harden` leaves in its run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field, TypeAdapter, ValidationError

from brittle.hardening.before_after import AFTER, BEFORE
from brittle.report.colours import Look
from brittle.report.figures import short, svg
from brittle.report.loaded import Run
from brittle.report.sentences import estimate, listed, number

FILE, PAIR = "harden.json", (BEFORE, AFTER)
QUANTITIES = {"rho": "ρ", "accuracy_nuisance": "accuracy under the nuisance", "accuracy_clean": "clean accuracy"}
MOST_CLASSES = 20
MOST_NUMBERED = 10  # rounds; past so many the figure does not number them
OPEN_TABLE = 20  # past so many candidates their table is closed
FAR = 0.1  # of clean accuracy: a bound so far below every candidate is said, not drawn
GREY = "#888888"

Bounds = tuple[float, float] | None


class Change(NamedTuple):
    """after − before of one quantity, paired."""

    value: float
    bounds: Bounds

    @property
    def side(self) -> int:
        """On which side of zero the interval lies: 1, −1, or 0 where it holds zero."""
        return 0 if self.bounds is None else (self.bounds[0] > 0) - (self.bounds[1] < 0)


@dataclass(frozen=True, kw_only=True)
class Changes:
    rho: float
    rho_interval: Bounds
    accuracy_nuisance: float
    accuracy_nuisance_interval: Bounds
    accuracy_clean: float
    accuracy_clean_interval: Bounds

    def of(self, quantity: str) -> Change:
        return Change(getattr(self, quantity), getattr(self, f"{quantity}_interval"))


@dataclass(frozen=True, kw_only=True)
class ClassChanges(Changes):
    """Of one class, simultaneous over classes."""

    name: Annotated[str, Field(alias="class")]
    images: int


@dataclass(frozen=True, kw_only=True)
class Difference(Changes):
    confidence: float
    classes: list[ClassChanges]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A classifier on the test images."""

    rho: float
    interval: Bounds
    accuracy_nuisance: float
    accuracy_nuisance_interval: Bounds
    accuracy_clean: float
    accuracy_clean_interval: Bounds
    samples: int

    def bounds(self, quantity: str) -> Bounds:
        found: Bounds = getattr(self, "interval" if quantity == "rho" else f"{quantity}_interval")
        return found


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """On the held-out images; what is said of a round stands with its last candidate."""

    round: int
    way: float
    rho: float
    interval: Bounds
    accuracy_nuisance: float
    accuracy_clean: float
    loss: float | None = None
    failing: float | None = None
    wrong: float | None = None


@dataclass(frozen=True, kw_only=True)
class Settings:
    classifier: str
    nuisance: str
    on: str
    loss: str
    rounds: int
    steps: int
    batch_size: int
    share: float
    cost: float


@dataclass(frozen=True, kw_only=True)
class Parts:
    training: int
    held_out: int
    test: int


@dataclass(frozen=True, kw_only=True)
class Calls:
    sampling: int
    training: int


@dataclass(frozen=True, kw_only=True)
class Record:
    """What of harden.json is shown."""

    about: Settings
    criterion: str
    parts: Parts
    rounds: Annotated[list[Candidate], Field(min_length=1)]
    chosen: Annotated[int, Field(ge=0)]
    before: Measured
    after: Measured
    difference: Difference
    calls: Calls
    device: str
    seconds: float

    @property
    def least(self) -> float:
        """The least clean accuracy on the held-out images with which a candidate could be chosen."""
        return self.rounds[0].accuracy_clean - self.about.cost

    def allowed(self, candidate: Candidate) -> bool:
        return candidate.accuracy_clean >= self.least - 1e-9

    @property
    def pair(self) -> dict[str, Measured]:
        return {BEFORE: self.before, AFTER: self.after}


class Section(NamedTuple):
    """Ready for the template. Nothing is compared where the untouched classifier was chosen."""

    record: Record
    findings: list[str]  # for the top of the report
    trained_on: str
    too_dear: str  # candidates that had a greater ρ̂ and lost too much, if any
    candidates: Markup
    far: bool  # whether the least clean accuracy allowed lies outside the figure
    colours: Mapping[int, str]  # by the side of zero
    scale: float  # of the drawn differences
    least_first: list[ClassChanges]  # as many as are shown
    by_class: Markup
    losses: str
    quantities: Mapping[str, str] = QUANTITIES
    open_table: int = OPEN_TABLE


def section(run: Run, looks: Mapping[str, Look]) -> tuple[Section | None, list[str]]:
    """The section where the run is that of a hardening, and a caution where its record can't be shown."""
    path = run.folder.path / FILE
    if not path.is_file():
        return None, []
    try:
        record = TypeAdapter(Record).validate_json(path.read_bytes())
        wrong = _foreign(record, run)
    except ValidationError as error:
        first = error.errors()[0]
        wrong = f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")
    except OSError as error:
        wrong = error.strerror or str(error)
    if wrong:
        return None, [
            f"{FILE} can't be shown, so there is no section on hardening ({wrong}). Delete that file, or give the same "
            "`brittle harden` again."
        ]
    return _section(record, looks), []


def _foreign(record: Record, run: Run) -> str:
    """Why the record is not of this run, if it isn't."""
    if record.chosen >= len(record.rounds):
        return f"candidate {record.chosen} is chosen of {len(record.rounds)}"
    measured = {row["classifier"]: row["rho"] for row in run.summary.get("results", ())}
    if any(abs(measured.get(name, -1.0) - found.rho) > 1e-6 for name, found in record.pair.items()):
        return "before and after are not those of this run"
    return ""


def _section(record: Record, looks: Mapping[str, Look]) -> Section:
    moved = record.difference
    classes = sorted(moved.classes, key=lambda each: each.rho) if record.chosen else []
    shown = classes[:MOST_CLASSES]
    changes = [moved.of(quantity) for quantity in QUANTITIES]
    colours = {1: looks[AFTER].colour, -1: looks[BEFORE].colour, 0: GREY}
    far = record.least < min(each.accuracy_clean for each in record.rounds) - FAR
    return Section(
        record=record,
        findings=_headlines(record),
        trained_on=_trained_on(record.about),
        too_dear=_too_dear(record),
        candidates=Markup(_candidate_figure(record, looks, far)),
        far=far,
        colours=colours,
        scale=max(0.05, *(abs(each) for change in changes for each in (change.value, *(change.bounds or ())))),
        least_first=shown,
        by_class=Markup(_class_figure(shown, colours) if shown else ""),
        losses=_losses(classes) if classes else "",
    )


def _headlines(record: Record) -> list[str]:
    """What was done, what it gained and what it cost, in two sentences."""
    about, before = record.about, record.before
    if not record.chosen:
        return [
            f"Hardening {about.classifier} against {about.nuisance} changed nothing: no candidate met the criterion "
            f"with a greater ρ̂ on the held-out images, so the weights are those of before. On {record.parts.test} test "
            f"images ρ is {estimate(before.rho, before.interval)}, accuracy under the nuisance "
            f"{number(before.accuracy_nuisance)} and clean accuracy {number(before.accuracy_clean)}."
        ]
    gained, right, cost = (_moved(record, quantity) for quantity in QUANTITIES)
    return [
        f"{about.classifier} was fine-tuned on {_on(about)}, to harden it against {about.nuisance}: on "
        f"{record.parts.test} test images ρ {gained}.",
        f"Accuracy under the nuisance {right}. Clean accuracy {cost}.",
    ]


def _moved(record: Record, quantity: str) -> str:
    """rose from 0.683 to 0.739 (+0.055 [+0.026, +0.083], paired)"""
    change = record.difference.of(quantity)
    verb = {1: "rose", -1: "fell", 0: "went"}[change.side]
    unclear = "" if change.side else ", which these images can't tell from no change"
    before, after = (number(getattr(found, quantity)) for found in (record.before, record.after))
    return f"{verb} from {before} to {after} ({estimate(*change, sign='+')}, paired){unclear}"


def _on(about: Settings) -> str:
    return "draws of the nuisance’s prior" if about.on == "prior" else "its weak points"


def _trained_on(about: Settings) -> str:
    if about.on == "prior":
        return _on(about)
    counted = {
        "corrected": "with plain draws of the prior among them, each counted so that the mean loss is the prior’s",
        "equal": "all counted equally",
    }.get(about.loss, f"counted by the loss {about.loss}")
    return f"weak points, sampled in each round from the classifier as it then stood; {counted}"


def _too_dear(record: Record) -> str:
    kept = record.rounds[record.chosen].rho
    dear = sum(each.rho > kept and not record.allowed(each) for each in record.rounds)
    if not dear:
        return ""
    return f"; {dear} candidate{'s' * (dear > 1)} of greater ρ fell below it, and could not be chosen"


def _losses(classes: Sequence[ClassChanges]) -> str:
    """For which classes the interval lies below zero, and above it for ρ."""
    gained = sum(each.of("rho").side > 0 for each in classes)
    said = f"The interval of ρ lies above 0 for {gained or 'none'} of {len(classes)} class{'es' * (len(classes) > 1)}. "
    lost = {
        name: [each.name for each in classes if each.of(quantity).side < 0] for quantity, name in QUANTITIES.items()
    }
    told = [f"{name}: {listed(names, 3)}" for name, names in lost.items() if names]
    if told:
        return f"{said}These classes lost, their interval lying below 0, in {'; in '.join(told)}."
    return (
        f"{said}No interval of ρ, accuracy or clean accuracy lies below 0: no class is shown to have lost. Where "
        "intervals are wide, a loss may still hide in them."
    )


def _candidate_figure(record: Record, looks: Mapping[str, Look], far: bool) -> str:
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
        _mark(axes, untouched, looks[BEFORE], "untouched" if record.chosen else "untouched, and chosen")
        if record.chosen:
            _mark(axes, best, looks[AFTER], "chosen")
        axes.margins(0.12, 0.16)
        if not far:
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
    return svg("hardened-candidates", (6.6, 3.5), about, draw)


def _mark(axes: Axes, candidate: Candidate, look: Look, name: str) -> None:
    at = ([candidate.accuracy_clean], [candidate.rho])
    axes.plot(*at, look.marker, color=look.colour, markersize=8, linestyle="", label=name, zorder=3)


def _class_figure(classes: Sequence[ClassChanges], colours: Mapping[int, str]) -> str:
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
    return svg("hardened-classes", (9.6, 0.8 + 0.27 * len(classes)), about, draw)
