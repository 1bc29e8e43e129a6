"""ImageNet's photographs as one image set, and EfficientNet-Lite with the names of its classes."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.append(str(Path(__file__).resolve().parents[1] / "fawzi2016"))

import efficientnet
from table2 import square

HERE = Path(__file__).resolve().parent
CLASSES = 1000
_PACKED = re.compile(r"(\d{4})-(.+)")  # as papers/urem/lite.py --pack calls them


def labelled(files: Sequence[Path]) -> list[tuple[int, Path]]:
    """Photographs with their labels: the number that a packed file begins with, or the place of a WordNet id, for which
    all thousand must be there."""
    packed = [_PACKED.match(each.name) for each in files]
    if files and all(packed):
        return [(int(match[1]), file) for match, file in zip(packed, files, strict=True) if match]
    if len(files) != CLASSES:
        raise SystemExit(f"there are {len(files)} photographs, one for each of {CLASSES} classes is needed")
    return list(enumerate(sorted(files)))


def written(folder: Path, work: Path, count: int | None = None) -> tuple[str, Path]:
    """The spec of the photographs' middles, 256×256, and a file with the names of all classes."""
    found = labelled(sorted(folder.glob("*.jpg")))
    work.mkdir(parents=True, exist_ok=True)
    names = work / "classes.txt"
    names.write_text("\n".join(_names(found)) + "\n", encoding="utf-8")
    found = found[:count]
    file = work / f"photographs-{len(found)}.npz"
    if not file.exists():
        squares = np.stack([square(Image.open(each).convert("RGB")) for _, each in found])
        np.savez(file, images=squares, labels=np.array([label for label, _ in found]))
    return f"npz:{file},classes={names}", names


def _names(found: Sequence[tuple[int, Path]]) -> list[str]:
    """Two classes are called crane, two maillot; a class without a photograph is called by its number."""
    said = {label: file.stem.partition("_")[2].replace("_", " ") for label, file in found}
    often = Counter(said.values())
    told = {label: name if often[name] == 1 else f"{name} ({label})" for label, name in said.items()}
    return [told.get(label, f"class {label}") for label in range(CLASSES)]


def classifier(name: str, packed: Path | None, names: Path) -> str:
    """The spec of EfficientNet-Lite with the preprocessing that it was trained for."""
    side = efficientnet.SIDES[name]
    prepared = f"size={side + efficientnet.MARGIN},crop={side},interpolation=bicubic"
    scaled = f"range={efficientnet.RANGE},mean={efficientnet.MEAN},std={efficientnet.STD}"
    if packed is None:
        made = f"torch:{HERE.parent}/fawzi2016/efficientnet.py:{name}"
    else:
        made = f"torch:{HERE}/packed.py:{name},weights={packed}/{name}.safetensors"
    return f"{made},{prepared},{scaled},labels={names}"
