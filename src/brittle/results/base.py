"""What results share: plain values by key, which print as a table and turn into tables, figures and a report."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from brittle.engine.run import FinishedRun
from brittle.engine.view import MeasureView
from brittle.errors import BrittleError, MissingPackage
from brittle.measures.base import ROWS
from brittle.measures.base import Derived as DerivedMeasure
from brittle.registry import did_you_mean
from brittle.report.console import as_text, one_measure, one_table
from brittle.report.rows import all_rows
from brittle.report.scalars import scalars_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: dict[str, type[Result]] = {}  # kind of measure → what its function gives back
LISTS = ("results", "entries")  # where a summary keeps what it has once per classifier, nuisance and so on
MOST_NAMED = 5  # in a message
USUAL = ("classifier", "image_set", "nuisance", "by")  # what results are told apart by, first of all


class RunPresentation:
    """What was measured as tables and figures, and as a report: `run` is what it was made from."""

    run: FinishedRun
    _measure: str | None = None  # the one that is meant where none is named

    @property
    def _shown_summary(self) -> dict[str, Any]:
        """What is shown of the run's summary."""
        said = self.run.summary
        return said if self._measure is None else said | {"measures": {self._measure: said["measures"][self._measure]}}

    def table(self, measure: str | None = None) -> pa.Table:
        """What one measure of the study says as a table, one row per result; its name may be left out where there is
        only one."""
        return one_table(self._shown_summary if measure is None else self.run.summary, measure)

    def scalars(self) -> dict[str, float]:
        """Every number by a flat name, such as `robustness.mine.sample.fog.rho`, and the ends of its interval as
        `….rho.low` and `….rho.high`: what `brittle.log` logs and conditions of `brittle.check` are about."""
        return scalars_of(self._shown_summary)

    def to_pandas(self, measure: str | None = None) -> Any:
        """The same as a pandas DataFrame."""
        if importlib.util.find_spec("pandas") is None:
            raise MissingPackage("pandas", "pandas", "a DataFrame")
        return self.table(measure).to_pandas()

    def report(self, path: str | Path | None = None) -> Path | str:
        """Writes the report, one HTML file with figures and pictures: to `path`, or into the run folder, where `out`
        has named one."""
        from brittle.report.html import report_of  # matplotlib, when a report is wanted

        return report_of(self.run, None if path is None else Path(path)).path.public

    def plot(self, measure: str | None = None) -> Figure:
        """The first figure that the report has of a measure; a notebook shows it, and `savefig` writes it."""
        found = self.figures(measure)
        if not found:
            raise BrittleError("the report has no figure of this", "Use table(), or rows, for one of your own.")
        return found[0]

    def figures(self, measure: str | None = None) -> list[Figure]:
        """All figures that the report has of a measure."""
        from brittle.report.html import figures  # matplotlib, when something is drawn

        return figures(self.run, one_measure(self._shown_summary if measure is None else self.run.summary, measure))


class ResultValues(RunPresentation, dict[str, Any]):
    """Values by key; `summary` is all that the run says, as in summary.json, and `run` what it was made from.

    `findings` are the sentences on top of the report, where the call has written one."""

    def __init__(
        self, run: FinishedRun, measure: str | None, values: Mapping[str, Any], findings: Sequence[str] = ()
    ) -> None:
        super().__init__(values)
        self.run, self._measure, self.findings = run, measure, findings
        self.summary = self._shown_summary

    def __dir__(self) -> list[str]:
        """What is meant to be used; of a dictionary's methods those that read."""
        own = {name for kind in type(self).__mro__ if issubclass(kind, RunPresentation) for name in vars(kind)}
        return sorted(
            {"findings", "get", "items", "keys", "run", "summary", "values", *(name for name in own if name[0] != "_")}
        )

    def __repr__(self) -> str:
        return as_text(self.summary)

    def __str__(self) -> str:
        return as_text(self.summary)

    def _repr_html_(self) -> str:
        from brittle.report.notebook import as_html  # matplotlib, when something is drawn

        return as_html(self.run, self.summary)


class Result(ResultValues):
    """What one measure says: all its `results`, and where there is only one, that one's values by key."""

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:
            KINDS[kind] = cls

    def __init__(
        self,
        run: FinishedRun,
        measure: str,
        results: Sequence[dict[str, Any]] | None = None,
        findings: Sequence[str] = (),
    ) -> None:
        super().__init__(run, measure, result_values(run.summary, measure, results), findings)

    def __missing__(self, key: str) -> Any:
        results: list[dict[str, Any]] = dict.get(self, "results", [])
        if not any(key in row for row in results):
            error = KeyError(key)
            error.add_note(did_you_mean(str(key), {*self, *(name for row in results for name in row)}))
            raise error
        differing = _differing(results)
        example = ", ".join(f"{name}={results[0][name]!r}" for name in differing)
        raise BrittleError(
            f"there are {len(results)} results, each with its own {key!r}",
            f"Choose one, such as found.of({example}), or go through found['results'].",
        )

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key; as for `found[key]`, an error where there are several."""
        try:
            return self[key]
        except KeyError:
            return default

    def of(self, classifier: str | None = None, **names: str) -> Self:
        """One result of several: `found.of("mine", nuisance="fog")`. A classifier may be named by its group where it is
        groups that have results; every other key that is a name may be given too.

        Values and `rows` are then of that result; the table, figures and report still show all of them."""
        return type(self)(self.run, str(self._measure), [self._one(classifier=classifier, **names)], self.findings)

    def _one(self, **names: str | None) -> dict[str, Any]:
        """The only result with these names; what is None may be anything."""
        rows: list[dict[str, Any]] = self["results"]
        asked = {
            key if any(key in row for row in rows) else ALSO.get(key, key): value
            for key, value in names.items()
            if value is not None
        }
        for key, value in asked.items():
            known = dict.fromkeys(str(row[key]) for row in rows if key in row)
            if not known:
                texts = {name for row in rows for name, text in row.items() if isinstance(text, str)}
                raise BrittleError(f"results have no {key!r}", did_you_mean(key, texts))
            if value not in known:
                raise BrittleError(f"there is no {key.replace('_', ' ')} {value!r}", did_you_mean(value, known))
        found = [row for row in rows if all(row.get(key) == value for key, value in asked.items())]
        if len(found) == 1:
            return found[0]
        words = ", ".join(f"{key}={value!r}" for key, value in asked.items())
        if not found:
            raise BrittleError(f"there is no result with {words}", "See found.table() for those there are.")
        several = "; ".join(
            f"{key}: {', '.join(list(dict.fromkeys(row[key] for row in found))[:MOST_NAMED])}"
            for key in _differing(found)
        )
        where = f"{len(found)} results have {words}" if words else f"there are {len(found)} results"
        raise BrittleError(f"{where}, and one is asked for", f"Name one by what they differ in ({several}).")

    @cached_property
    def rows(self) -> pa.Table:
        """Every row behind the results, with names and θ, as `brittle.rows` has them; where the measure is derived from
        another one, that one's."""
        return self._table(ROWS)

    @property
    def places(self) -> NDArray[np.int64]:
        """The places in the image set of the images in `rows`."""
        (chosen,) = self.run.job.images.values()
        ids = np.asarray(chosen.whole.ids)
        order = np.argsort(ids)
        return np.asarray(order[np.searchsorted(ids[order], self.rows["image"].to_numpy())])

    @property
    def _view(self) -> MeasureView:
        """The measure's rows, or those of the one that it is derived from."""
        view, measure = self.run.view(str(self._measure)), self.run.job.assignments[str(self._measure)].measure
        if isinstance(measure, DerivedMeasure):
            behind = view.read(next(read.kind for read in measure.reads if read.required))
            assert behind is not None, "what is required is there"
            return behind
        return view

    def _table(self, name: str) -> pa.Table:
        return self._only(all_rows(self._view, name))

    def _only(self, rows: pa.Table) -> pa.Table:
        """Rows without those of other results."""
        results = dict.get(self, "results", [])
        for key in ("classifier", "image_set", "nuisance"):
            names = {row[key] for row in results if key in row}
            if names and key in rows.column_names:
                rows = rows.filter(pc.is_in(rows[key], pa.array(sorted(names))))
        return rows


ALSO = {"classifier": "group", "images": "image_set"}  # what a caller may mean by a key that results don't have


def result_values(
    summary: Mapping[str, Any], measure: str, results: Sequence[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """What a measure says in plain values, in Python as with --json: `results`, and what belongs to all of them; a
    single result's values stand there by key too."""
    entry = summary["measures"][measure]
    key = next((each for each in LISTS if each in entry), None)
    beside = {name: value for name, value in entry.items() if name not in (key, "kind")}
    beside |= {name: summary[name] for name in ("warnings", "skipped") if name in summary}
    if key is None:
        return beside
    rows = list(entry[key] if results is None else results)
    return (dict(rows[0]) if len(rows) == 1 else {}) | {"results": rows} | beside


def _differing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys that results are told apart by."""
    keys = [key for key, value in rows[0].items() if isinstance(value, str) and all(key in row for row in rows)]
    names = [key for key in keys if len({row[key] for row in rows}) > 1]
    chosen: list[str] = []
    for key in sorted(names, key=lambda name: USUAL.index(name) if name in USUAL else len(USUAL)):
        if len({tuple(row[each] for each in chosen) for row in rows}) < len(rows):
            chosen.append(key)
    return chosen
