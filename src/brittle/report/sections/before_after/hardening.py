"""How `brittle harden` trained a classifier and chose its weights, from its record."""

from __future__ import annotations

from brittle.report.blocks import Group, Sentence, Table
from brittle.report.blocks.text import Estimate
from brittle.report.blocks.wording import bounded
from brittle.report.page.section import Row
from brittle.report.page.words import counted, number
from brittle.report.sections.before_after.figures import candidate_figure, is_far
from brittle.report.sections.before_after.record import Candidate, HardeningRecord, RecordedSettings
from brittle.report.sections.tables import Titled, pairs, table

OPEN_TABLE = 20  # past so many candidates their table is closed
COUNTED = {
    "corrected": "with plain draws of the prior among them, each counted so that the mean loss is the prior’s",
    "equal": "all counted equally",
}


def tuned(record: HardeningRecord) -> str:
    """What was done, before what came of it."""
    on = "draws of the nuisance’s prior" if record.about.on == "prior" else "its weak points"
    return (
        f"{record.about.classifier} was fine-tuned on {on}, to harden it against {record.about.nuisance}: on "
        f"{record.parts.test} test images"
    )


def too_little(record: HardeningRecord) -> str:
    """That no candidate was better."""
    about, before = record.about, record.before
    return (
        f"Hardening {about.classifier} against {about.nuisance} changed nothing: no candidate met the criterion "
        f"with a greater ρ̂ on the held-out images, so the weights are those of before. On {record.parts.test} test "
        f"images ρ is {number(before.rho)}, accuracy under the nuisance {number(before.accuracy_nuisance)} and clean "
        f"accuracy {number(before.accuracy_clean)}."
    )


def _trained_on(about: RecordedSettings) -> str:
    if about.on == "prior":
        return "draws of the nuisance’s prior"
    how = COUNTED.get(about.loss, f"counted by the loss {about.loss}")
    return f"weak points, sampled in each round from the classifier as it then stood; {how}"


def trained(record: HardeningRecord) -> Group:
    about, parts, calls = record.about, record.parts, record.calls
    shown = pairs(
        (
            "images",
            f"{parts.training:,} training images; {parts.held_out:,} held-out images, to choose among the candidates; "
            f"{parts.test:,} test images, for before and after alone",
        ),
        (
            "training",
            f"{counted(about.rounds, 'round')} × {counted(about.steps, 'step')} × {about.batch_size} images, of which "
            f"{100 * about.share:g} % transformed and the others clean",
        ),
        ("trained on", _trained_on(about)),
        (
            "classifier calls",
            f"{calls.sampling:,} in sampling; training was worth {calls.training:,} more (three per image and step). "
            f"The rounds took {record.seconds:,.0f} s on {record.device}",
        ),
    )
    return Group("How it was hardened", (shown,), key="training")


def choice(record: HardeningRecord, difference: Row) -> Group:
    best = record.rounds[record.chosen]
    which = "the untouched classifier"
    if record.chosen:
        way = "the weights" if best.way == 1 else f"{best.way:g} of the way to those"
        which = f"{way} at the end of round {best.round}"
    far = ", far to the left of the figure" if is_far(record) else ""
    told = any(each.failing is not None for each in record.rounds)
    stand = " stands with the last candidate of its round"
    if told:
        stand = (
            ", 1 − µ of the images sampled and the share of the draws trained on at which another label won stand with "
            "the last candidate of their round"
        )
    return Group(
        "How the weights were chosen",
        (
            Sentence(f"Said beforehand: {record.criterion}."),
            Sentence(
                f"Chosen: {which}. The least clean accuracy allowed was {number(record.least)}{far}"
                f"{_too_costly(record)}."
            ),
            candidate_figure(record, difference),
            Group(
                f"The {len(record.rounds)} candidates on {record.parts.held_out} held-out images",
                (_candidates(record, told),),
                "open" if len(record.rounds) <= OPEN_TABLE else "closed",
            ),
            Sentence(
                "ρ̂ is ρ as estimated on these images; a line in the figure leads from the untouched weights to a "
                "round’s own. Way: how far from the untouched weights to the round’s own. The mean loss"
                f"{stand}. The one chosen looks a little better here than it is, since it was chosen here; the test "
                "images took no part in that.",
                "note",
            ),
        ),
        key="chosen",
    )


def _too_costly(record: HardeningRecord) -> str:
    """Candidates that had a greater ρ̂ and lost too much, if any."""
    kept = record.rounds[record.chosen].rho
    count = sum(each.rho > kept and not record.allowed(each) for each in record.rounds)
    if not count:
        return ""
    return f"; {counted(count, 'candidate')} of greater ρ fell below it, and could not be chosen"


def _candidates(record: HardeningRecord, told: bool) -> Table:
    def verdict(row: Candidate) -> str:
        chosen = row is record.rounds[record.chosen]
        said = {"untouched": not row.round, "chosen": chosen, "lost too much": not record.allowed(row)}
        return ", ".join(word for word, holds in said.items() if holds)

    found: list[Titled] = [("1 − µ", lambda row: Estimate(row.failing)), ("wrong", lambda row: Estimate(row.wrong))]
    return table(
        record.rounds,
        ("round", lambda row: str(row.round)),
        ("way", lambda row: f"{row.way:g}" if row.round else "–"),
        ("verdict", verdict),
        ("ρ", lambda row: bounded(row.rho, row.interval)),
        ("accuracy under the nuisance", lambda row: Estimate(row.accuracy_nuisance)),
        ("clean accuracy", lambda row: Estimate(row.accuracy_clean)),
        ("loss", lambda row: Estimate(row.loss)),
        *found * told,
        by=0,
        chosen=record.chosen,
    )
