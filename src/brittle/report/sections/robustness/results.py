"""The results and comparisons of one robustness measure, or of a part of them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import cached_property

from brittle.report.page.choose_few import some_of
from brittle.report.page.section import Row, Summary


@dataclass(frozen=True)
class RobustnessRows:
    """What robustness says in summary.json."""

    summary: Summary

    @property
    def rows(self) -> list[Row]:
        rows: list[Row] = self.summary["results"]
        return rows

    @property
    def pairs(self) -> list[Row]:
        """Paired comparisons of classifiers."""
        pairs: list[Row] = self.summary["comparisons"]
        return pairs

    @property
    def means(self) -> list[Row]:
        """Means over nuisances, a row per image set and classifier; none of runs that are older than these."""
        means: list[Row] = self.summary.get("means", [])
        return means

    @property
    def first(self) -> Row:
        return self.rows[0]

    @cached_property
    def image_sets(self) -> list[str]:
        return self._names("image_set")

    @cached_property
    def nuisances(self) -> list[str]:
        return self._names("nuisance")

    @cached_property
    def classifiers(self) -> list[str]:
        return self._names("classifier")

    @cached_property
    def shown(self) -> list[str]:
        """The classifiers that are shown with figures and pictures: all, or some by their mean ρ."""
        mean = {name: statistics.fmean(row["rho"] for row in self.of(name)) for name in self.classifiers}
        return some_of(self.classifiers, mean)

    @property
    def best(self) -> str:
        """The classifier with the highest ρ under one nuisance."""
        name: str = max(self.rows, key=lambda row: row["rho"])["classifier"]
        return name

    @property
    def against_best(self) -> list[Row]:
        """The comparisons of the best with every other."""
        return [pair for pair in self.pairs if self.best in (pair["first"], pair["second"])]

    def _names(self, key: str) -> list[str]:
        return list(dict.fromkeys(row[key] for row in self.rows))

    @property
    def worst_of(self) -> int:
        """k of worst-of-k accuracy; 0 where one draw says it all."""
        most: int = max((row["worst_of"] or 0 for row in self.rows), default=0)
        return most if most > 1 else 0

    @property
    def labelled(self) -> bool:
        """Whether every image has a label; otherwise a clean prediction stands in for it."""
        return all(row["reference"] == "label" for row in self.rows)

    @property
    def uneven(self) -> bool:
        """Whether results have different numbers of images or draws: where each stopped at its tolerance."""
        return len({(row["images"], row["samples"]) for row in self.rows}) > 1

    @property
    def compared(self) -> bool:
        return bool(self.pairs)

    def on(self, images: str) -> RobustnessRows:
        return self._where("image_set", images)

    def under(self, nuisance: str) -> RobustnessRows:
        return self._where("nuisance", nuisance)

    def of(self, classifier: str) -> list[Row]:
        return [row for row in self.rows if row["classifier"] == classifier]

    def _where(self, key: str, value: str) -> RobustnessRows:
        return RobustnessRows(
            {
                "results": [row for row in self.rows if row[key] == value],
                "comparisons": [pair for pair in self.pairs if pair[key] == value],
                "means": [row for row in self.means if row.get(key) == value],
            }
        )
