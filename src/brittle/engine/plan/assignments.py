"""Which measure is asked about what, and which measures it reads: the study's entries, resolved and put in order."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from brittle.engine.plan.scope import with_shifts, within_reads
from brittle.errors import BrittleError
from brittle.measures import measures
from brittle.measures.base import CLASSIFIER, IMAGES, NUISANCE, PATH, Cell, Measure, Read
from brittle.nuisances.shifts import StudyShifts
from brittle.registry import options_of
from brittle.study import MeasureEntry


@dataclass(frozen=True)
class Assignment:
    """A measure, and the names of what it is asked about, also of what its cells do not name: a measure derived from
    others reads them there."""

    name: str
    kind: str
    measure: Measure
    classifiers: tuple[str, ...]
    images: tuple[str, ...]
    under: Mapping[str, tuple[str, ...]]  # image set → the nuisances it is asked about there
    reads: Mapping[str, str]  # by kind: the measure that it reads
    bare: frozenset[str] = frozenset()  # image sets that it also takes where there is no nuisance for them
    asked: bool = True  # False: only there to be read, and carried out as far as readers need it
    notes: tuple[str, ...] = ()  # how what it is asked about differs from what the study says

    @property
    def nuisances(self) -> tuple[str, ...]:
        """Those of all image sets."""
        return tuple(dict.fromkeys(itertools.chain(*self.under.values())))

    def nuisances_on(self, images: str) -> tuple[str, ...]:
        """What its cells name of nuisances on an image set, or where they name none, on any."""
        return self.under.get(images, ()) if self.names_nuisances and images else self.axis(NUISANCE)

    @property
    def names_nuisances(self) -> bool:
        """Whether its cells name a nuisance, or a path in its place."""
        return bool(self.measure.over & {NUISANCE, PATH})

    def axis(self, sort: str) -> tuple[str, ...]:
        """What its cells name of one sort; nothing but "" where they name none."""
        names = {CLASSIFIER: self.classifiers, IMAGES: self.images, NUISANCE: self.nuisances}[sort]
        return names if sort in self.measure.over or (sort == NUISANCE and self.names_nuisances) else ("",)

    def cell(self, classifier: str = "", images: str = "", nuisance: str = "") -> Cell:
        """Its cell; what the measure does not name is left out."""
        over = self.measure.over
        return Cell(
            self.name,
            classifier if CLASSIFIER in over else "",
            images if IMAGES in over else "",
            nuisance if self.names_nuisances else "",
        )

    def may_read(self, cell: Cell, other: Cell) -> bool:
        """Whether another measure's cell is among those that one of its own may read: what both name is the same, and
        what only the other names is something that it is asked about."""
        asked = ((cell.classifier, self.classifiers), (cell.images, self.images), (cell.nuisance, self.nuisances))
        return all(
            not name or (name == own if own else name in names)
            for name, (own, names) in zip(other[1:], asked, strict=True)
        )

    def cells(self) -> Iterator[Cell]:
        """Every cell: image set by image set, nuisance by nuisance."""
        for images in self.axis(IMAGES):
            for nuisance, classifier in itertools.product(self.nuisances_on(images), self.axis(CLASSIFIER)):
                yield Cell(self.name, classifier, images, nuisance)

    def bare_cells(self) -> Iterator[Cell]:
        """Stand for the image sets that the measure also takes without a nuisance; they have no units."""
        for images in self.images:
            if images in self.bare and not self.nuisances_on(images):
                yield self.cell(images=images)


def assign(
    entries: Mapping[str, MeasureEntry],
    classifiers: Sequence[str],
    images: Sequence[str],
    nuisances: Sequence[str],
    trained_on: Mapping[str, str] = MappingProxyType({}),
    shifts: Mapping[str, Sequence[str]] = MappingProxyType({}),
    walked: StudyShifts = StudyShifts({}, {}),
) -> dict[str, Assignment]:
    """Every measure of a study after those that it reads; a required one that the study lacks is added.

    `trained_on` says which image set is the training set of another. One that is only that takes part only where a
    measure names it, or asks for the training sets of its image sets. An image set that comes in scales brings its own
    `shifts`, which are asked about there and nowhere else, in place of the study's nuisances; where a measure names
    nuisances, these are meant on every image set. A measure over paths takes the shifts of `walked` in place of
    nuisances at fixed levels."""
    only_trained_on = set(trained_on.values()) - set(trained_on)
    tested = [name for name in images if name not in only_trained_on]
    brought = {name: tuple(names) for name, names in shifts.items() if names}
    found: dict[str, Assignment] = {}
    for name, entry in entries.items():
        measure = entry.measure
        asked = entry.images or tested
        besides = {each: held for each, held in measure.image_sets(asked, trained_on).items() if each in images}
        usual = tuple(nuisances or _own_nuisances(measure))
        under = {
            each: tuple(entry.nuisances or brought.get(each, usual)) if each in asked or besides[each] else ()
            for each in _union(asked, tuple(besides))
        }
        bare = frozenset(each for each, held in besides.items() if not held)
        chosen = tuple(entry.classifiers or classifiers)
        found[name] = Assignment(name, entry.kind, measure, chosen, tuple(under), under, {}, bare)
    _add_reads(found, entries)
    ordered = {name: with_shifts(each, walked) for name, each in _in_order(found).items()}
    _cover_readers(ordered)
    for name in ordered:
        ordered[name] = within_reads(ordered[name], ordered)
    for each in sorted(ordered.values(), key=lambda one: not one.asked):
        _check_nuisances(each, ordered)
    for name, entry in entries.items():
        _check_restrictions(name, entry, ordered)
    return ordered


def _check_nuisances(assignment: Assignment, found: Mapping[str, Assignment]) -> None:
    """Refuses an image set without a nuisance for it, unless the measure, or one that it is only there for, takes it
    so."""
    takers = [assignment] if assignment.asked else found.values()
    taken = {images for each in takers for images in each.bare}
    sets = assignment.axis(IMAGES)
    lacking = [images for images in sets if not assignment.nuisances_on(images)]
    refused = next((images for images in lacking if images not in taken), None)
    if refused is None and len(lacking) < len(sets):
        return
    if refused is None or len(lacking) == len(sets):
        raise BrittleError(
            f"the measure {assignment.name!r} needs a nuisance, and none is named",
            'Name one, such as affine; in a study, nuisances = ["affine"].',
        )
    others = json.dumps(_without(sets, lacking))
    raise BrittleError(
        f"the measure {assignment.name!r} needs a nuisance for {refused!r}, and none is named",
        f'Name one, such as nuisances = ["affine"], or leave the set out: images = {others}.',
    )


def _without(names: Sequence[str], others: Sequence[str]) -> list[str]:
    return [name for name in names if name not in others]


def _check_restrictions(name: str, entry: MeasureEntry, found: Mapping[str, Assignment]) -> None:
    """Refuses a restriction that would change nothing: the measure names no such thing, nor does what it reads."""
    over = _sorts_named(found[name], found)
    for sort, key in ((CLASSIFIER, "classifiers"), (IMAGES, "images"), (NUISANCE, "nuisances")):
        if getattr(entry, key) and sort not in over and not (sort == NUISANCE and PATH in over):
            raise BrittleError(
                f"the measure {name!r} can't be restricted to some {key}: it takes none",
                f"Leave {key} = […] out of its entry.",
            )


def _sorts_named(assignment: Assignment, found: Mapping[str, Assignment]) -> frozenset[str]:
    """What its cells name, and those of all that it reads."""
    return assignment.measure.over.union(*(_sorts_named(found[name], found) for name in assignment.reads.values()))


def _own_nuisances(measure: Measure) -> Sequence[str]:
    return measure.nuisances() if measure.over & {NUISANCE, PATH} else ()


def _add_reads(found: dict[str, Assignment], entries: Mapping[str, MeasureEntry]) -> None:
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
                found[chosen] = Assignment(chosen, read.kind, added, (), (), {}, {}, asked=False)
                open_ones.append(chosen)
            if chosen is not None:
                reads[read.kind] = chosen
        useless = next((name for name in named if name not in reads.values()), None)
        if useless is not None:
            kinds = [read.kind for read in reader.measure.reads]
            raise BrittleError(
                f"the measure {reader.name!r} has no use for {useless!r}, which its entry says it reads",
                f"It reads: {', '.join(kinds)}." if kinds else "It reads no other measure.",
            )
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
    if not chosen and read.required and read.kind in found:
        raise BrittleError(
            f"the measure {reader.name!r} reads {read.kind!r} with {_spelled(read.options)}, and the study's has other "
            "options or is of another kind",
            f"Give it those, or give it another name: [measures.NAME] and kind = {found[read.kind].kind!r}.",
        )
    return chosen[0] if len(chosen) == 1 else None


def _fits(measure: Measure, read: Read) -> bool:
    fields = options_of(type(measure))
    return all(getattr(measure, fields[key.replace("_", "-")].name) == value for key, value in read.options.items())


def _spelled(options: Mapping[str, object]) -> str:
    return ", ".join(f"{key.replace('_', '-')} = {value!r}" for key, value in options.items()) or "its defaults"


def _cover_readers(found: dict[str, Assignment]) -> None:
    """What is only there to be read covers what its readers are asked about; they come after it."""
    for reader in reversed(list(found.values())):
        reader = found[reader.name]
        for name in reader.reads.values():
            read = found[name]
            if not read.asked:
                found[name] = replace(
                    read,
                    classifiers=_union(read.classifiers, reader.classifiers),
                    images=_union(read.images, reader.images),
                    under=_union_of_nuisances(read, reader),
                )


def _union_of_nuisances(read: Assignment, reader: Assignment) -> dict[str, tuple[str, ...]]:
    """What a measure is asked about on each image set, and what its reader is; what is its own where neither is."""
    own = tuple(_own_nuisances(read.measure))
    added = {images: _union(read.under.get(images, ()), names or own) for images, names in reader.under.items()}
    return {**read.under, **added}


def _union(some: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*some, *others)))


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
