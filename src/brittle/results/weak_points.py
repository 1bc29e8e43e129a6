"""The result of `weak_points`: what weak points say, and the draws themselves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray

from brittle.classifiers.restore import restored_afterwards
from brittle.errors import BrittleError
from brittle.results.base import Result
from brittle.samplers.export import to_arviz


class WeakPointsResult(Result, kind="weak-points"):
    """Weak points: what they say, a result per classifier, image set and nuisance, and the draws themselves."""

    @cached_property
    def _draws(self) -> pa.Table:
        """A row per image and kept draw of one classifier on one image set under one nuisance, as they are stored."""
        view = self.run.view(str(self._measure))
        return view.table(view.cell(self["classifier"], self["image_set"], self["nuisance"]))

    @property
    def ids(self) -> list[int]:
        """The images that were sampled, in planned order."""
        return [row["id"] for row in self["per_image"]]

    @property
    def parameters(self) -> list[str]:
        """The names of θ's numbers."""
        return list(self.run.job.nuisances[self["nuisance"]].parameters)

    def theta(self, id: int) -> NDArray[np.float32]:
        """Draws (k, d) of equal weight from p(θ | not ℓ, x) of one image; none where nothing was found."""
        here = self._of(id)
        kept = here.filter(here["found"])
        numbers = kept["theta"].combine_chunks().flatten().to_numpy()
        return np.asarray(numbers.reshape(kept.num_rows, len(self._draws["theta"][0])), np.float32)

    def predicted(self, id: int) -> list[str]:
        """The label (k,) that the classifier gives at each of those draws."""
        here, labels = self._of(id), self.run.job.facts[self["classifier"]].labels
        return [labels[label] for label in here.filter(here["found"])["predicted"].to_pylist()]

    def to_arviz(self) -> Any:
        """The kept draws as an arviz.InferenceData, chain by chain; a population is a single chain of equal weights."""
        chains = len(set(self._draws["chain"].to_pylist()))
        kept = self._draws.num_rows // len(self.ids)
        shape = (len(self.ids), chains, kept // chains)
        numbers = self._draws["theta"].combine_chunks().flatten().to_numpy()
        found = torch.from_numpy(self._draws["found"].to_numpy().copy()).view(shape)
        return to_arviz(
            torch.from_numpy(numbers.copy()).view(*shape, -1),
            self.parameters,
            self.ids,
            log_likelihood=torch.from_numpy(self._draws["log_p_other"].to_numpy().copy()).view(shape),
            log_weight=torch.where(found, 0.0, -torch.inf),
        )

    def picture(self, path: str | Path, images: int | Sequence[int] = 8) -> Path:
        """Writes a picture (PNG, or what the name ends in): images and what the classifier takes them for when they
        are transformed, as in Fawzi & Frossard's figure 2. `images`: how many, or their ids."""
        # matplotlib, when something is drawn
        from brittle.report.page.loaded import loaded_of
        from brittle.report.sections.weak_points.strips import write_weak_points

        if not isinstance(images, int):
            for id in images:
                self._of(id)
        with restored_afterwards(self.run.job.classifiers.values()):
            write_weak_points(Path(path), loaded_of(self.run), self, self._draws, images)
        return Path(path)

    def _of(self, id: int) -> pa.Table:
        here = self._draws.filter(pc.equal(self._draws["image"], id))
        if not here.num_rows:
            raise BrittleError(f"there is no image {id} among those sampled", f"Known: {self.ids[:20]}.")
        return here
