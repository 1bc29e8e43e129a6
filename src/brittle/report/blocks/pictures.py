"""Pictures as data: where each comes from, and what classifiers said of it."""

from __future__ import annotations

from typing import Literal

from brittle.report.blocks.base import piece
from brittle.report.blocks.text import Text


@piece
class Original:
    """An image as it is."""

    image_set: str
    image: int  # its id


@piece
class Drawn:
    """An image under a draw of the prior, or at a severity along its path; `within` numbers further θ of the draw.
    Where a measure draws by itself, `stream` names its random numbers, and the nuisance is written as in a study."""

    image_set: str
    image: int
    nuisance: str
    draw: int
    severity: float | None = None
    within: int | None = None
    classifier: str = ""  # as this one saw it, where that differs by classifier
    stream: str = ""


@piece
class At:
    """An image under some θ, or at a severity along the path of it."""

    image_set: str
    image: int
    nuisance: str
    theta: tuple[float, ...]
    severity: float | None = None
    classifier: str = ""


@piece
class Pixels:
    """What can't be made again from the study: the picture itself, as a data URI."""

    uri: str


Source = Original | Drawn | At | Pixels


@piece
class Answer:
    """What a classifier said of a picture: the class in words, and as it counts classes, to be confirmed."""

    classifier: str
    label: str
    probability: float
    right: bool
    predicted: int | None = None  # None: not to be confirmed
    first: bool = False  # its first failure


@piece
class Card:
    """A picture with what stands above and beneath it; none where there is nothing to be seen."""

    source: Source | None
    caption: Text
    alt: str = ""
    answers: tuple[Answer, ...] = ()
    beneath: Text = ""
    role: Literal["", "wrong", "fails"] = ""


@piece
class Strip:
    """Pictures in a row; `text` says something of them all, `badge` why they can't be trusted."""

    cards: tuple[Card, ...]
    text: Text = ""
    badge: str = ""
