"""Cue-conflict stimuli made of FashionMNIST: the shape of one image with the texture of another (section 2.1).

The stimuli of Geirhos et al. (2019) are photographs, which networks trained on FashionMNIST can't be asked about. Here
the shape is a piece's silhouette, all that is not background; the texture is made of the inside of another piece:
small squares of it, all from within its silhouette as far as possible, are laid at random places until nothing is left
bare, and the result fills the silhouette. A square is 7 pixels wide, less than what BagNet-9 sees at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label as regions

from brittle.classifiers.bundled import FASHION_LABELS
from brittle.images.cue_conflict import SHAPE, SHAPE_IMAGE, TEXTURE, TEXTURE_IMAGE
from brittle.images.idx import read_idx

Image = NDArray[np.uint8]
SQUARE = 7  # pixels wide
LAID = 200  # squares
BACKGROUND = 16  # the brightest that it is, of 255
SPECK = 8  # pixels: dark spots that are smaller belong to the piece
OF_EACH = 20  # images of each class, as shapes and as textures
SEED = 29
COLUMNS = (SHAPE, TEXTURE, SHAPE_IMAGE, TEXTURE_IMAGE)


def silhouette(piece: Image) -> NDArray[np.bool_]:
    """Where the piece is (H, W): what is brighter than the background, and small dark spots within it."""
    shown = piece > BACKGROUND
    spots, _ = regions(~shown)
    small = np.bincount(spots.ravel()) < SPECK
    return shown | small[spots]


def texture(piece: Image, draw: np.random.Generator) -> Image:
    """An image (H, W) full of the piece's inside."""
    inside = np.lib.stride_tricks.sliding_window_view(silhouette(piece), (SQUARE, SQUARE)).mean((2, 3))
    fullest = np.argwhere(inside >= min(1.0, inside.max()))
    height, width = piece.shape
    made = np.zeros((height + 2 * SQUARE, width + 2 * SQUARE), np.uint8)
    bare = np.ones(made.shape, bool)
    for top, left in _places(made.shape, draw):
        y, x = fullest[draw.integers(len(fullest))]
        made[top : top + SQUARE, left : left + SQUARE] = piece[y : y + SQUARE, x : x + SQUARE]
        bare[top : top + SQUARE, left : left + SQUARE] = False
    middle = slice(SQUARE, SQUARE + height), slice(SQUARE, SQUARE + width)
    assert not bare[middle].any()
    return made[middle]


def _places(shape: tuple[int, ...], draw: np.random.Generator) -> list[tuple[int, int]]:
    """Where squares are laid, one after another: a grid first, so that nothing stays bare, then anywhere."""
    grid = [(y, x) for y in range(0, shape[0] - SQUARE + 1, SQUARE) for x in range(0, shape[1] - SQUARE + 1, SQUARE)]
    anywhere = draw.integers(0, np.asarray(shape) - SQUARE + 1, (LAID, 2))
    return grid + [(int(y), int(x)) for y, x in anywhere]


def drawn(labels: NDArray[Any], of_each: int) -> list[NDArray[np.int64]]:
    """By class, images chosen at random: first those that lend their shapes, then as many that lend their textures."""
    draw = np.random.default_rng(SEED)
    return [draw.permutation(np.flatnonzero(labels == each))[: 2 * of_each] for each in range(len(FASHION_LABELS))]


def crossed(pieces: Image, chosen: list[NDArray[np.int64]], fields: list[list[Image]]) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file: the shape of each piece with the texture of one of every other class."""
    found: dict[str, list[Any]] = {name: [] for name in ("images", "labels", *COLUMNS)}
    for shape, places in enumerate(chosen):
        for number, place in enumerate(places[: len(fields[shape])]):
            within = silhouette(pieces[place])
            for other in range(len(fields)):
                if other != shape:
                    found["images"].append(np.where(within, fields[other][number], 0))
                    found["labels"].append(shape)
                    words = (FASHION_LABELS[shape], FASHION_LABELS[other], f"{shape}-{number}", f"{other}-{number}")
                    for name, word in zip(COLUMNS, words, strict=True):
                        found[name].append(word)
    return {name: np.asarray(values) for name, values in found.items()}


def written(folder: Path, out: Path, of_each: int = OF_EACH) -> tuple[Path, Path]:
    """Two files, made once of FashionMNIST's test images: the stimuli, and their textures without a shape."""
    files = out / f"stimuli-{of_each}.npz", out / f"textures-{of_each}.npz"
    if not all(file.exists() for file in files):
        pieces, labels = (read_idx(folder / f"t10k-{name}-ubyte.gz") for name in ("images-idx3", "labels-idx1"))
        out.mkdir(parents=True, exist_ok=True)
        chosen, draw = drawn(labels, of_each), np.random.default_rng(SEED)
        fields = [[texture(pieces[place], draw) for place in each[of_each:]] for each in chosen]
        np.savez_compressed(files[0], **crossed(pieces, chosen, fields))
        np.savez_compressed(
            files[1],
            images=np.concatenate(fields),
            labels=np.repeat(np.arange(len(fields)), [len(each) for each in fields]),
        )
    return files
