"""Answers: images are gathered, changed and classified, and outcomes read off; the one place where measures ask.

A measure says which images, where each is changed, and how; it never calls a classifier for an outcome itself. What
stands behind this step (a compiled graph, a classifier on another machine) does not concern it. A classifier that
answers later is not waited for here: its answers stay pending until a measure's tables are fetched, so that the next
batches, and the next units, are asked about meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from brittle.errors import BrittleError, foreign
from brittle.measures.graphs import Graphs, change_in_numbers
from brittle.measures.lanes import lane_size
from brittle.measures.outcomes import Outcome, joined, outcome
from brittle.memory import out_of_memory, slices
from brittle.types import AnswersLater, Batch, Classifier

T = TypeVar("T")

At = Mapping[str, Tensor]  # (R, …) each: where R images are changed, such as the number of a draw, θ, a severity
Notes = Mapping[str, Tensor]  # (R, …) each: what is known of changed images once they are made
PendingOutcome = Callable[[], Outcome]  # (R,) to be waited for, if need be


class Change(Protocol):
    """What is done to images before a classifier sees them."""

    @property
    def traceable(self) -> bool:
        """Whether `make` may become part of a compiled graph: tensors alone decide what it does."""
        ...

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        """Images (B, C, H, W) changed, each as the values (B, …) of `at` say."""
        ...


PendingLogProbs = Callable[[], Tensor]  # (R, K) to be waited for, if need be


class PendingAnswers(NamedTuple):
    """What classifiers say of R changed images, and what is known of these."""

    outcomes: Mapping[str, PendingOutcome]
    notes: Notes


def _known(value: T) -> T:
    return value


def _first(pending: PendingOutcome, own: int) -> Outcome:
    """The outcomes of what is not padding."""
    return pending().take(slice(own))


def _collected(parts: Sequence[PendingOutcome]) -> Outcome:
    return joined([part() for part in parts])


def _waited(who: str, pending: PendingLogProbs) -> Tensor:
    """An answer that is waited for; what goes wrong only then is that classifier's too."""
    try:
        return pending()
    except Exception as error:
        if isinstance(error, BrittleError) or out_of_memory(error):
            raise
        raise foreign(who, error) from error


@torch.inference_mode()
def _outcome_later(pending: PendingLogProbs, right: Tensor) -> Outcome:
    return outcome(pending(), right)


def _fetched(parts: Sequence[Outcome]) -> PendingOutcome:
    """Outcomes on their way to the host, which nobody waits for before they are asked for."""
    found = joined(parts)
    if found.rank.device.type != "cuda":
        return lambda: found
    host = found.packed().to("cpu", non_blocking=True)
    arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
    arrived.record()

    def waited() -> Outcome:
        arrived.synchronize()
        return Outcome.unpacked(host)

    return waited


class Portion(NamedTuple):
    """A part of what is asked, of one batch; padded by its first image to the batch's size, where that is wanted."""

    rows: Tensor
    at: At
    own: int  # those that are not padding


@dataclass(frozen=True)
class Answers:
    """Some classifiers' answers about the images of a task."""

    batch: Batch
    classifiers: Mapping[str, Classifier]
    size: int  # images that are classified at once
    tick: Callable[[int], None] = lambda _: None  # told of classifier calls as they are made
    graphs: Graphs = Graphs()

    def all(
        self,
        rows: Tensor,
        at: At,
        change: Change,
        right: Mapping[str, Tensor],
        *,
        padded: bool = False,
        stays: bool = False,
    ) -> PendingAnswers:
        """Of images at `rows` (R,), repeats allowed, what every classifier of `right` says; that names what counts as
        right (B,) for each image of the task. Changed images are made once, and every classifier sees them.

        Where answers decide what is asked next, batches are `padded` to one size: none then depends on how many there
        are. So they are for a compiled classifier, whose graph takes no other. An outcome that `stays` is given on the
        device; any other is on its way to the host."""
        padded = padded or any(name in self.graphs for name in right)
        found: dict[str, list[PendingOutcome]] = {name: [] for name in right}
        notes: dict[str, list[Tensor]] = {}
        for part in self.parts(rows, at, padded=padded):
            said, noted = self._step(part.rows, part.at, change, right)
            for name, each in said.items():
                found[name].append(partial(_first, each, part.own) if padded else each)
            for key, values in noted.items():
                notes.setdefault(key, []).append(values[: part.own])
            self.tick(part.own * len(right))
        outcomes = {
            name: partial(_collected, parts) if stays or name in self._later else _fetched([part() for part in parts])
            for name, parts in found.items()
        }
        return PendingAnswers(outcomes, {key: torch.cat(values) for key, values in notes.items()})

    def submit(self, name: str, rows: Tensor, at: At, change: Change, right: Tensor) -> PendingOutcome:
        """Of one batch of images at `rows` (B,) what a classifier will have said; lanes submit all of theirs before
        they wait for any."""
        said, _ = self._step(rows, at, change, {name: right})
        self.tick(len(rows))
        return said[name]

    def _step(
        self, rows: Tensor, at: At, change: Change, right: Mapping[str, Tensor]
    ) -> tuple[dict[str, PendingOutcome], Notes]:
        """Gather → change → classify → outcome, of images at `rows` (B,) of the batch. No number in a tensor decides
        what is done here."""
        fits = len(rows) in (self.size, lane_size(self.size, rows.device))
        made, notes = self.graphs.changed(change, self.batch.take(rows), at, fits=fits)
        said: dict[str, PendingOutcome] = {}
        # Those that answer later are asked first, and answer while the others compute.
        for name in sorted(right, key=lambda each: each not in self._later) if self._later else right:
            classifier, labels = self.classifiers[name], right[name][rows]
            if name in self._later:
                said[name] = partial(_outcome_later, self._asked(name, made), labels)
            else:
                said[name] = partial(_known, self.graphs.classified(name, classifier, made, labels, fits=fits))
        return said, notes

    def log_probs(self, name: str, rows: Tensor, at: At, change: Change) -> Tensor:
        """log p(c | x) (R, K) of every class, for what an outcome does not say."""
        found = []
        for part in self.parts(rows, at):
            made, _ = change_in_numbers(change, self.batch.take(part.rows), part.at)
            found.append(self._asked(name, made))
            self.tick(part.own)
        return torch.cat([pending() for pending in found])

    def _asked(self, name: str, images: Tensor) -> PendingLogProbs:
        """What a classifier will have said of images (B, C, H, W)."""
        if name in self._later:
            return partial(_waited, f"classifier {name!r}", self._later[name].submit(images))
        return partial(_known, self.classifiers[name].log_probs(images))

    @cached_property
    def _later(self) -> Mapping[str, AnswersLater]:
        """The classifiers whose answers may stay pending."""
        return {name: each for name, each in self.classifiers.items() if isinstance(each, AnswersLater)}

    def of(self, batch: Batch) -> Answers:
        """The same about other images."""
        return replace(self, batch=batch)

    def parts(self, rows: Tensor, at: At, *, padded: bool = False) -> Iterator[Portion]:
        """What is asked, batch by batch."""
        for part in slices(len(rows), self.size):
            own = part.stop - part.start
            lacking = self.size - own if padded else 0
            filled = {name: _filled(values, part, lacking) for name, values in at.items()}
            yield Portion(_filled(rows, part, lacking), filled, own)


def _filled(values: Tensor, part: slice, lacking: int) -> Tensor:
    """A part of values (R, …), and the first of them as often as it takes."""
    if not lacking:
        return values[part]
    return torch.cat((values[part], values[:1].expand(lacking, *values.shape[1:])))
