"""Who labels which image next.

Class by class: a real example first, then the generated images by shift and seed with rising scale. An image is shown
to as many people as are wanted, and meanwhile kept for those to whom it was shown, for a while. Nothing here is
remembered beyond the answers themselves, so whoever comes back goes on where they stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from brittle.generation.labels.store import EXAMPLE
from brittle.images.scales.cns import CnsFile

KEPT = 600.0  # seconds that an image is kept for somebody who does not answer


@dataclass(frozen=True)
class QueuedImage:
    """One image to label."""

    image: str
    label: int  # the class's index
    name: str
    shift: str = ""  # where it has a scale above 0
    scale: float = 0.0

    @property
    def is_example(self) -> bool:
        return self.image.startswith(EXAMPLE)


def in_order(files: Iterable[CnsFile], examples: Iterable[int]) -> list[QueuedImage]:
    """What is labelled: an image at scale 0 once, though every shift may have a copy."""
    with_example, found, seen, opened = set(examples), list[QueuedImage](), set[str](), set[int]()
    for each in sorted(files, key=lambda file: (file.label, file.shift, file.seed, file.scale)):
        if each.label not in opened:
            opened.add(each.label)
            if each.label in with_example:
                found.append(QueuedImage(f"{EXAMPLE}{each.label}", each.label, each.name))
        if each.scale == 0:
            if each.key in seen:
                continue
            seen.add(each.key)
        found.append(QueuedImage(each.file, each.label, each.name, each.shift if each.scale else "", each.scale))
    return found


@dataclass
class Queue:
    """The images, what has been answered, and what is being looked at."""

    items: Sequence[QueuedImage]
    people_per_image: int
    answered: Mapping[str, set[str]]  # person → images, kept up to date by whoever stores answers
    clock: Callable[[], float] = time.monotonic
    _looking: dict[str, tuple[str, float]] = field(default_factory=dict)  # person → their image, and since when

    def show(self, person: str, item: QueuedImage) -> QueuedImage:
        """The item, which the person now looks at."""
        self._looking[person] = item.image, self.clock()
        return item

    def next(self, person: str) -> QueuedImage | None:
        """The first image that the person has not labelled and that too few others have, or look at."""
        mine = self.answered.get(person, set())
        for item in self.items:
            if item.image not in mine and (item.is_example or self._others(item, person) < self.people_per_image):
                return self.show(person, item)
        self._looking.pop(person, None)
        return None

    def left(self, person: str) -> int:
        """How many images the person may still be shown, judging by what others have done so far."""
        mine = self.answered.get(person, set())
        open_items = [each for each in self.items if each.image not in mine and not each.is_example]
        return sum(self._others(each, person) < self.people_per_image for each in open_items)

    def _others(self, item: QueuedImage, person: str) -> int:
        done = sum(item.image in images for name, images in self.answered.items() if name != person)
        return done + sum(
            image == item.image and self.clock() - since < KEPT and image not in self.answered.get(name, ())
            for name, (image, since) in self._looking.items()
            if name != person
        )
