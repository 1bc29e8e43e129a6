"""An afternoon of labelling: the benchmark's images, real examples, and everybody's files."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from brittle.errors import BrittleError
from brittle.generation.encoders import words
from brittle.generation.labels.queue import Queue, QueuedImage, in_order
from brittle.generation.labels.store import LABELS, SUFFIX, ImageLabel, LabelFile, read_labeller
from brittle.generation.stored import StoredImages
from brittle.images.base import ImageSet
from brittle.report.page.pictures import data_uri

LONGEST = 512  # pixels of the longer side that the page gets


@dataclass
class LabellingSession:
    """What the page asks and tells. Requests are answered one at a time."""

    images: StoredImages
    folder: Path  # of the labels
    examples: Mapping[int, Tensor]  # class index → a real image (C, H, W) in [0, 1]
    people_per_image: int
    ask_shift: bool
    _files: dict[str, LabelFile] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._answered: dict[str, set[str]] = {}
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            found = read_labeller(path)
            if found.proxy:
                raise BrittleError(f"{path} holds labels of a proxy", "Keep people's labels in a folder of their own.")
            self._answered[found.name] = set(found.answers)
        self._items = in_order(self.images.files, self.examples)
        self._by_name = {each.image: each for each in self._items}
        self._of_file = {each.file: each for each in self.images.files}
        self._queue = Queue(self._items, self.people_per_image, self._answered)

    def next(self, person: str) -> dict[str, Any]:
        """The next image for a person, and how far they are."""
        with self._lock:
            self._file(person)
            return self._shown(person, self._queue.next(person))

    def answer(self, person: str, image: str, label: str, shift_visible: bool | None) -> dict[str, Any]:
        """Keeps an answer, and then gives the next image."""
        with self._lock:
            item = self._item(image)
            if label not in LABELS:
                raise BrittleError(f"{label!r} is not a label", f"Give one of {', '.join(LABELS)}.")
            asked = self._asks_shift(item)
            if asked and shift_visible is None:
                raise BrittleError("whether the shift is visible was not answered", "ImageLabel it with y or n.")
            self._file(person).add(ImageLabel(image, label, shift_visible if asked else None))
            self._answered[person].add(image)
            return self._shown(person, self._queue.next(person))

    def back(self, person: str, image: str | None) -> dict[str, Any]:
        """The image that the person answered before this one, or last."""
        with self._lock:
            done = [each for each in self._file(person).labeller.answers if each in self._by_name]
            before = done[: done.index(image)] if image in done else done
            if not before:
                raise BrittleError("there is no image before this one", "Label this one.")
            return self._shown(person, self._queue.show(person, self._by_name[before[-1]]))

    def close(self) -> None:
        for each in self._files.values():
            each.close()

    def _file(self, person: str) -> LabelFile:
        if person not in self._files:
            self._files[person] = LabelFile(self.folder, person)
            self._answered[person] = set(self._files[person].labeller.answers)
        return self._files[person]

    def _item(self, image: str) -> QueuedImage:
        if image not in self._by_name:
            raise BrittleError("that is not an image of this benchmark", "Load the page again.")
        return self._by_name[image]

    def _asks_shift(self, item: QueuedImage) -> bool:
        return self.ask_shift and not item.is_example and item.scale > 0

    def _shown(self, person: str, item: QueuedImage | None) -> dict[str, Any]:
        labelled = sum(image in self._by_name for image in self._answered[person])
        found: dict[str, Any] = {"person": person, "labelled": labelled, "left": self._queue.left(person)}
        if item is None:
            return found | {"item": None}
        given = self._files[person].labeller.answers.get(item.image)
        return found | {
            "item": {
                "image": item.image,
                "class": words(item.name),
                "example": item.is_example,
                "shift": words(item.shift),
                "ask_shift": self._asks_shift(item),
                "uri": data_uri(self._pixels(item), LONGEST),
                "example_uri": self._example_uri(item),
                "answer": None if given is None else {"label": given.label, "shift_visible": given.shift_visible},
            }
        }

    def _pixels(self, item: QueuedImage) -> Tensor:
        if item.is_example:
            return self.examples[item.label]
        return self.images.pixels([self._of_file[item.image]])[0]

    def _example_uri(self, item: QueuedImage) -> str | None:
        known = item.label in self.examples and not item.is_example
        return data_uri(self.examples[item.label], LONGEST) if known else None


def examples_of(images: ImageSet, classes: Mapping[int, str]) -> dict[int, Tensor]:
    """Of every class, the first image of a set of real ones that has its label: by the class's name where the set's
    classes have names that match, otherwise by its index."""
    names = [words(each).lower() for each in images.classes]
    called = {index: words(name).lower() for index, name in classes.items()}
    by_name = {index: names.index(name) for index, name in called.items() if name in names}
    found = {}
    labels = images.labels.tolist()
    for index in classes:
        wanted = by_name.get(index) if by_name else index
        if wanted in labels:
            found[index] = images.batch([labels.index(wanted)]).in_numbers().images[0]
    return found
