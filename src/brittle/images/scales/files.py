"""What image sets in scales whose pictures are files have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from brittle.files import printable
from brittle.images.folder import FolderReader, channels_of, in_threads, is_readable
from brittle.images.limits import MEGAPIXELS
from brittle.images.scales.gather import ShiftOptions
from brittle.registry import option


@dataclass(frozen=True, kw_only=True)
class FileOptions(ShiftOptions):
    """How files are read."""

    unreadable: Literal["stop", "skip"] = option(
        "stop", "stop at a damaged file, or check all files first and leave out the paths of damaged ones"
    )
    megapixels: float = option(MEGAPIXELS, "most pixels an image may have, in millions; more is refused", above=0)

    def damaged(self, root: Path, files: Sequence[str]) -> set[str]:
        """The files that are left out because they can't be read; without unreadable=skip none is looked for."""
        if self.unreadable == "stop":
            return set()
        readable = in_threads(lambda file: is_readable(root / file, self.megapixels), files)
        return {file for file, fine in zip(files, readable, strict=True) if not fine}


@dataclass(frozen=True, kw_only=True)
class ResizedOptions(FileOptions):
    """How files are read that may be brought to another size."""

    size: int | None = option(None, "resize the shorter side to this many pixels (bilinear)", least=1)
    crop: int | None = option(None, "crop the central square of this many pixels, after resizing", least=1)
    channels: Literal["auto", "rgb", "grey"] = option("auto", "rgb, grey, or auto: grey if no file has colour")

    def reader(self, root: Path, files: Sequence[str]) -> FolderReader:
        channels = channels_of(root, files, self.channels, self.megapixels)
        return FolderReader(root, tuple(files), self.size, self.crop, channels, self.megapixels)


def some(names: Sequence[str], most: int = 3) -> str:
    """The first few of some names of files."""
    return ", ".join(map(printable, names[:most])) + (", …" if len(names) > most else "")
