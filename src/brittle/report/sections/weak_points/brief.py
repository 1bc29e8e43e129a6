"""Weak points in brief: where they lead, which parameters break the classifier, and what can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brittle.measures.weak_points.diagnosis import TRUSTED
from brittle.report.blocks import Block, Group, Sentence, Table
from brittle.report.blocks.text import ClassifierName, Count, Estimate, Styled
from brittle.report.page.section import Row
from brittle.report.page.words import EVERYTHING, counted
from brittle.report.sections.weak_points.draws import telling_parameters, why_no_mistakes

FLOWS, PARAMETERS, IMAGES = 6, 6, 10
MOST_ENTRIES = 16  # in detail


def printed(entries: Sequence[Row]) -> Iterator[Block]:
    """For each classifier and nuisance: totals, the strongest flows and parameters, and a row per image. Past
    MOST_ENTRIES of these, a table per nuisance with a row per classifier."""
    if len(entries) <= MOST_ENTRIES:
        yield from map(_entry, entries)
        return
    for cell in dict.fromkeys((entry["image_set"], entry["nuisance"]) for entry in entries):
        here = [entry for entry in entries if (entry["image_set"], entry["nuisance"]) == cell]
        about = f" on {cell[0]}, weak points: {here[0]['prior']}"
        yield Group((Styled(cell[1]), about), (overview(here),))
    yield Sentence(f"image by image: {EVERYTHING}")


def share_of(entry: Row) -> tuple[str, str]:
    """How much of the prior is weak: its title and its key."""
    return ("wrong", "wrong_share") if entry.get("failing") else ("1 − µ", "one_minus_mu")


def overview(entries: Sequence[Row], *more: str) -> Table:
    """A row per classifier; `more` are keys that tell entries apart besides."""
    title, key = share_of(entries[0])
    return Table(
        (
            "",
            *(key.replace("_", " ") for key in more),
            "trusted",
            "no other label",
            title,
            "effective",
            "most often leads",
        ),
        tuple(
            (
                ClassifierName(entry["classifier"]),
                *(entry[each] for each in more),
                Count(entry["trusted"], entry["images"]),
                Count(entry["no_other_label"]),
                Estimate(entry[key], format="significant"),
                Estimate(entry["effective"], places=0),
                "; ".join(leads(entry, 1)) or "–",
            )
            for entry in entries
        ),
        noun="classifier",
    )


def leads(entry: Row, most: int) -> list[str]:
    """Bag → Shirt 12 %"""
    return [f"{flow['from_label']} → {flow['to_label']} {100 * flow['share']:.0f} %" for flow in entry["flows"][:most]]


def _entry(entry: Row) -> Group:
    about = f" on {entry['image_set']}, weak points of "
    title = (Styled(entry["nuisance"]), about, Styled(entry["classifier"]), f": {entry['prior']}")
    return Group(title, (*map(Sentence, _totals(entry)), _images(entry)))


def _totals(entry: Row) -> Iterator[str]:
    methods = ", ".join(f"{name} {count}" for name, count in entry["methods"].items())
    per_1000 = "–" if entry["per_1000"] is None else f"{entry['per_1000']:.0f}"
    images, trusted = (counted(entry[key], "image") for key in ("images", "trusted"))
    yield (
        f"{images} ({methods}), {entry['calls']:,} classifier calls, {per_1000} effective draws per 1,000 calls "
        f"(median); draws of {trusted} can be trusted"
    )
    if entry.get("least_met"):
        yield island(entry)
    if entry.get("failing"):
        yield f"draws are of {entry['draws_of']}"
    if entry["no_other_label"]:
        yield (
            f"only doubts: on {counted(entry['no_other_label'], 'image')} no draw has another label, it is less sure "
            "of its own; failures may still exist, and --failing looks for them alone"
        )
    if entry["already_wrong"]:
        yield f"{entry['already_wrong']} are wrong untouched: {entry['already_wrong_are']}"
    if entry["hard"]:
        yield "its outputs are 0 and 1 only: a weak point is any θ at which it is wrong"
    if entry["flows"]:
        yield f"lead to: {'; '.join(leads(entry, FLOWS))}"
    if told := telling_parameters(entry)[:PARAMETERS]:
        shown = (f"{row['parameter']} (shift {row['shift']:.2f}, spread {row['spread']:.2f})" for row in told)
        yield f"break it: {'; '.join(shown)}, in standard deviations of the prior"


def island(entry: Row) -> str:
    """What draws from the prior are not sure to meet."""
    if too_few_to_tell(entry):
        return "draws from the prior are too few to say whether any island of failures was missed"
    return (
        f"an island of failures with less than {100 * entry['least_met']:.2g} % of the prior may not have been met "
        "(3 in the number of draws from it)"
    )


def too_few_to_tell(entry: Row) -> bool:
    """Whether draws from the prior are sure to meet nothing that is smaller than half of it."""
    return bool(entry["least_met"] >= 0.5)


def _images(entry: Row) -> Table:
    title, key = share_of(entry)
    return Table(
        ("image", "label", "leads to", title, "effective", "R̂ or k̂", "draws"),
        tuple(
            (
                row["name"],
                row["label"] + (" (wrong untouched)" if row["already_wrong"] else ""),
                row["leads_to"] or why_no_mistakes(row),
                Estimate(row[key], places=2, format="significant"),
                Estimate(row["effective"], places=0),
                Estimate(quality(row), places=2),
                row["status"] if row["status"] != TRUSTED else "ok",
            )
            for row in entry["per_image"]
        ),
        shown=IMAGES,
        noun="image",
    )


def quality(row: Row) -> float | None:
    """R̂ of chains, or k̂ of weights."""
    found: float | None = row["rhat"] if row["rhat"] is not None else row["pareto_k"]
    return found
