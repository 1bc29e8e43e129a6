"""Tables of failure points: a row per classifier, per severity, per pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from brittle.report.blocks import Block, ClassifierName, Count, Estimate, Sentence, Table, TableCell, Verdict
from brittle.report.blocks.wording import estimate, share
from brittle.report.page.label_names import LabelNames
from brittle.report.sections.comparisons import better
from brittle.report.sections.failure_points import words
from brittle.report.sections.failure_points.words import Row

MOST_COLUMNS = 8  # severities on the console
MOST_SEVERITIES = 21  # on the page


def briefly(rows: Sequence[Row]) -> Table:
    refined, origin = rows[0]["refined"] is not None, words.origin(rows[0])
    return Table(
        ("", *["right at 0"] * origin, "mean", *["narrowed"] * refined, "median", "never", "recovered"),
        tuple(
            (
                ClassifierName(row["classifier"]),
                *[Count(row["correct"])] * origin,
                words.mean(row),
                *([Estimate(row["refined"]["mean"], places=words.places(row))] if refined else []),
                words.median(row),
                share(row, "never", places=1),
                Count(row["recovered"]),
            )
            for row in rows
        ),
        noun="classifier",
    )


def along(rows: Sequence[Row]) -> Table:
    """Accuracy per severity; of a long grid some columns."""
    drops, key = words.drops(rows[0]), "accuracy" if rows[0]["only"] is None else "failed"
    shown = [_thinned(row["severities"], MOST_COLUMNS) for row in rows]
    return Table(
        ("", *(f"{entry['value']:g}" for entry in shown[0]), *["mean drop"] * drops),
        tuple(
            (
                ClassifierName(row["classifier"]),
                *(Estimate(entry[key]) for entry in entries),
                *[words.mean_drop(row)] * drops,
            )
            for row, entries in zip(rows, shown, strict=True)
        ),
    )


def _thinned(entries: Sequence[Row], most: int) -> list[Row]:
    """Of a fine grid some severities, with both ends."""
    wanted = min(len(entries), most)
    return [entries[place * (len(entries) - 1) // max(1, wanted - 1)] for place in range(wanted)]


def about(row: Row) -> Table:
    never = "; paths that never fail count with the last severity" if row["never"] else ""
    saved = f"{words.saved(row)} by {row['classifier']}, whose failed images are not looked at further"
    return Table(
        ("", ""),
        (
            ("unit", words.UNITS.get(row["unit"], row["unit"])),
            ("paths", words.how(row)),
            ("mean", f"{words.mean_is(row)}, {words.over(row)}{never}"),
            *([("calls", saved)] if row["calls_saved"] else []),
        ),
        "pairs",
    )


def in_full(rows: Sequence[Row]) -> Table:
    refined, origin, drops = rows[0]["refined"] is not None, words.origin(rows[0]), words.drops(rows[0])

    def recovered(row: Row) -> TableCell:
        return None if row["recovered"] is None else (Count(row["recovered"], row["paths"], "path"),)

    return Table(
        (
            *("classifier", *["wrong at 0"] * origin, "mean failure point", *["narrowed"] * refined, "median"),
            *("never fails", "right again after failing", *["drop, mean over severities, points"] * drops),
        ),
        tuple(
            (
                ClassifierName(row["classifier"]),
                *[Count(row["wrong_at_0"], row["images"])] * origin,
                words.mean(row),
                *([words.mean(row, row["refined"])] if refined else []),
                words.median(row),
                share(row, "never", places=1),
                recovered(row),
                *[words.mean_drop(row)] * drops,
            )
            for row in rows
        ),
    )


def differences(row: Row, pairs: Sequence[Row]) -> Table:
    drops = words.drops(row)
    return Table(
        (
            *("first", "second", "failure point, first − second", "fails later"),
            *(["drop, first − second, all images, points", "drops less"] if drops else []),
        ),
        tuple(
            (
                pair["first"],
                pair["second"],
                words.difference(row, pair),
                Verdict(better(pair)),
                *(_drop_difference(pair) if drops else ()),
            )
            for pair in pairs
        ),
    )


def _drop_difference(pair: Row) -> tuple[TableCell, TableCell]:
    found = words.points(pair, "drop_difference", "drop_interval", signed=True, simultaneous=pair["family"])
    return found, Verdict(better(pair, "drop_better"))


def by_severity(rows: Sequence[Row], names: Mapping[str, LabelNames]) -> Iterator[Block]:
    """Everything known of some classifiers at each severity."""
    whole, drops = rows[0]["only"] is None, words.drops(rows[0])
    shown = {row["classifier"]: _thinned(row["severities"], MOST_SEVERITIES) for row in rows}
    if whole:
        columns = ["accuracy", *["drop, points"] * drops, "confidence", "failed by then", "fail here first"]
        columns += ["wrong here", "ECE", "NLL", "AURC"]
    else:
        columns = ["failed by then", "fail here first"]

    def cells(entry: Row) -> Iterator[TableCell]:
        if whole:
            yield estimate(entry, "accuracy")
            yield from [words.points(entry, "drop")] * drops
            yield estimate(entry, "mean_confidence")
        yield estimate(entry, "failed")
        yield Count(entry["first_failures"])
        if whole:
            yield Count(entry["wrong"])
            yield from (Estimate(entry[key]) for key in ("ece", "nll", "aurc"))

    yield Table(
        ("classifier", rows[0]["unit"], *columns, "most fall into"),
        tuple(
            (
                ClassifierName(name),
                Estimate(entry["value"], places=6, format="significant"),
                *cells(entry),
                ", ".join(f"{names[name](fall['label'])} {100 * fall['share']:.0f} %" for fall in entry["falls"][:1]),
            )
            for name, entries in shown.items()
            for entry in entries
        ),
        by=0,
    )
    told, there = len(next(iter(shown.values()))), len(rows[0]["severities"])
    some = f" {told} of {there} severities; summary.json has all." if there > told else ""
    what = "ECE (15 bins), NLL and AURC are of all answers at that severity; they have no interval here."
    if note := f"{what if whole else ''}{some}".strip():
        yield Sentence(note, "note")


def pooled(averages: Sequence[Row], many_sets: bool) -> Table:
    """The classifiers that lose least over all nuisances first."""
    ordered = sorted(averages, key=lambda each: (each["image_set"], each["drop"] or 0.0))
    return Table(
        (
            *("classifier", *["images"] * many_sets, "nuisances", "drop, points"),
            *(f"at {entry['value']:g}" for entry in ordered[0]["severities"]),
        ),
        tuple(
            (
                ClassifierName(each["classifier"]),
                *[each["image_set"]] * many_sets,
                Count(len(each["nuisances"])),
                words.points(each, "drop"),
                *(Estimate(words.points(entry, "drop").value, places=1) for entry in each["severities"]),
            )
            for each in ordered
        ),
    )
