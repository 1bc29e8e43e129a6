"""What sections about layers share: a row per layer, classifiers by their layers, words, and an axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from brittle.classifiers.layers import WEIGHTS
from brittle.report.blocks import Block, Group, Sentence
from brittle.report.blocks.figure import Axis, category_axis
from brittle.report.blocks.text import Styled, Text
from brittle.report.page.section import Row, Summary
from brittle.report.page.words import counted, number
from brittle.report.sections.base import BaseSection
from brittle.report.sections.comparisons import FIRST, SECOND
from brittle.report.sections.tables import Titled, table, who

APART = 0.14  # of the distance between two layers, from one classifier to the next
CLEAR = 0.5  # rank correlation below which nothing is said to rise or fall


class LayeredSection(BaseSection):
    """Has results with a row for each layer."""

    listed, per = "results", "layers"


def with_same_layers(rows: Sequence[Row]) -> list[list[Row]]:
    """Results, put together where classifiers have the same layers."""
    alike: dict[tuple[tuple[int, str], ...], list[Row]] = {}
    for row in rows:
        alike.setdefault(tuple((each["number"], each["layer"]) for each in row["layers"]), []).append(row)
    return list(alike.values())


def which(row: Row, there: int) -> str:
    """all 11 layers; 12 of 60 layers, evenly spaced; 3 of 11 layers and 1 set of several, as asked"""
    if row["chosen"] == "all":
        return f"all {there} layers"
    single = sum(not at_once(each) for each in row["layers"])
    sets = len(row["layers"]) - single
    besides = f" and {counted(sets, 'set')} of several" if sets else ""
    return f"{single} of {there} layers{besides}, {row['chosen']}"


def at_once(layer: Row) -> bool:
    """Whether several layers are disturbed at once."""
    return layer["number"] is None


def on_the_way(row: Row, layer: Row) -> bool:
    """Whether it is one layer between input and output, neither the weights nor a set."""
    return not at_once(layer) and bool(layer["number"] != row["last"])


def called(layer: Row) -> str:
    """the weights; the layer conv1; the layers conv1 + fc at once"""
    if at_once(layer):
        return f"the layers {layer['layer'].replace('+', ' + ')} at once"
    return "the weights" if layer["layer"] == WEIGHTS else f"the layer {layer['layer']}"


def moves(correlation: float) -> str:
    """falls (Spearman −0.56)"""
    way = "rises" if correlation > 0 else "falls"
    said = way if abs(correlation) >= CLEAR else "neither clearly rises nor falls"
    return f"{said} (Spearman {number(correlation, 2, '+')})"


def layer_axis(layers: Sequence[Row]) -> Axis:
    """Numbers and names of the layers, and numbers of those in a set."""
    return category_axis([layer_name(each) for each in layers], slanted=True)


def layer_name(layer: Row) -> str:
    if at_once(layer):
        return f"{'+'.join(map(str, layer['members']))} at once"
    return f"{layer['number']} {layer['layer']}"


LAYER: Titled = ("layer", layer_name)


def apart(rows: Sequence[Row], place: int) -> list[float]:
    """Where the layers of one of several classifiers stand on that axis, beside each other."""
    return [at + APART * (place - (len(rows) - 1) / 2) for at in range(len(rows[place]["layers"]))]


def printed_layers(row: Row, of: str, said: Sequence[str], *columns: Titled) -> Group:
    """The layers of one classifier for the console."""
    about = f" on {row['image_set']}, {row['correct']} of {row['images']} images correct: {of}"
    shown = table(row["layers"], LAYER, *columns, noun="layer")
    return Group((Styled(row["classifier"]), about), (shown, *map(Sentence, filter(None, said))))


def printed_pairs(summary: Summary) -> list[tuple[str, Sequence[Row]]]:
    """The comparisons of two classifiers on an image set, layer by layer, and how many hold at once."""
    groups = groupby(summary["comparisons"], lambda pair: (pair["first"], pair["second"], pair["image_set"]))
    every = [list(pairs) for _, pairs in groups]
    at_once = [f", simultaneous over {pairs[0]['family']} comparisons" * (pairs[0]["family"] > 1) for pairs in every]
    return list(zip(at_once, every, strict=True))


def each_layer(row: Row, *columns: Titled) -> Group:
    """The layers of one classifier."""
    note = f"{row['correct']} of {row['images']} images are classified correctly and averaged."
    return Group((who(row),), (table(row["layers"], LAYER, *columns), Sentence(note, "note")))


def compared_layers(title: Text, note: str, pairs: Sequence[Row], *columns: Titled) -> list[Block]:
    """Differences layer by layer; nothing without pairs."""
    shown = table(pairs, LAYER, FIRST, SECOND, *columns)
    return [Group(title, (Sentence(note, "note"), shown))] if pairs else []
