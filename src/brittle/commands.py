"""Commands: how a measure appears on the command line and in Python, said without importing it, and the parameters that
all of them share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Literal

from brittle.registry.options import option

# What users want to know: the panels of `brittle --help`, in this order.
START = "Start here"
ROBUST = "How robust is a classifier?"
BREAKS = "Where does it break?"
LOOKS = "What does it look at?"
INSIDE = "What goes on inside?"
COMPARED = "How do several compare?"
OTHERS = "Measures of other packages"
TABLES = "Reports and tables"
FOLDERS = "Run folders"
BETTER = "Train and harden"
GENERATED = "Generated shifts"
PANELS = (START, ROBUST, BREAKS, LOOKS, INSIDE, COMPARED, OTHERS, BETTER, GENERATED, TABLES, FOLDERS)


@dataclass(frozen=True)
class Command:
    """A command, and a function, that carries out one measure; their parameters are the measure's options and those
    that all share.

    A measure's `options.py` holds one as `COMMAND`; other packages name theirs as entry points "brittle.commands".
    """

    measure: str  # its kind, which is what a user types; in Python with underscores
    about: str  # one line of help
    options: type  # the dataclass of options that the measure inherits
    panel: str = OTHERS
    short: tuple[str, ...] = ()  # shorter names
    images: int | None = None  # how many are measured unless a user says otherwise; None: all
    costly: bool = False  # whether that number also holds in Python, where all are meant otherwise
    images_option: str | None = None  # the measure's own option of how many images, which follows the command's
    against: str = "compare with this classifier, paired; may be repeated"  # help
    nuisance: Literal["required", "optional", "none"] = "required"  # one or more, none or more
    train: bool = False  # whether a user may name the image set that classifiers were trained on
    other_images: str | None = None  # the measure's own option that names another image set of the study
    out: str = "keep the run and its report in this folder"  # help
    reads: Mapping[str, type] = field(default_factory=dict)  # measures it is derived from: their options are its too
    unread: tuple[str, ...] = ()  # those of them that it does not take

    @property
    def function(self) -> str:
        """Its name in Python."""
        return self.measure.replace("-", "_")

    @property
    def left_out(self) -> tuple[str, ...]:
        """The shared parameters that it does not take."""
        offered = {"nuisances": self.nuisance != "none", "train": self.train, "train_count": self.train}
        return tuple(name for name, there in offered.items() if not there)


@dataclass(frozen=True, kw_only=True)
class SubjectOptions:
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
    train_count: int | None = option(None, "how many of these; as many as of the others by default", least=1)


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """Which images, which draws, in which numbers, and where to."""

    count: int | None = option(None, "how many images, drawn by the seed; all by default", least=1)
    where: tuple[str, ...] = option((), "only images with column=value, or column>0.5; may be repeated")
    columns: str | None = option(None, "a CSV or Parquet file with id or name, and columns for conditions (where)")
    ids: str | None = option(None, "only images with these ids: 3/17/240, or those in this text file")
    seed: int = option(0, "the seed of every random draw")
    precision: Literal["float32", "tf32", "bf16"] = option(
        "float32", "numbers that torch modules compute in; what others change is measured and printed"
    )
    compile: Literal["auto", "yes", "onnx", "no"] = option(
        "auto",
        "whether torch modules and nuisances are compiled, or modules exported to onnxruntime (onnx); auto: the former "
        "on a GPU, the latter on a CPU, for work that takes long enough",
    )
    out: str | None = option(None, "keep the run and its report in this folder; the same again resumes it")


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Where the work is done."""

    device: str | None = option(None, "where it runs: cpu, cuda, cuda:1 …; a GPU where there is one")


@dataclass(frozen=True, kw_only=True)
class ExecutionOptions(DeviceOptions):
    """How the work is done, which changes no result."""

    batch: int | None = option(None, "images classified at once", least=1)
    engine: Literal["local", "ray"] = option(
        "local", "what carries it out: local (this process) or ray (several worker processes)"
    )
    address: str | None = option(
        None, "the Ray cluster that carries it out: auto, host:port or ray://host:port; by default one on this machine"
    )
    workers: int | None = option(None, "how many workers ray starts; as many as there is room for by default", least=1)
    time_limit: float | None = option(
        None, "seconds that a unit may take on ray before another worker tries it; no limit by default", above=0
    )
