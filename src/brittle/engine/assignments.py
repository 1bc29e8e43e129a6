"""Which measure is asked about what, and which measures it reads: the study's entries, resolved and put in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from brittle.errors import BrittleError
from brittle.measures import measures
from brittle.measures.base import CLASSIFIER, IMAGES, NUISANCE, Cell, Measure, Read
from brittle.registry import options_of
from brittle.study import MeasureEntry


@dataclass(frozen=True)
class Assignment:
    """A measure, and the names of what it is asked about; none where it has no use for them."""

    name: str
    kind: str
    measure: Measure
    classifiers: tuple[str, ...]
    images: tuple[str, ...]
    nuisances: tuple[str, ...]
    reads: Mapping[str, str]  # by kind: the measure that it reads
    asked: bool = True  # False: only there to be read, and carried out as far as readers need it

    def cell(self, classifier: str = "", images: str = "", nuisance: str = "") -> Cell:
        """Its cell; what the measure has no use for is left out."""
        over = self.measure.over
        return Cell(
            self.name,
            classifier if CLASSIFIER in over else "",
            images if IMAGES in over else "",
            nuisance if NUISANCE in over else "",
        )


def assign(
    entries: Mapping[str, MeasureEntry],
    classifiers: Sequence[str],
    images: Sequence[str],
    nuisances: Sequence[str],
    training: Iterable[str] = (),
) -> dict[str, Assignment]:
    """Every measure of a study after those that it reads; a required one that the study lacks is added.

    Image sets that are only there to be trained on (`training`) take part only where a measure names them."""
    tested = [name for name in images if name not in set(training)]
    found: dict[str, Assignment] = {}
    for name, entry in entries.items():
        measure = entry.measure
        over = measure.over
        there = nuisances or measure.nuisances()
        _check_restrictions(name, entry, over)
        found[name] = Assignment(
            name,
            entry.kind,
            measure,
            tuple(entry.classifiers or classifiers) if CLASSIFIER in over else (),
            tuple(entry.images or tested) if IMAGES in over else (),
            tuple(entry.nuisances or there) if NUISANCE in over else (),
            {},
        )
    _add_reads(found, entries, {CLASSIFIER: classifiers, IMAGES: tested, NUISANCE: nuisances})
    for each in found.values():
        if NUISANCE in each.measure.over and not each.nuisances:
            raise BrittleError(
                f"the measure {each.name!r} needs a nuisance, and the study names none",
                'Add nuisances = ["affine"] to it.',
            )
    return _in_order(found)


def _check_restrictions(name: str, entry: MeasureEntry, over: frozenset[str]) -> None:
    """Refuses a restriction that would change nothing."""
    sorts = ((CLASSIFIER, "classifiers", entry.classifiers), (IMAGES, IMAGES, entry.images))
    for sort, key, names in (*sorts, (NUISANCE, "nuisances", entry.nuisances)):
        if names and sort not in over:
            raise BrittleError(
                f"the measure {name!r} can't be restricted to some {key}: its cells do not name any",
                f"Leave {key} = […] out of it.",
            )


def _add_reads(
    found: dict[str, Assignment], entries: Mapping[str, MeasureEntry], study: Mapping[str, Sequence[str]]
) -> None:
    """Resolves what each measure reads, those added on the way included."""
    open_ones = list(found)
    while open_ones:
        reader = found[open_ones.pop()]
        named = entries[reader.name].reads if reader.name in entries else ()
        reads: dict[str, str] = {}
        for read in reader.measure.reads:
            chosen = _chosen(reader, read, named, found)
            if chosen is None and read.required:
                chosen = read.kind
                added = measures.make(read.kind, read.options)
                found[chosen] = Assignment(chosen, read.kind, added, (), (), (), {}, asked=False)
                open_ones.append(chosen)
            if chosen is not None:
                reads[read.kind] = chosen
                if not found[chosen].asked:
                    found[chosen] = _widened(found[chosen], reader, study)
        found[reader.name] = replace(found[reader.name], reads=reads)


def _chosen(reader: Assignment, read: Read, named: Sequence[str], found: Mapping[str, Assignment]) -> str | None:
    """The measure of the kind wanted that the entry names, or the only one that could be meant."""
    fitting = [each.name for each in found.values() if each.kind == read.kind and _fits(each.measure, read)]
    chosen = [name for name in fitting if name in named] or fitting
    if len(chosen) > 1 and read.required:
        raise BrittleError(
            f"the measure {reader.name!r} reads {read.kind!r}, of which the study has several: {', '.join(chosen)}",
            f'Name one of them: reads = ["{chosen[0]}"].',
        )
    return chosen[0] if len(chosen) == 1 else None


def _fits(measure: Measure, read: Read) -> bool:
    fields = options_of(type(measure))
    return all(getattr(measure, fields[key.replace("_", "-")].name) == value for key, value in read.options.items())


def _widened(read: Assignment, reader: Assignment, study: Mapping[str, Sequence[str]]) -> Assignment:
    """What is only there to be read covers what its readers are asked about, and all that the study has of what a
    reader does not name."""

    def wide(sort: str, here: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
        more = wanted if sort in reader.measure.over else study[sort]
        return tuple(dict.fromkeys((*here, *more))) if sort in read.measure.over else ()

    return replace(
        read,
        classifiers=wide(CLASSIFIER, read.classifiers, reader.classifiers),
        images=wide(IMAGES, read.images, reader.images),
        nuisances=wide(NUISANCE, read.nuisances, reader.nuisances),
    )


def _in_order(found: Mapping[str, Assignment]) -> dict[str, Assignment]:
    """Readers after what they read, otherwise as the study has them."""
    try:
        TopologicalSorter({name: set(each.reads.values()) for name, each in found.items()}).prepare()
    except CycleError as error:
        raise BrittleError(f"measures read one another in a circle: {' → '.join(error.args[1])}") from error
    return {name: found[name] for name in sorted(found, key=lambda each: _level(each, found))}


def _level(name: str, found: Mapping[str, Assignment]) -> int:
    """0 for a measure that reads nothing, otherwise one more than those it reads."""
    return max((1 + _level(each, found) for each in found[name].reads.values()), default=0)
