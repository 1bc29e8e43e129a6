"""What `brittle.sample` gives back: the summary that the command line prints, and the draws themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
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
        return np.asarray(numbers.reshape(kept.num_rows, -1), np.float32)

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

    def _of(self, id: int) -> pa.Table:
        here = self.rows.filter(pa.compute.equal(self.rows["image"], id))
        if not here.num_rows:
            raise BrittleError(f"there is no image {id} among those sampled", f"There is: {self.ids[:20]}.")
        return here
