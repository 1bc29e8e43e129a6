"""Parameters that several commands share, declared as options are."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Literal

from brittle.registry.options import option


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is measured."""

    classifier: str = option(
        MISSING, "a classifier's spec, such as onnx:model.onnx or mine=bundled:plain", positional=True
    )
    images: str = option(
        MISSING, "an image set's spec, such as folder:photos,size=256,crop=224 or sample", positional=True
    )
    nuisances: tuple[str, ...] = option(
        (),
        "a nuisance's spec, such as affine:alpha=50; may be repeated; image sets in scales bring their own",
        flag="nuisance",
    )
    train: str | None = option(None, "the image set that the classifiers were trained on, drawn from in the same way")
    count: int | None = option(None, "how many images, drawn by the seed; all by default", least=1, also="images")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which images, which other classifiers, which draws, and where to."""

    where: tuple[str, ...] = option((), "only images with column=value, or column>0.5; may be repeated")
    columns: str | None = option(None, "a CSV or Parquet file with id or name, and columns for --where")
    ids: str | None = option(None, "only images with these ids: 3/17/240, or those in this text file")
    against: tuple[str, ...] = option((), "compare with this classifier, paired; may be repeated")
    seed: int = option(0, "of every draw")
    out: str | None = option(None, "keep the run and its report in this folder")


@dataclass(frozen=True, kw_only=True)
class Device:
    """Where the work is done."""

    device: str | None = option(None, "where it runs: cpu, cuda, cuda:1 …; a GPU where there is one")


@dataclass(frozen=True, kw_only=True)
class Execution(Device):
    """How the work is done."""

    batch: int | None = option(None, "images classified at once", least=1)
    engine: Literal["local", "ray"] = option(
        "local", "what carries it out: local (this process) or ray (several worker processes)"
    )
    workers: int | None = option(None, "how many workers ray starts; as many as suit the machine by default", least=1)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """How much of a run that is kept is printed."""

    full: bool = option(False, "print all tables, however long; with --out, a screenful by default")


@dataclass(frozen=True, kw_only=True)
class Output:
    """How results are shown."""

    as_json: bool = option(False, "print one JSON object and nothing else", flag="json")
