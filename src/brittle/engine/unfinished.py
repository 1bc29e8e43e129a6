"""What a run says before it has ended: the summary of those cells that are finished and can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from brittle.engine.job import Job
from brittle.engine.plan.assignments import Assignment
from brittle.engine.plan.missing import joined_spans
from brittle.engine.store.unit_store import Store
from brittle.engine.view import MeasureView, summary
from brittle.errors import BrittleError
from brittle.measures.base import CLASSIFIER, Cell


class SummarySoFar(NamedTuple):
    """`job` is the part of the run that is finished; `notes` are sentences about what is not."""

    summary: dict[str, Any]
    job: Job
    notes: tuple[str, ...]


@dataclass
class _Kept:
    """What is left of a measure."""

    assignment: Assignment
    whole: bool  # whether nothing was left out


def summary_so_far(job: Job, store: Store) -> SummarySoFar:
    """Measures whose cells are all missing are left out, and so are those that derive what they say from a measure
    which is not whole. Of the others that is kept which can be compared: every classifier under the same nuisances."""
    kept: dict[str, _Kept] = {}
    notes = [f"This run has not ended: {_share_done(job, store)} of its units are done, and what is shown is of these."]
    for name, assignment in job.assignments.items():
        broken: list[str] = []
        cells = list(assignment.cells())
        good = [cell for cell in cells if _finished(MeasureView(job, store, name), store, cell, broken)]
        notes += broken
        derived = all(len(job.plan(cell)) == 0 for cell in cells)
        if not assignment.asked:
            kept[name] = _Kept(assignment, len(good) == len(cells))
        elif derived and not all(kept[read].whole if read in kept else False for read in assignment.reads.values()):
            notes.append(f"Nothing is said of {name} yet: what it is derived from is not finished.")
        elif (cut := _cut(assignment, good)) is None:
            notes.append(f"Nothing is said of {name} yet: none of it is finished.")
        else:
            kept[name] = _Kept(cut, len(good) == len(cells))
            notes += _left_out(assignment, cut)
    if not any(each.assignment.asked for each in kept.values()):
        raise BrittleError("nothing of the run is finished yet", "Wait, or give the command that began it again.")
    part = replace(job, assignments={name: each.assignment for name, each in kept.items()}, _known={})
    return SummarySoFar(summary(part, store), part, tuple(notes))


def _share_done(job: Job, store: Store) -> str:
    cells = [cell for each in job.assignments.values() if each.asked for cell in each.cells()]
    done = sum(span.end - span.first for cell in cells for span in joined_spans(store.done(cell)))
    return f"{done:,} of {sum(len(job.plan(cell)) for cell in cells):,}"


def _finished(view: MeasureView, store: Store, cell: Cell, broken: list[str]) -> bool:
    """Whether all of a cell is there, and can be read."""
    try:
        for _ in view.rows(cell) if view.is_complete(cell) else ():
            pass
        return view.is_complete(cell)
    except (BrittleError, OSError) as error:
        reason = error.what if isinstance(error, BrittleError) else str(error)
        broken.append(f"{' · '.join(filter(None, cell))} is left out: {reason.rstrip('.')}.")
        return False


def _cut(assignment: Assignment, good: Sequence[Cell]) -> Assignment | None:
    """What of a measure is finished for some classifiers alike, as many cells of it as can be; None without any."""
    there, axis = set(good), assignment.axis(CLASSIFIER)
    best: tuple[int, Assignment | None] = (0, None)
    counts = {name: sum(cell.classifier == name for cell in good) for name in axis}
    for least in sorted(set(counts.values()) - {0}):
        names = tuple(name for name in axis if counts[name] >= least)
        under = {
            images: tuple(
                nuisance
                for nuisance in assignment.nuisances_on(images) or ("",)
                if all(Cell(assignment.name, name, images, nuisance) in there for name in names)
            )
            for images in assignment.axis("images")
        }
        cells = len(names) * sum(map(len, under.values()))
        if cells > best[0]:
            best = cells, _with(assignment, names, under)
    return best[1]


def _with(assignment: Assignment, names: Sequence[str], under: dict[str, tuple[str, ...]]) -> Assignment:
    """The same, asked about less."""
    images = tuple(name for name in under if under[name])
    classifiers = tuple(names) if names != ("",) else assignment.classifiers
    if not assignment.names_nuisances or images == ("",):
        kept = {name: assignment.under[name] for name in (images if images != ("",) else assignment.images)}
        return replace(assignment, classifiers=classifiers, images=tuple(kept), under=kept)
    return replace(assignment, classifiers=classifiers, images=images, under={name: under[name] for name in images})


def _left_out(whole: Assignment, cut: Assignment) -> Iterator[str]:
    for sort, every, some in (
        ("classifiers", whole.classifiers, cut.classifiers),
        ("image sets", whole.images, cut.images),
        ("nuisances", whole.nuisances, cut.nuisances),
    ):
        if len(some) < len(every):
            yield f"Of {whole.name} {len(some)} of {len(every)} {sort} are finished and shown."
