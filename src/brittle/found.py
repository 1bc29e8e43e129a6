"""What `brittle.sample` gives back: the summary that the command line prints, and the draws themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray

from brittle.engine.job import Job
from brittle.errors import BrittleError
from brittle.samplers.export import to_arviz


@dataclass(frozen=True)
class Found:
    """Weak points of one classifier on one image set under one nuisance."""

    summary: dict[str, Any]  # what `brittle sample --json` prints
    rows: pa.Table  # a row per image and kept draw
    job: Job

    @property
    def ids(self) -> list[int]:
        """The images that were sampled, in planned order."""
        return [row["id"] for row in self.summary["per_image"]]

    @property
    def parameters(self) -> list[str]:
        """The names of θ's numbers."""
        return list(next(iter(self.job.nuisances.values())).parameters)

    def theta(self, id: int) -> NDArray[np.float32]:
        """Draws (k, d) of equal weight from p(θ | not ℓ, x) of one image; none where nothing was found."""
        here = self._of(id)
        kept = here.filter(here["found"])
        numbers = kept["theta"].combine_chunks().flatten().to_numpy()
        return np.asarray(numbers.reshape(kept.num_rows, len(self.rows["theta"][0])), np.float32)

    def predicted(self, id: int) -> list[str]:
        """The label (k,) that the classifier gives at each of those draws."""
        here = self._of(id)
        labels = next(iter(self.job.classifiers.values())).labels
        return [str(labels[label]) for label in here.filter(here["found"])["predicted"].to_pylist()]

    def to_arviz(self) -> Any:
        """The kept draws as an arviz.InferenceData, chain by chain; a population is a single chain of equal weights."""
        chains = len(set(self.rows["chain"].to_pylist()))
        kept = self.rows.num_rows // len(self.ids)
        shape = (len(self.ids), chains, kept // chains)
        numbers = self.rows["theta"].combine_chunks().flatten().to_numpy()
        found = torch.from_numpy(self.rows["found"].to_numpy().copy()).view(shape)
        return to_arviz(
            torch.from_numpy(numbers.copy()).view(*shape, -1),
            self.parameters,
            self.ids,
            log_likelihood=torch.from_numpy(self.rows["log_p_other"].to_numpy().copy()).view(shape),
            log_weight=torch.where(found, 0.0, -torch.inf),
        )

    def picture(self, path: str | Path, images: int | Sequence[int] = 8) -> Path:
        """Writes a picture (PNG, or what the name ends in): images and what the classifier takes them for when they
        are transformed, as in Fawzi & Frossard's figure 2. `images`: how many, or their ids."""
        from brittle.report.weak_draws import read_draws, shown_images
        from brittle.report.weak_gallery import Called, Subject, strips
        from brittle.report.weak_picture import write_picture

        if isinstance(images, int):
            chosen = shown_images(self.summary["per_image"], images)
        else:
            rows = {row["id"]: row for row in self.summary["per_image"]}
            chosen = [rows[id] for id in images if self._of(id).num_rows]
        if not chosen:
            raise BrittleError("there is no image to show: all are wrong untouched", "Name some by their ids.")
        job, name = self.job, self.summary["nuisance"]
        subject = job.images[self.summary["image_set"]].images
        called = Called(job.classifiers[self.summary["classifier"]].labels, subject.classes)
        made = Subject(subject, job.nuisances[name], job.seed, job.streams[name], called)
        shown = strips(made, chosen, read_draws([self.rows], [row["id"] for row in chosen]))
        write_picture(Path(path), shown, f"Weak points under {name}")
        return Path(path)

    def _of(self, id: int) -> pa.Table:
        here = self.rows.filter(pc.equal(self.rows["image"], id))
        if not here.num_rows:
            raise BrittleError(f"there is no image {id} among those sampled", f"There is: {self.ids[:20]}.")
        return here
