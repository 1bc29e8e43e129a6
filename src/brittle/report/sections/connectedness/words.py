"""What connectedness says, in words: the same on the console and in the report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from brittle.report.blocks.wording import estimate, plain
from brittle.report.page.section import Row
from brittle.report.page.words import counted, number, percent, sentence
from brittle.report.sections import comparisons
from brittle.report.sections.comparisons import at_once, minus

MOST_SIZES = 6

WEAKLY = (
    "weakly generalised: a bubble with at least 2 of these images (UREM, section 1; it also says more than two, "
    "figure 1; multiple and widely separated, section 3; and a pair for which the solver succeeds, section 3)"
)
CHANGES = (
    "smallest change: the least max |I − I*|, of white, that turns an image of the bubble into another class, of those "
    "that the measure perturbation searched"
)
STRONGLY = (
    "candidate for strongly generalised: one bubble holds all images of the class, none misclassified (UREM, "
    "section 1; its section 3 asks instead that the bubbles are correct, by an oracle)"
)


def sizes(numbers: Sequence[int]) -> str:
    """27 + 3 + 4 × 1, the largest first."""
    runs = [(size, len(list(same))) for size, same in groupby(numbers)]
    shown = [str(size) if count == 1 else f"{count} × {size}" for size, count in runs[:MOST_SIZES]]
    return " + ".join([*shown, *(["…"] if len(runs) > MOST_SIZES else [])]) or "–"


def bubbles(row: Row) -> str:
    """At most 13 bubbles; 10 bubbles, where there can't be fewer."""
    exact = row["bubbles"] <= row.get("measured_classes", 1)
    return f"{'' if exact else 'at most '}{counted(row['bubbles'], 'bubble')}"


def changes(row: Row) -> str:
    """The smallest targeted change of each bubble, in the order of the sizes."""
    shown = [number(each["smallest_change"]) for each in row["components"][:MOST_SIZES]]
    return ", ".join([*shown, *(["…"] if len(row["components"]) > MOST_SIZES else [])]) or "–"


def straight(row: Row) -> str:
    """How often the straight segment is enough, over the fair sample of pairs."""
    if row["straight_share"] is None:
        return "no pair was sampled"
    share = plain((estimate(row, "straight_share"),))
    return (
        f"the straight segment stays in the class for {share} of random pairs "
        f"({row['sampled_pairs']} disjoint ones, {percent(row['confidence'])} interval)"
    )


def difference(pair: Row) -> str:
    """How the straight shares of two classifiers differ."""
    if pair["difference"] is None:
        return f"{minus(pair)}: no sampled pair is right for both"
    return (
        f"straight share, {minus(pair)}, paired over {pair['common_pairs']} pairs that both get right: "
        f"{plain((comparisons.difference(pair),))}{at_once(pair)}, "
        f"{'a tie' if pair['higher'] is None else pair['higher'] + ' has the higher'}"
    )


def pairs(row: Row) -> str:
    """How pairs were connected."""
    said = (
        f"{counted(row['pairs'], 'pair')} tried: {row['straight']} connected by a straight segment, {row['curved']} by "
        f"a curved path, {row['unknown']} unknown"
    )
    reasons = {"the path left the class": row["unknown_left"], "the solver failed": row["unknown_failed"]}
    told = ", ".join(f"{why}: {count}" for why, count in reasons.items() if count)
    return said + (f" ({told})" if told else "")


def outside(row: Row) -> str:
    """Whether connecting paths leave the range of pixels."""
    if not row["curved"]:
        return "straight segments between images stay within [0, 1]"
    if not row["leave_range"]:
        return "no connecting path leaves [0, 1]"
    verb = "leaves" if row["leave_range"] == 1 else "leave"
    return (
        f"{row['leave_range']} of {counted(row['curved'], 'curved path')} {verb} "
        f"[0, 1], by up to {row['farthest_outside']:.2g}"
    )


def ways(row: Row) -> str:
    """How pairs were connected, in sentences."""
    return f"{sentence(pairs(row))} {sentence(outside(row))}"


def meanings(classes: Sequence[Row]) -> list[str]:
    """Which of UREM's wordings are used, a sentence each."""
    return list(map(sentence, (WEAKLY, STRONGLY, *((CHANGES,) if with_changes(classes) else ()))))


def with_changes(classes: Sequence[Row]) -> bool:
    """Whether the study has targeted changes of any of the images."""
    return any(row["smallest_change"] is not None for row in classes)
