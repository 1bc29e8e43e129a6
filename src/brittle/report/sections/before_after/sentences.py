"""What changed, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Sentence, Weighted
from brittle.report.blocks.wording import plain
from brittle.report.page.section import compared
from brittle.report.page.words import listed, number
from brittle.report.sections.before_after.changes import QUANTITIES, ClassChanges, Difference, Levels
from brittle.report.sections.before_after.record import Record, Settings

GAINED, COST = 0.95, 0.94  # how much the findings matter


def _finding(text: str, weight: float, about: tuple[str, ...] = ()) -> Weighted:
    return Weighted(Sentence(text, "finding"), weight, about)


def findings(difference: Difference, levels: Levels, record: Record | None, many_sets: bool) -> list[Weighted]:
    """What was gained and what it cost, in two sentences; with the record of a hardening, what was done too."""
    about = compared(difference.image_set, difference.before, difference.after)
    if record is not None and not record.chosen:
        return [_finding(_unchanged(record), GAINED, about)]
    gained, right, cost = (_moved(difference, levels, quantity) for quantity in QUANTITIES)
    if record is not None:
        done = (
            f"{record.about.classifier} was fine-tuned on {_on(record.about)}, to harden it against "
            f"{record.about.nuisance}: on {record.parts.test} test images ρ {gained}."
        )
        return [
            _finding(done, GAINED, about),
            _finding(f"Accuracy under the nuisance {right}. Clean accuracy {cost}.", COST),
        ]
    on = f" on {difference.image_set}" if many_sets else ""
    where = f"From {difference.before} to {difference.after} under {difference.nuisance}{on}"
    return [
        _finding(f"{where} ρ {gained}.", GAINED, about),
        _finding(f"{where} accuracy {right}; clean accuracy {cost}.", COST),
    ]


def _unchanged(record: Record) -> str:
    about, before = record.about, record.before
    return (
        f"Hardening {about.classifier} against {about.nuisance} changed nothing: no candidate met the criterion "
        f"with a greater ρ̂ on the held-out images, so the weights are those of before. On {record.parts.test} test "
        f"images ρ is {number(before.rho)}, accuracy under the nuisance {number(before.accuracy_nuisance)} and clean "
        f"accuracy {number(before.accuracy_clean)}."
    )


def _moved(difference: Difference, levels: Levels, quantity: str) -> str:
    """rose from 0.683 to 0.739 (+0.055 [+0.026, +0.083], paired)"""
    change = difference.of(quantity)
    verb = {1: "rose", -1: "fell", 0: "went" if levels else "moved"}[change.side]
    unclear = "" if change.side else ", which these images can't tell from no change"
    if not levels:
        return f"{verb} by {plain((change.estimate,))}, paired{unclear}"
    before, after = (number(levels[name][quantity].value) for name in (difference.before, difference.after))
    return f"{verb} from {before} to {after} ({plain((change.estimate,))}, paired){unclear}"


def _on(about: Settings) -> str:
    return "draws of the nuisance’s prior" if about.on == "prior" else "its weak points"


def trained_on(about: Settings) -> str:
    if about.on == "prior":
        return _on(about)
    counted = {
        "corrected": "with plain draws of the prior among them, each counted so that the mean loss is the prior’s",
        "equal": "all counted equally",
    }.get(about.loss, f"counted by the loss {about.loss}")
    return f"weak points, sampled in each round from the classifier as it then stood; {counted}"


def too_costly(record: Record) -> str:
    """Candidates that had a greater ρ̂ and lost too much, if any."""
    kept = record.rounds[record.chosen].rho
    count = sum(each.rho > kept and not record.allowed(each) for each in record.rounds)
    if not count:
        return ""
    return f"; {count} candidate{'s' * (count > 1)} of greater ρ fell below it, and could not be chosen"


def losses(classes: Sequence[ClassChanges]) -> str:
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
