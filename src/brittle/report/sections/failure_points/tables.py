"""Tables of failure points: a row per classifier, per severity, per pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from brittle.report.blocks import Block, Sentence, Table
from brittle.report.blocks.text import Count, Estimate, TableCell
from brittle.report.blocks.wording import points
from brittle.report.page.label_names import LabelNames
from brittle.report.page.section import Row
from brittle.report.sections.comparisons import verdict
from brittle.report.sections.failure_points import words
from brittle.report.sections.tables import WHO, Titled, bare, count, estimated, pairs, part, table, text, who

MOST_COLUMNS = 8  # severities on the console
MOST_SEVERITIES = 21  # on the page


def briefly(rows: Sequence[Row]) -> Table:
    places = words.places(rows[0])
    return table(
        rows,
        ("", who),
        *[("right at 0", count("correct"))] * words.origin(rows[0]),
        ("mean", words.mean),
        *[("narrowed", bare("refined.mean", places))] * (rows[0]["refined"] is not None),
        ("median", words.median),
        ("never", part("never")),
        ("recovered", count("recovered")),
        noun="classifier",
    )


def along(rows: Sequence[Row]) -> Table:
    """Accuracy per severity; of a long grid some columns."""
    key = "accuracy" if rows[0]["only"] is None else "failed"

    def at(place: int) -> Titled:
        return f"{severities[0][place]['value']:g}", lambda row: Estimate(_thinned(row, MOST_COLUMNS)[place][key])

    severities = [_thinned(row, MOST_COLUMNS) for row in rows]
    columns = map(at, range(len(severities[0])))
    return table(rows, ("", who), *columns, *[("mean drop", words.mean_drop)] * words.drops(rows[0]))


def _thinned(row: Row, most: int) -> list[Row]:
    """Of a fine grid some severities, with both ends."""
    entries = row["severities"]
    wanted = min(len(entries), most)
    return [entries[place * (len(entries) - 1) // max(1, wanted - 1)] for place in range(wanted)]


def about(row: Row) -> Table:
    never = "; paths that never fail count with the last severity" if row["never"] else ""
    saved = f"{words.saved(row)} by {row['classifier']}, whose failed images are not looked at further"
    return pairs(
        ("unit", words.UNITS.get(row["unit"], row["unit"])),
        ("paths", words.how(row)),
        ("mean", f"{words.mean_is(row)}, {words.over(row)}{never}"),
        *([("calls", saved)] if row["calls_saved"] else []),
    )


def in_full(rows: Sequence[Row]) -> Table:
    def recovered(row: Row) -> TableCell:
        return None if row["recovered"] is None else Count(row["recovered"], row["paths"], "path")

    return table(
        rows,
        WHO,
        *[("wrong at 0", count("wrong_at_0", "images"))] * words.origin(rows[0]),
        ("mean failure point", words.mean),
        *[("narrowed", estimated("refined.mean", places=words.places(rows[0])))] * (rows[0]["refined"] is not None),
        ("median", words.median),
        ("never fails", part("never")),
        ("right again after failing", recovered),
        *[("drop, mean over severities, points", words.mean_drop)] * words.drops(rows[0]),
    )


def differences(row: Row) -> list[Titled]:
    def drop(pair: Row) -> Estimate:
        return points(pair, "drop_difference", "drop_interval", signed=True, simultaneous=pair["family"])

    drops: list[Titled] = [
        ("drop, first − second, all images, points", drop),
        verdict("drops less", "drop_better"),
    ]
    first = "failure point, first − second"
    return [(first, lambda pair: words.difference(row, pair)), verdict("fails later"), *drops * words.drops(row)]


def by_severity(rows: Sequence[Row], names: Mapping[str, LabelNames]) -> Iterator[Block]:
    """Everything known of some classifiers at each severity."""
    whole, drops = rows[0]["only"] is None, words.drops(rows[0])

    def most(entry: Row) -> str:
        named = names[entry["classifier"]]
        return ", ".join(f"{named(fall['label'])} {100 * fall['share']:.0f} %" for fall in entry["falls"][:1])

    shown = _thinned(rows[0], MOST_SEVERITIES)
    yield table(
        [{**entry, "classifier": row["classifier"]} for row in rows for entry in _thinned(row, MOST_SEVERITIES)],
        WHO,
        (rows[0]["unit"], bare("value", 6, format="significant")),
        *[("accuracy", estimated("accuracy"))] * whole,
        *[("drop, points", lambda entry: points(entry, "drop"))] * (whole and drops),
        *[("confidence", estimated("mean_confidence"))] * whole,
        ("failed by then", estimated("failed")),
        ("fail here first", count("first_failures")),
        *[("wrong here", count("wrong"))] * whole,
        *[(key.upper(), bare(key)) for key in ("ece", "nll", "aurc") if whole],
        ("most fall into", most),
        by=0,
    )
    there = len(rows[0]["severities"])
    some = f" {len(shown)} of {there} severities; summary.json has all." if there > len(shown) else ""
    what = "ECE (15 bins), NLL and AURC are of all answers at that severity; they have no interval here."
    if note := f"{what if whole else ''}{some}".strip():
        yield Sentence(note, "note")


def pooled(averages: Sequence[Row], many_sets: bool) -> Table:
    """The classifiers that lose least over all nuisances first."""
    ordered = sorted(averages, key=lambda each: (each["image_set"], each["drop"] or 0.0))

    def at(place: int) -> Titled:
        title = f"at {ordered[0]['severities'][place]['value']:g}"
        return title, lambda each: Estimate(points(each["severities"][place], "drop").value, places=1)

    return table(
        ordered,
        WHO,
        *[("images", text("image_set"))] * many_sets,
        ("nuisances", lambda each: Count(len(each["nuisances"]))),
        ("drop, points", lambda each: points(each, "drop")),
        *map(at, range(len(ordered[0]["severities"]))),
    )
