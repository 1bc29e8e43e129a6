"""Whether images have the shape that a model says it takes, and which options would give them that."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.errors import BrittleError

CHANNELS = (1, 3, 4)

Shape = Sequence[int | None]  # any size where None stands


def is_channels_last(image: Shape | None) -> bool:
    return image is not None and len(image) == 3 and image[2] in CHANNELS and image[0] not in CHANNELS


def refuse_misfit(who: str, wanted: Shape, got: Sequence[int], layout: str | None) -> None:
    """Refuses images of a shape that a model does not take: (C, H, W), (H, W, C) where the layout is nhwc, or flat."""
    if len(wanted) == len(got) and all(want in (None, have) for want, have in zip(wanted, got, strict=True)):
        return
    remedies = []
    if len(wanted) == len(got) == 3:
        pairs = list(zip(wanted, got, strict=True))
        (channels, given), *sides = (pairs[2], *pairs[:2]) if layout == "nhwc" else pairs
        if channels in (1, 3) and channels != given:
            remedies.append("channels=grey" if channels == 1 else "channels=rgb")
        if any(want not in (None, have) for want, have in sides):
            remedies.append("size=" + "x".join(str(want or have) for want, have in sides))
    raise BrittleError(
        f"classifier {who} takes {_shape_text(wanted)} but gets images of {_shape_text(got)}",
        f"Give {','.join(remedies) or 'size=… or channels=…'}.",
    )


def _shape_text(shape: Shape) -> str:
    return "×".join("any" if size is None else str(size) for size in shape)
