"""What a benchmark costs, before it begins: images, passes of the denoiser, and hours at a rate measured here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from brittle.device import pick_device
from brittle.diffusion.sampling import late_steps
from brittle.measures.generate.measure import Generate
from brittle.memory import halving


@dataclass(frozen=True)
class GenerationCost:
    """Of a whole benchmark, whatever of it is there already."""

    files: int  # images as written: that at scale 0 once for every shift
    images: int  # that are made
    passes: int  # of the denoiser, each over one image
    device: str
    passes_per_second: float | None = None  # None where nothing was measured
    images_per_second: float | None = None  # decoded
    batch: int | None = None  # that they were measured with

    @property
    def hours(self) -> float | None:
        if self.passes_per_second is None or self.images_per_second is None:
            return None
        return (self.passes / self.passes_per_second + self.images / self.images_per_second) / 3600

    @property
    def values(self) -> dict[str, Any]:
        return {**asdict(self), "hours": self.hours}

    def __str__(self) -> str:
        said = f"{self.images:,} images ({self.files:,} files), {self.passes:,} passes of the denoiser"
        if self.hours is None or self.passes_per_second is None:
            return said
        return f"{said}: {_time(self.hours)} on {self.device} at {self.passes_per_second:,.0f} passes a second"


def counted(measure: Generate, device: str) -> GenerationCost:
    """What follows from the options alone."""
    steps = measure.steps or 1
    late = late_steps(steps, 0.0 if measure.active is None else measure.active)
    origins = len(measure.classes) * (measure.seeds or 0)
    moved = origins * len(measure.shifts) * len(measure.scales)
    passes = (measure.passes // steps) * (origins * steps + moved * late)
    shifts = len(measure.shifts)
    return GenerationCost(origins * max(1, shifts) + moved, origins + moved, passes, device)


def generation_cost(measure: Generate, device: str | None = None) -> GenerationCost:
    """The same with a rate: a few passes of a batch as large as will be used."""
    place = pick_device(device)
    plain = counted(measure, str(place))
    generator = measure.generator.on(place)
    (passes, images), batch = halving(generator.rates, min(measure.at_once, max(1, plain.images)))
    return GenerationCost(plain.files, plain.images, plain.passes, plain.device, passes, images, batch)


def _time(hours: float) -> str:
    if hours < 1 / 60:
        return f"{hours * 3600:.0f} seconds"
    number, noun = (hours * 60, "minute") if hours < 2 else (hours, "hour")
    return f"{number:,.0f} {noun}{'' if round(number) == 1 else 's'}"
