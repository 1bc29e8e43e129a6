"""What results share: plain values by key, which print as a table and turn into tables, figures and a report."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from numpy.typing import NDArray

from brittle.engine.carry_out import Done
from brittle.errors import BrittleError, MissingPackage
from brittle.registry import did_you_mean
from brittle.report.console import as_html, as_text, one_measure, one_table
from brittle.report.html import figures as drawn
from brittle.report.html import report_of


class Tables:
    """What was measured as tables and figures, and as a report: `done` is what it was made from."""

    done: Done
    _measure: str | None = None  # the one that is meant where none is named

    @property
    def _said(self) -> dict[str, Any]:
        """What is shown of the run's summary."""
        said = self.done.summary
        return said if self._measure is None else said | {"measures": {self._measure: said["measures"][self._measure]}}

    def table(self, measure: str | None = None) -> pa.Table:
        """What one measure of the study says as a table, one row per result; its name may be left out where there is
        only one."""
        return one_table(self._said if measure is None else self.done.summary, measure)

    def to_pandas(self, measure: str | None = None) -> Any:
        """The same as a pandas DataFrame."""
        if importlib.util.find_spec("pandas") is None:
            raise MissingPackage("pandas", "pandas", "a DataFrame")
        return self.table(measure).to_pandas()

    def report(self, path: str | Path | None = None) -> Path:
        """Writes the report, one HTML file with figures and pictures: to `path`, or into the run folder, where `out`
        has named one."""
        return report_of(self.done, None if path is None else Path(path))

    def plot(self, measure: str | None = None) -> Figure:
        """The first figure that the report has of a measure; a notebook shows it, and `savefig` writes it."""
        found = self.figures(measure)
        if not found:
            raise BrittleError("the report has no figure of this", "Use table(), or rows, for one of your own.")
        return found[0]

    def figures(self, measure: str | None = None) -> list[Figure]:
        """All figures that the report has of a measure."""
        return drawn(self.done, one_measure(self._said if measure is None else self.done.summary, measure))


class Result(Tables, dict[str, Any]):
    """Values by key; `summary` is all that the run says, as in summary.json, and `done` what it was made from."""

    def __init__(self, done: Done, values: dict[str, Any], *, measure: str | None = None) -> None:
        super().__init__(values)
        self.done, self._measure = done, measure
        self.summary = self._said

    def __dir__(self) -> list[str]:
        """What is meant to be used; of a dictionary's methods those that read."""
        own = {name for kind in type(self).__mro__ if issubclass(kind, Tables) for name in vars(kind)}
        return sorted({"get", "items", "keys", "summary", "values", *(name for name in own if name[0] != "_")})

    def __repr__(self) -> str:
        return as_text(self.summary)

    def __str__(self) -> str:
        return as_text(self.summary)

    def _repr_html_(self) -> str:
        return as_html(self.summary)


class Run(Result):
    """A study carried out: `measures`, by name, `warnings`, and what was used."""


class WithRows(Result):
    """What one measure says: the first result, all of them as `results`, and the rows behind them."""

    @classmethod
    def of(cls, done: Done) -> Self:
        (said,) = done.summary["measures"].values()
        beside = {key: value for key, value in said.items() if key != "kind"}
        return cls(done, said["results"][0] | beside | {"warnings": done.summary["warnings"]})

    @property
    def rows(self) -> pa.Table:
        """Every row of the measure, with the classifier's and the nuisance's name first where there are several."""
        return self._table("rows")

    def _table(self, name: str) -> pa.Table:
        (measure,) = self.done.summary["measures"]
        view, parts = self.done.view(measure), []
        for cell in view.cells():
            table = view.table(cell, name).drop_columns("unit")
            if cell.nuisance and len(view.nuisances) > 1:
                table = table.add_column(0, "nuisance", pa.array([cell.nuisance] * table.num_rows))
            if len(view.classifiers) > 1:
                table = table.add_column(0, "classifier", pa.array([cell.classifier] * table.num_rows))
            parts.append(table)
        return pa.concat_tables(parts)

    @property
    def places(self) -> NDArray[np.int64]:
        """The places in the image set of the images that `rows` speaks of."""
        (chosen,) = self.done.job.images.values()
        ids = np.asarray(chosen.whole.ids)
        order = np.argsort(ids)
        return np.asarray(order[np.searchsorted(ids[order], self.rows["image"].to_numpy())])


class Derived(Result):
    """What is derived from another measure of several classifiers: the first result, and all of them as `results`."""

    _derived_from = "failure-points"

    @classmethod
    def of(cls, done: Done, measure: str) -> Self:
        said = done.summary["measures"][measure]
        beside = {key: value for key, value in said.items() if key != "kind"}
        values = said["results"][0] | beside | {"warnings": done.summary["warnings"]}
        return cls(done, values, measure=measure)

    @property
    def rows(self) -> pa.Table:
        """The rows of the measure behind it, with the names of the classifier and the nuisance first."""
        view, parts = self.done.view(self._derived_from), []
        for cell in view.cells():
            table = view.table(cell).drop_columns("unit")
            names = {"nuisance": cell.nuisance, "classifier": cell.classifier}
            for name, value in names.items():
                if value:
                    table = table.add_column(0, name, pa.array([value] * table.num_rows))
            parts.append(table)
        return pa.concat_tables(parts)

    def _of(self, **wanted: str | None) -> list[dict[str, Any]]:
        """The results that have these values; what is None may be anything."""
        asked = {key: value for key, value in wanted.items() if value is not None}
        found = [row for row in self["results"] if all(row[key] == value for key, value in asked.items())]
        if not found:
            key, value = next(pair for pair in asked.items() if all(row[pair[0]] != pair[1] for row in self["results"]))
            known = dict.fromkeys(row[key] for row in self["results"])
            raise BrittleError(f"there is no {key.replace('_', ' ')} {value!r}", did_you_mean(value, known))
        return found
