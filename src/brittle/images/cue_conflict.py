"""Cue-conflict stimuli (Geirhos et al. 2019): the shape of one image with the texture of another.

The layout is that of the published stimuli, `cat/cat7-elephant1.png`: a folder per shape, and files that name the image
whose shape and the image whose texture they have. The label is the shape.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from brittle.errors import BrittleError
from brittle.images import register
from brittle.images.base import ClassNameOfEach, ImageSet
from brittle.images.folder import Folder

# The names of the columns are what the measure `cue-conflict` looks for.
SHAPE, TEXTURE, SHAPE_IMAGE, TEXTURE_IMAGE = "shape", "texture", "shape-image", "texture-image"
NAME = re.compile(r"(?P<shape>.*?)(?P<shape_number>\d*)-(?P<texture>.*?)(?P<texture_number>\d*)\.[^.]*")


@register("cue-conflict")
@dataclass(frozen=True)
class CueConflictFolder(Folder):
    """Cue-conflict stimuli in a folder, `cat/cat7-elephant1.png`: label and column `shape` are the shape (cat), column
    `texture` the texture (elephant); `shape-image` and `texture-image` (cat7, elephant1) say which images share one."""

    def load(self) -> ImageSet:
        found = super().load()
        if not found.classes:
            raise BrittleError(
                f"{self.path} has no folder per shape", "Cue-conflict stimuli are named cat/cat7-elephant1.png."
            )
        columns: dict[str, list[str]] = {name: [] for name in (SHAPE, TEXTURE, SHAPE_IMAGE, TEXTURE_IMAGE)}
        for name, label in zip(found.names, found.labels.tolist(), strict=True):
            parts = NAME.fullmatch(name.rpartition("/")[2])
            if parts is None or parts["shape"] != found.classes[label] or parts["texture"] not in found.classes:
                raise BrittleError(
                    f"{name} of {self.path} does not name a shape and a texture that are classes",
                    "Cue-conflict stimuli are named cat/cat7-elephant1.png: a folder per shape, then shape-texture.",
                )
            columns[SHAPE].append(parts["shape"])
            columns[TEXTURE].append(parts["texture"])
            columns[SHAPE_IMAGE].append(parts["shape"] + parts["shape_number"])
            columns[TEXTURE_IMAGE].append(parts["texture"] + parts["texture_number"])
        kept = {key: values for key, values in found.columns.items() if not isinstance(values, ClassNameOfEach)}
        return replace(found, columns=kept | columns)
