"""Which weights images come from: hashes of what the files of a pipeline, of learned words and of sliders hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from brittle.diffusion.collection import sliders_in
from brittle.diffusion.tokens import TokenFile, tokens_in
from brittle.errors import BrittleError
from brittle.files import real_path


def weights_hash(place: str) -> str:
    """A hash of the weights in a folder, wherever it lies; the name of what is not on this machine."""
    folder = Path(real_path(place))
    files = sorted(folder.rglob("*.safetensors")) if folder.is_dir() else []
    return contents_hash({str(file.relative_to(folder)): file for file in files}) if files else place


@dataclass(frozen=True)
class WeightFiles:
    """The files that images rest on besides a pipeline."""

    sliders: Mapping[tuple[str, str], Path]  # by class in lower case and shift
    tokens: Mapping[str, TokenFile]  # by class in lower case

    @classmethod
    def of(cls, sliders: str | None, tokens: str | None) -> WeightFiles:
        return cls(sliders_in(sliders) if sliders else {}, tokens_in(tokens) if tokens else {})

    def hash(self, name: str, shifts: Iterable[str]) -> str:
        """Of the files behind the images of a class under shifts that are added; "" where there are none."""
        files = {shift: self.sliders[name.lower(), shift] for shift in shifts}
        if self.tokens:
            files[""] = self.tokens[name.lower()].file
        return contents_hash(files) if files else ""


def contents_hash(files: Mapping[str, Path]) -> str:
    """A hash of what files hold, and of what they are called here."""
    digest = hashlib.blake2b(digest_size=12)
    for name, file in sorted(files.items()):
        digest.update(name.encode())
        try:
            there = file.stat()
            digest.update(_content(str(file), there.st_size, there.st_mtime_ns))
        except OSError as error:
            raise BrittleError(f"{file} can't be read: {error.strerror}", "Check the path.") from error
    return digest.hexdigest()


@lru_cache(maxsize=1 << 16)
def _content(file: str, size: int, changed: int) -> bytes:
    """Read again only where a file's size or time is another: weights are gigabytes."""
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
