"""Cautions: at most three serious ones above the numbers, a line each, and all of them beside what they are about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from brittle.report.page.loaded import LoadedRun
from brittle.report.page.words import listed, sentence, unreadable

SERIOUS = 3  # above the numbers
ONE_LINE = 110  # characters
ALIKE = 2  # cautions from which on those that differ in names and numbers alone are merged

_PARTICULARS = re.compile(r"'[^']*'|\S*[:=]\S*|[\d.,]+")


class Caution(NamedTuple):
    """What stands in full somewhere, in one line, and where that is."""

    line: str
    anchor: str


class MergedCaution(NamedTuple):
    """A caution, and others that say the same of other things."""

    text: str
    others: Sequence[str] = ()


class PlacedCautions(NamedTuple):
    """`of`: by measure; "" those that are about no measure alone."""

    serious: Sequence[Caution]
    more: int  # that are not among the serious ones
    of: Mapping[str, Sequence[MergedCaution]]


def placed(
    run: LoadedRun, first: Sequence[str], own: Mapping[str, Sequence[str]], anchors: Mapping[str, str]
) -> PlacedCautions:
    """`first` come before all else; `own` are the cautions that sections give, by measure; `anchors` say where those of
    a measure stand. Those of the measure that the first screen shows, which is the first of `own`, come before those
    of others, which are never serious."""
    by_measure = {name: [sentence(text) for text in texts] for name, texts in run.summary.get("warned", {}).items()}
    attributed = {text for texts in by_measure.values() for text in texts}
    whole = [text for text in map(sentence, filter(None, run.summary["warnings"])) if text not in attributed]
    for name, skipped in run.summary["skipped"].items():
        if skipped:
            whole.append(f"{name}: {unreadable(len(skipped))} left out: {listed(skipped, 3)}.")
    of = {"": merged([*first, *whole])}
    for name, texts in own.items():
        of[name] = merged([*by_measure.get(name, ()), *texts])
    shown = next(iter(own), "")
    ranked = [Caution(one_line(each), anchors[name]) for name in dict.fromkeys(("", shown)) for each in of[name]]
    return PlacedCautions(ranked[:SERIOUS], sum(map(len, of.values())) - len(ranked[:SERIOUS]), of)


def merged(texts: Iterable[str]) -> list[MergedCaution]:
    """Cautions that differ in names and numbers alone become one."""
    alike: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(_PARTICULARS.sub("#", text), []).append(text)
    found: list[MergedCaution] = []
    for group in alike.values():
        found += [MergedCaution(group[0], group[1:])] if len(group) >= ALIKE else map(MergedCaution, group)
    return found


def one_line(caution: MergedCaution) -> str:
    """The beginning of a caution, as far as a line holds, and how many others are like it."""
    text = caution.text
    if len(text) > ONE_LINE:
        cut = text[:ONE_LINE]
        text = (cut[: cut.rindex(" ", ONE_LINE // 2)] if " " in cut[ONE_LINE // 2 :] else cut).rstrip(",;:") + " …"
    return in_full(caution._replace(text=text))


def in_full(caution: MergedCaution) -> str:
    """A caution, and how many others are like it."""
    return f"{caution.text} And {len(caution.others)} more like it." if caution.others else caution.text
