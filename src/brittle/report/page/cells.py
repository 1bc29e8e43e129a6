"""What sections show beside an image set under a nuisance: in full in one place of the page, and linked from others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from markupsafe import Markup

Cell = tuple[str, str]  # image set, nuisance


@dataclass
class CellNotes:
    """Gathers, numbers and remembers them. `gather` asks every section."""

    gather: Callable[[str, str], Iterable[Markup | None]]
    many_sets: bool
    _found: dict[Cell, Markup] = field(default_factory=dict)
    _shown: set[Cell] = field(default_factory=set)

    def beside(self, images: str, nuisance: str) -> Markup:
        """Everything, the first time that it is asked for; then a link to it."""
        found = self._of(images, nuisance)
        if not found or (images, nuisance) in self._shown:
            return self.see(images, nuisance)
        self._shown.add((images, nuisance))
        return Markup('<div class="beside" id="{}">{}</div>').format(self._anchor(images, nuisance), found)

    def see(self, images: str, nuisance: str) -> Markup:
        """A link to what is shown elsewhere; nothing where there is nothing."""
        if not self._of(images, nuisance):
            return Markup()
        name = f"{nuisance} on {images}" if self.many_sets else nuisance
        return Markup('<p class="soft">See also <a href="#{}">what {} does to these images</a>.</p>').format(
            self._anchor(images, nuisance), name
        )

    def rest(self, cells: Iterable[Cell]) -> Iterator[tuple[Cell, Markup]]:
        """What no section has shown."""
        for cell in cells:
            if cell not in self._shown and self._of(*cell):
                yield cell, self.beside(*cell)

    def _of(self, images: str, nuisance: str) -> Markup:
        if (images, nuisance) not in self._found:
            parts = (part for part in self.gather(images, nuisance) if part)
            self._found[images, nuisance] = Markup("\n").join(parts)
        return self._found[images, nuisance]

    def _anchor(self, images: str, nuisance: str) -> str:
        return f"cell-{list(self._found).index((images, nuisance))}"
