"""One classifier's weak points on one image set under one nuisance, as a group that can be folded away."""

from __future__ import annotations

from collections.abc import Iterator

from brittle.measures.weak_points.diagnosis import FEWEST, GREATEST_K, GREATEST_RHAT, TRUSTED
from brittle.report.blocks import Block, Cell, Group, Pictures, Sentence, Table
from brittle.report.blocks.text import ClassifierName, Count, Estimate, Styled, Text
from brittle.report.page.section import MeasureRun, Row
from brittle.report.page.words import number
from brittle.report.sections.weak_points import sentences
from brittle.report.sections.weak_points.brief import island, quality, share_of, too_few_to_tell
from brittle.report.sections.weak_points.draws import why_no_mistakes
from brittle.report.sections.weak_points.evidence import EntryPictures, evidence, pooled_images
from brittle.report.sections.weak_points.figures import flow_figure

OPEN_TABLE = 20  # past this many images the table of diagnostics is closed
MOST_ROWS = 1000
TAKEN = (
    "Left the image with its label, then draws chosen at random among those on which the classifier gives another "
    "label; that label stands above, its probability beneath."
)
LEAST = (
    "Of all draws of another label the one with the greatest prior density, for the images on which it is greatest. A "
    "smaller one may exist."
)
OCCLUDERS = (
    "How often each pixel is hidden, in draws of the prior and in weak points. In the last column orange is hidden "
    "more often in weak points than in the prior: there an occluder costs the label. Purple is hidden less often."
)


def entry_group(run: MeasureRun, entry: Row, among: int, *, unfolded: bool) -> Group:
    """One of `among` entries that are shown in full."""
    chosen = run.whole.chosen(entry["image_set"])
    unlabelled = 0 if chosen is None else int((chosen.images.labels < 0).sum())
    found = evidence(run, entry, among)
    on = [f", on {entry['image_set']}"] if run.many_sets else []
    title: Text = ClassifierName(entry["classifier"]), " under ", entry["nuisance"], *on
    blocks = (
        *(Sentence(text, "finding") for text in sentences.findings(entry, unlabelled)),
        *([Sentence(found.note, "caution")] if found.note else []),
        *_pictures(found),
        *_flows(entry),
        *_parameters(entry, found),
        *_maps(entry, found),
        *_trust(entry, found),
    )
    return Group(title, blocks, "open" if unfolded else "closed", about=Cell(entry["image_set"], entry["nuisance"]))


def _note(*text: str | Styled) -> Sentence:
    return Sentence(text, "note")


def _pictures(found: EntryPictures) -> Iterator[Block]:
    if found.strips:
        yield Group("What it takes them for", (_note(TAKEN), Pictures(tuple(found.strips))))
    if found.least:
        yield Group("The least it takes", (_note(LEAST), Pictures(tuple(found.least), "pairs")))


def _flows(entry: Row) -> Iterator[Block]:
    if not entry["flows"]:
        return
    note: list[str | Styled] = [
        "Rows: the image’s label; columns: what the classifier says instead. Shares of all weak points that have "
        "another label, which sum to 100 %; each image has as many weak points as any other."
    ]
    if entry["trusted"] < entry["images"]:
        note += [" ", Styled("Images whose draws can’t be trusted count too.")]
    table = Table(
        ("from", "to", "share", "images"),
        tuple(
            (flow["from_label"], flow["to_label"], Estimate(flow["share"]), Count(flow["images"]))
            for flow in entry["flows"]
        ),
    )
    numbers = Group("The numbers", (table,), "closed")
    yield Group("Which labels they lead to", (_note(*note), flow_figure(entry["flows"]), numbers))


def _parameters(entry: Row, found: EntryPictures) -> Iterator[Block]:
    if not entry["parameters"]:
        return
    blocks: list[Block] = []
    pooled = len(pooled_images(entry))
    if found.marginals:
        blocks = [
            _note(
                f"Each parameter in the prior and in the weak points, pooled over the {pooled} images whose draws can "
                "be trusted and that are right untouched; the parameters that tell most first."
            ),
            found.marginals,
        ]
    elif not pooled:
        none = "No image’s draws can be trusted, so the posterior is not drawn against the prior."
        blocks = [Sentence(none, "caution")]
    among = (", ", Styled("those whose draws can’t be trusted among them"))
    explained = _note(
        "Means over images",
        *(among if entry["trusted"] < entry["images"] else ()),
        ". Shift: how far the mean has moved, in standard deviations of the prior, whichever way, and signed. Spread: "
        "standard deviation over the prior’s. Information: the Kullback–Leibler divergence between normal "
        "distributions with these moments, in nats.",
    )
    keys = ("shift", "signed_shift", "spread", "information")
    table = Table(
        ("parameter", *(key.replace("_", " ") for key in keys)),
        tuple((row["parameter"], *(Estimate(row[key]) for key in keys)) for row in entry["parameters"]),
    )
    yield Group("Which parameters break it", (*blocks, Group("The numbers", (explained, table), "closed")))


def _maps(entry: Row, found: EntryPictures) -> Iterator[Block]:
    if found.posterior:
        density = "p(not ℓ | θ, x) p(θ | x) on a grid,"
        if entry["failing"]:
            density = "p(θ | x) on a grid where the prediction is another label, 0 elsewhere,"
        note = (
            f"{density} up to a constant, within three standard deviations of the prior; dots are the kept draws, + is "
            "no transformation."
        )
        yield Group("The posterior over both parameters", (_note(note), found.posterior))
    if found.occlusion:
        yield Group("Where occluders hurt", (_note(OCCLUDERS), found.occlusion))


def _trust(entry: Row, found: EntryPictures) -> Iterator[Block]:
    rows = entry["per_image"]
    cut = f", the first {MOST_ROWS}; all are in summary.json" if len(rows) > MOST_ROWS else ""
    title = f"Diagnostics of {len(rows)} images{cut}"
    blocks: list[Block] = [
        _note(f"{_in_all(entry)}. {_trusted(entry)}"),
        Group(title, (_diagnostics(entry),), "open" if len(rows) <= OPEN_TABLE else "closed"),
    ]
    if found.traces:
        note = _note(
            "The kept draws of some images against the step, a line for each chain. Chains that mix look like one "
            "another."
        )
        blocks.append(Group("Traces of chains, for those who ask", (note, found.traces), "closed"))
    yield Group("Whether the draws can be trusted", tuple(blocks))


def _in_all(entry: Row) -> str:
    said = f"{entry['calls']:,} classifier calls in all"
    if entry["effective"] is not None:
        said += f"; in the median image {number(entry['effective'], 0)} effective draws"
    if entry["one_minus_mu"] is not None:
        said += f"; 1 − µ averages {number(entry['one_minus_mu'])}"
    elif entry["failing"] and entry["wrong_share"] is not None:
        said += f"; {100 * entry['wrong_share']:.2g} % of the prior’s θ lead to another label, on average"
    return said


def _trusted(entry: Row) -> str:
    said = (
        f"Trusted: at least {FEWEST} effective draws, and R̂ at most {GREATEST_RHAT} (chains) or k̂ at most {GREATEST_K} "
        f"(weights); from smc also at least {FEWEST} ancestors, since 1 − µ is known no better than their number "
        "allows."
    )
    if not entry["least_met"]:
        return said
    missed = f"{said} {island(entry)[:1].upper()}{island(entry)[1:]}"
    if too_few_to_tell(entry):
        return f"{missed}."
    return f"{missed}: where {share_of(entry)[0]} is below that, draws “may miss others”."


def _diagnostics(entry: Row) -> Table:
    title, key = share_of(entry)
    return Table(
        (
            *("image", "label", "leads to", "status", title, "method", "calls", "effective", "per 1,000 calls"),
            *("acceptance", "R̂ or k̂", "Kish"),
        ),
        tuple(
            (
                row["name"],
                (row["label"], *([Styled(" wrong untouched", "soft")] if row["already_wrong"] else [])),
                row["leads_to"] or why_no_mistakes(row),
                row["status"] if row["status"] == TRUSTED else Styled(row["status"], "wrong"),
                Estimate(row[key], places=4),
                row["method"],
                Count(row["calls"]),
                Estimate(row["effective"], places=0),
                Estimate(row["per_1000"], places=1),
                Estimate(row["acceptance"], places=2),
                Estimate(quality(row), places=2),
                Estimate(row["kish"], places=0),
            )
            for row in entry["per_image"][:MOST_ROWS]
        ),
    )
