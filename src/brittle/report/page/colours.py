"""One colour and one marker per classifier, the same in every table, figure and gallery of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# Okabe & Ito's colour-blind-safe palette without yellow, which is lost on white.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", ":", "-.")


class ClassifierLook(NamedTuple):
    """How a classifier is drawn; past seven classifiers colours repeat with another line style."""

    colour: str
    marker: str
    dashes: str

    @property
    def swatch(self) -> str:
        """The CSS of a square beside its name, filled as its markers are: no two of four times seven look alike."""
        half = f"{self.colour} 50%,transparent 50%"
        return {
            "-": f"background:{self.colour}",
            "--": f"box-shadow:inset 0 0 0 2px {self.colour}",
            ":": f"background:linear-gradient(90deg,{half});box-shadow:inset 0 0 0 1px {self.colour}",
            "-.": f"background:linear-gradient({half});box-shadow:inset 0 0 0 1px {self.colour}",
        }[self.dashes]


def looks(classifiers: Sequence[str]) -> dict[str, ClassifierLook]:
    count = len(OKABE_ITO)
    return {
        name: ClassifierLook(OKABE_ITO[place % count], MARKERS[place % count], DASHES[place // count % len(DASHES)])
        for place, name in enumerate(classifiers)
    }
