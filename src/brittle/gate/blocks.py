"""A verdict as blocks, which terminal, notebook and Markdown show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from brittle.comparison.paired import NUMBERS, ChangedNumber, ComparedCell
from brittle.gate.verdict import WORDS, GateVerdict
from brittle.report.blocks import Block, Group, Sentence, Table
from brittle.report.blocks.text import ClassifierName, Estimate, Styled
from brittle.report.blocks.wording import plain
from brittle.report.console import text_of
from brittle.report.page.words import counted, listed, number, percent
from brittle.report.renderers.console import printed
from brittle.report.renderers.markdown import as_markdown

MOST_ROWS, MOST_NAMED = 40, 6
TITLE = "Gate"


def blocks_of(verdict: GateVerdict) -> list[Block]:
    """The verdict in one line, why, and the tables behind it."""
    parts: list[Block] = [Sentence((Styled(f"{TITLE}: {WORDS[verdict.state]}"), f". {headline(verdict)}"))]
    parts += [Sentence(text) for text in reasons(verdict)]
    if verdict.changes:
        parts.append(Group(_title(verdict), (_changes(verdict), Sentence(promise(verdict), "note"))))
    if verdict.numbers:
        parts.append(Group("Conditions", (_numbers(verdict),)))
    if verdict.cases:
        parts.append(Group("Named cases", (_cases(verdict),)))
    if verdict.failures:
        parts.append(Group("New weak points: right before, wrong now", (_failures(verdict), *_flips(verdict))))
    if verdict.comparison is not None and (left := verdict.comparison.not_compared):
        parts.append(Sentence(f"Compared with nothing: {listed(left, MOST_NAMED)}.", "note"))
    parts += [Sentence(f"{text[:1].upper()}{text[1:]}.", "note") for text in verdict.notes]
    return parts


def as_text(verdict: GateVerdict) -> str:
    return text_of(*printed(blocks_of(verdict)))


def as_html(verdict: GateVerdict) -> str:
    from brittle.report.renderers.plain_html import as_plain_html  # matplotlib, which nothing here draws with

    return str(as_plain_html(blocks_of(verdict)))


def markdown_of(verdict: GateVerdict) -> str:
    """A short summary, for a pull request or the page of a job."""
    return as_markdown(blocks_of(verdict), 3) + "\n"


def headline(verdict: GateVerdict) -> str:
    """How many of each there are."""
    allow = f"{verdict.options.allow:g}"
    parts = []
    if verdict.changes:
        failed, unsure = (len(verdict.in_state(each)) for each in ("failed", "unsure"))
        every = counted(len(verdict.changes), "number")
        if failed:
            parts.append(f"{failed} of {every} fell by more than the {allow} allowed")
        if unsure:
            parts.append(f"it can't be told of {unsure} of {every} whether they fell by more than {allow}")
        if not failed and not unsure:
            parts.append(f"none of {every} fell by more than the {allow} allowed")
    parts += _all_or_some("condition", "met", [each.holds for each in verdict.numbers])
    parts += _all_or_some("named case", "right", [each.right for each in verdict.cases])
    return _capital("; ".join(parts)) + "."


def _all_or_some(what: str, good: str, met: Sequence[bool]) -> list[str]:
    """every condition is met; 2 of 3 conditions are not met"""
    wrong = len(met) - sum(met)
    if wrong:
        return [f"{wrong} of {counted(len(met), what)} {'is' if wrong == 1 else 'are'} not {good}"]
    return [f"every {what} is {good}"] if met else []


def reasons(verdict: GateVerdict) -> Iterator[str]:
    """What failed or is open, a sentence each, the worst first."""
    for change in sorted(verdict.in_state("failed"), key=lambda each: each.difference.high)[:MOST_NAMED]:
        yield f"{_capital(said_of(change))}{_beside(verdict, change)}."
    if verdict.in_state("unsure"):
        yield more_images(verdict)


def said_of(change: ChangedNumber) -> str:
    """accuracy of mine under fog fell from 0.910 to 0.879: −0.031 [−0.045, −0.018]"""
    found, what = change.difference, f"{NUMBERS[change.number]} of {change.cell.classifier}{_where(change.cell)}"
    verb = "fell" if found.value < 0 else "rose" if found.value > 0 else "stayed"
    by = plain((Estimate(found.value, found.low, found.high, signed=True),))
    return f"{what} {verb} from {number(change.before)} to {number(change.after)}: {by}"


def _where(cell: ComparedCell) -> str:
    if not cell.nuisance:
        return f" on the untouched images of {cell.image_set}"
    return f" under {cell.nuisance} on {cell.image_set}"


def _beside(verdict: GateVerdict, change: ChangedNumber) -> str:
    """Where ρ and accuracy disagree: ρ moves with confidence, too."""
    others = [each for each in verdict.changes if each.cell == change.cell and each.number != change.number]
    for each in others:
        if change.number == "rho" and each.state(verdict.options.allow) == "passed":
            return "; accuracy did not, so it is confidence rather than answers that has changed"
        if change.number == "accuracy" and each.state(verdict.options.allow) == "passed":
            return "; ρ did not, so answers have become wrong and confidence in the label has not fallen on average"
    return ""


def more_images(verdict: GateVerdict) -> str:
    """What would tell, as far as that can be estimated."""
    several = verdict.in_state("unsure")
    if any(each.design.estimand == "set" for each in several):
        what, have = "draws", max(each.draws for each in several)
    else:
        what, have = "images", max(each.images for each in several)
    most = verdict.most_to_tell
    if most is None:
        return (
            f"It can't be estimated how many {what} would tell: some change is too close to what is allowed. "
            "Allow more or less, or compare fewer numbers (--on)."
        )
    left = [verdict.images_left.get(each.cell.image_set, 0) for each in several]
    said = f"About {most:,} {what} would tell ({have:,} were looked at), if those to come are like these."
    if what == "images" and min(left) < most - have:
        said += " The image set has fewer: take a larger one, or ask about exactly these images (estimand set)."
    return said


def promise(verdict: GateVerdict) -> str:
    """What the intervals hold for, and how often the gate is wrong."""
    found = verdict.comparison
    assert found is not None
    if not found.family:
        return "Every classifier is known to be the one of the baseline: the same files, options and packages."
    confidence, wrong = percent(found.confidence), percent(1 - found.confidence)
    every = counted(found.family, "number")
    return (
        f"Paired over the same images and θ; {confidence} intervals that hold for all {every} at "
        f"once. A number has failed if its whole interval lies below −{verdict.options.allow:g}, and passed if none "
        f"of it does. The chance that any of them is judged wrongly, either way, is at most {wrong}."
    )


def _title(verdict: GateVerdict) -> str:
    assert verdict.comparison is not None
    return f"Against {verdict.comparison.other.name}"


def _changes(verdict: GateVerdict) -> Table:
    order = {"failed": 0, "unsure": 1, "passed": 2}
    allow = verdict.options.allow
    several = len({each.cell.image_set for each in verdict.changes}) > 1
    rows = []
    for each in sorted(verdict.changes, key=lambda change: order[change.state(allow)]):
        cell, state = each.cell, each.state(allow)
        told = verdict.to_tell.get((cell, each.number)) if state == "unsure" else None
        rows.append(
            (
                ClassifierName(cell.classifier),
                *([cell.image_set] if several else []),
                cell.nuisance or "untouched",
                NUMBERS[each.number],
                Estimate(each.before),
                Estimate(each.after),
                "same classifier" if cell.same else _difference(verdict, each),
                WORDS[state] + (f", {told:,} would" if told else ""),
            )
        )
    titles = (
        "classifier",
        *(["images"] if several else []),
        "nuisance",
        "number",
        "before",
        "now",
        "change",
        "verdict",
    )
    return Table(titles, tuple(rows), shown=MOST_ROWS)


def _difference(verdict: GateVerdict, change: ChangedNumber) -> Estimate:
    assert verdict.comparison is not None
    found, at_once = change.difference, verdict.comparison.family
    return Estimate(found.value, found.low, found.high, signed=True, simultaneous=at_once)


def _numbers(verdict: GateVerdict) -> Table:
    rows = [
        (
            each.name,
            Estimate(each.value, places=4, format="significant"),
            each.condition,
            "met" if each.holds else "not met",
        )
        for each in sorted(verdict.numbers, key=lambda number: number.holds)
    ]
    return Table(("number", "value", "condition", "verdict"), tuple(rows), shown=MOST_ROWS)


def _cases(verdict: GateVerdict) -> Table:
    rows = [
        (each.name, ClassifierName(each.classifier), each.expected, each.predicted, Estimate(each.probability),
         "right" if each.right else "wrong")
        for each in sorted(verdict.cases, key=lambda case: case.right)
    ]  # fmt: skip
    return Table(("case", "classifier", "expected", "said", "p(expected)", "verdict"), tuple(rows), shown=MOST_ROWS)


def _failures(verdict: GateVerdict) -> Table:
    rows = [
        (
            each.file,
            ClassifierName(each.classifier),
            each.nuisance or "untouched",
            theta_words(each.theta, each.of.draw if each.nuisance else None),
            f"{each.label} {number(each.of.p_before)} → {number(each.of.p_after)}".strip(),
            each.predicted,
            f"{each.of.right_before} → {each.of.right_after} of {each.of.draws}",
        )
        for each in verdict.failures
    ]
    titles = ("image", "classifier", "nuisance", "θ", "p(label)", "now said", "draws right")
    return Table(titles, tuple(rows), shown=MOST_ROWS)


def theta_words(theta: Mapping[str, float], draw: int | None) -> str:
    """angle −23.1, zoom 1.1 (draw 12)"""
    if draw is None:
        return "–"
    said = ", ".join(f"{name} {value:.3g}".replace("-", "−") for name, value in theta.items())
    return f"{said} (draw {draw})" if said else f"draw {draw}"


def _flips(verdict: GateVerdict) -> Sequence[Block]:
    assert verdict.comparison is not None
    every = [each.flips for each in verdict.comparison.found if not each.cell.same]
    wrong, right, of = (sum(getattr(each, name) for each in every) for name in ("now_wrong", "now_right", "pictures"))
    return [Sentence(f"Of {of:,} pictures {wrong:,} became wrong and {right:,} became right.", "note")]


def _capital(text: str) -> str:
    return text if text.startswith("ρ") else text[:1].upper() + text[1:]
