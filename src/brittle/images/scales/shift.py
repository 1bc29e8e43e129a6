"""A shift whose images are stored: it stands in a nuisance's place, and T_θ x reads the image at the scale θ."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import BrittleError
from brittle.images.base import Reader, shape_of
from brittle.images.pixels import Array, Shape, by_shape, in_bytes, stack
from brittle.random import uniform
from brittle.types import Batch, SeverityScale, in_numbers

ROUNDING = 1e-4  # by which a scale may be off, as scales go through float32
SEEN = 64  # images that the fingerprint looks at


@dataclass(frozen=True, eq=False)
class StoredShift:
    """One shift of an image set in scales. The prior is uniform over its scales."""

    name: str
    scales: tuple[float, ...]  # above 0, rising
    ids: NDArray[np.int64]  # (n,) rising: the images that are stored at every scale
    positions: NDArray[np.int64]  # (n, scales) of the images for the reader
    reader: Reader = field(repr=False)
    files: Sequence[str] = field(repr=False)  # what the images at the reader's positions are called
    benchmark: str = ""  # what it is in a benchmark whose results are published: imagenet-c:fog
    origin: bool = True  # whether there are images at scale 0

    def __post_init__(self) -> None:
        for low, high in pairwise((0.0, *self.scales)):
            if high - low <= 2 * ROUNDING:
                raise BrittleError(
                    f"the shift {self.name!r} has images at scale {low:g} and {high:.6g}, too close to tell apart",
                    f"Let scales differ by more than {2 * ROUNDING:g}.",
                )

    @property
    def severity_scale(self) -> SeverityScale:
        step, limit = (self.scales[0], self.scales[-1]) if self.scales else (1.0, 1.0)
        return SeverityScale("scale", 1.0, self.scales, step, limit, fixed=True)

    @property
    def parameters(self) -> tuple[str, ...]:
        return ("scale",)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset()

    @property
    def differentiable(self) -> bool:
        return False

    def check(self, shape: Shape) -> None:
        """Looks at one image: those of another shape are found when they are read."""
        self._of_shape(self.reader([int(self.positions[0, 0])]), [int(self.positions[0, 0])], shape)

    def exists(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.isin(ids, self.ids)

    def latent(self, batch: Batch) -> int | None:
        return None

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        place = (uniform(keys, 1) * len(self.scales)).long()
        return torch.tensor(self.scales, dtype=torch.float32, device=keys.device)[place]

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        raise BrittleError(f"the shift {self.name!r} has no latent form: its scales are few", "Use another sampler.")

    def identity(self, batch: Batch) -> Tensor:
        return torch.zeros(len(batch.ids), 1, device=batch.ids.device)

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor | None:
        return None

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        if not isinstance(severity, Tensor):
            return torch.full_like(theta, severity)
        return severity.to(theta)[..., None].expand_as(theta)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        scales = theta[:, 0].cpu().numpy()
        moved = np.flatnonzero(np.abs(scales) > ROUNDING)
        if len(moved) < len(scales) and not self.origin:
            raise BrittleError(f"the shift {self.name!r} has no images at scale 0", "Name them: clean=SPEC.")
        if not len(moved):
            return batch.images.clone()
        wanted = self._positions(batch.ids.cpu().numpy()[moved], scales[moved])
        read = self._read(wanted, shape_of(batch.images)).to(batch.images)
        if len(moved) == len(scales):
            return read
        made = batch.images.clone()
        made[torch.from_numpy(moved).to(made.device)] = read
        return made

    def _read(self, wanted: NDArray[np.int64], shape: Shape) -> Tensor:
        """The images at the reader's positions `wanted` (B,). Several draws of an image are often one file."""
        each, where = np.unique(wanted, return_inverse=True)
        if len(each) == len(wanted):
            return self._of_shape(self.reader(wanted.tolist()), wanted.tolist(), shape)
        return self._of_shape(self.reader(each.tolist()), each.tolist(), shape)[torch.from_numpy(where)]

    def _positions(self, ids: NDArray[np.int64], scales: NDArray[np.float32]) -> NDArray[np.int64]:
        """Where the reader has the images of these ids at these scales."""
        stored = np.asarray(self.scales)
        columns = np.abs(scales[:, None] - stored).argmin(1)
        off = np.flatnonzero(np.abs(stored[columns] - scales) > ROUNDING)
        if len(off):
            raise BrittleError(
                f"the shift {self.name!r} is not stored at scale {scales[off[0]]:g}",
                f"Its scales are {', '.join(f'{scale:g}' for scale in self.scales)}: use these severities.",
            )
        rows = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        lacking = np.flatnonzero(self.ids[rows] != ids)
        if len(lacking):
            raise BrittleError(
                f"the shift {self.name!r} lacks scales of the image with the id {int(ids[lacking[0]])}",
                "Set paths=all for the image set: images that some shift lacks are then left out.",
            )
        return np.asarray(self.positions[rows, columns])

    def _of_shape(self, read: Tensor | list[Array], positions: list[int], shape: Shape) -> Tensor:
        """What was read, as one batch (B, C, H, W); images of another shape than their own at scale 0 are named."""
        shapes = [shape_of(read)] * len(read) if isinstance(read, Tensor) else [image.shape for image in read]
        other = next((place for place, each in enumerate(shapes) if tuple(each) != shape), None)
        if other is not None:
            raise BrittleError(
                f"{self.files[positions[other]]} is {_size(shapes[other])} and the same image at "
                f"{'scale 0' if self.origin else 'another scale'} {_size(shape)} (channels × height × width)",
                "Bring them to one size: size=… and crop=… of the image set, or of clean=….",
            )
        return in_numbers(read if isinstance(read, Tensor) else stack(read))

    def describe(self, height: int, width: int) -> str:
        return f"stored images at scale {', '.join(f'{scale:g}' for scale in self.scales)}, each as likely"

    def fingerprint(self) -> bytes:
        """A hash of what is stored: names, scales, ids and the pixels of some images."""
        digest = hashlib.blake2b(repr((self.name, self.scales)).encode(), digest_size=16)
        digest.update(self.ids.tobytes())
        flat = self.positions.reshape(-1)
        seen = flat[np.arange(min(SEEN, len(flat))) * len(flat) // min(SEEN, len(flat))].tolist()
        read = self.reader(seen)
        if isinstance(read, Tensor):
            digest.update(in_bytes(read))
        else:
            for places in by_shape(image.shape for image in read).values():
                digest.update(in_bytes(stack([read[place] for place in places])))
        return digest.digest()


def _size(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape))
