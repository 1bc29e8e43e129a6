"""What `brittle.measure`, `compare`, `sample` and `run` give back: plain values by key, which print as a table.

A result is a dictionary, as the command line prints it with --json; in a terminal or a notebook it shows itself as the
command line would, and it turns into an Arrow table or a DataFrame.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from brittle.classifiers.as_it_was import lent
from brittle.engine.carry_out import Done
from brittle.engine.replay import replay_of
from brittle.errors import BrittleError, MissingPackage
from brittle.hardening.harden import Hardened as HardenedClassifier
from brittle.imagenet import by_name
from brittle.measures.before_after.measure import KIND as DIFFERENCE
from brittle.measures.connectedness.tables import kept_paths
from brittle.measures.perturbation.sizes import Sizes, matrix
from brittle.measures.shape.deciders import decisions_table
from brittle.registry import did_you_mean
from brittle.report.console import as_html, as_text, one_measure, one_table
from brittle.report.harden_console import hardened_text
from brittle.report.html import figures as drawn
from brittle.report.html import report_of
from brittle.report.page.label_names import LabelNames
from brittle.samplers.export import to_arviz


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


@dataclass(frozen=True, repr=False)
class Hardened(HardenedClassifier, Tables):
    """A hardened classifier: `before`, `after`, their `difference`, and the `rounds`, of which one was `chosen`."""

    _measure = DIFFERENCE

    def __repr__(self) -> str:
        return hardened_text(self)


class Measured(Result):
    """One classifier under one nuisance: `rho`, `interval`, `accuracy_nuisance` and what stands beside them."""


class Comparison(Result):
    """Several classifiers: `results`, one each, and `comparisons`, their paired differences."""


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


class BreakingPoints(WithRows):
    """The severity at which predictions change: `mean`, `interval`, `unbroken` and what stands beside them."""


class FailurePoints(WithRows):
    """The severity at which predictions become wrong: `mean`, `never`, `severities` and what stands beside them."""

    @property
    def refined(self) -> pa.Table:
        """Failure points that were narrowed down: an image is right at `low` and wrong at `high`."""
        return self._table("refined")


class Shape(WithRows):
    """Shape and texture: `shuffled`, an entry per grid, `cue_conflict`, and `consistency`, an entry per pair."""

    @property
    def shape_bias(self) -> float | None:
        """Of the first classifier; None where the images have no texture, or it never answered with either."""
        found = self["cue_conflict"]
        return None if found is None else found["shape_bias"]

    def kappa(self, first: str, second: str) -> float | None:
        """Cohen's κ of the errors of two, by name; None where it is undefined."""
        for each in self["consistency"]:
            if {first, second} == {each["first"], each["second"]}:
                found: float | None = each["kappa"]
                return found
        known = sorted({name for each in self["consistency"] for name in (each["first"], each["second"])})
        raise BrittleError(f"there is no pair {first!r} and {second!r}", f"Known: {', '.join(known) or 'none'}.")

    @property
    def decisions(self) -> pa.Table:
        """What every classifier says of every untouched image, in the columns of model-vs-human's files."""
        (measure,) = self.done.summary["measures"]
        view = self.done.view(measure)
        return decisions_table(view, self["image_set"])


class Occlusions(WithRows):
    """Accuracy as images are hidden: `points`, one entry per hidden share, and what stands beside them."""

    @property
    def rows(self) -> pa.Table:
        """Every row: classifier, image set and nuisance, then the image, its mask and share, and what was said."""
        (measure,) = self.done.summary["measures"]
        view, parts = self.done.view(measure), []
        points = {each["nuisance"]: each["points"] for each in self["results"]}
        for cell in view.cells():
            table = view.table(cell).drop_columns("unit")
            shares = pa.array([point["share"] for point in points[cell.nuisance]], pa.float64())
            place = table.column_names.index("place")
            table = table.set_column(place, "share", shares.take(table["place"].combine_chunks()))
            names = {"nuisance": cell.nuisance, "image_set": cell.images, "classifier": cell.classifier}
            for name, value in names.items():
                table = table.add_column(0, name, pa.repeat(value, table.num_rows))
            parts.append(table)
        return pa.concat_tables(parts)

    def curve(self, key: str = "accuracy", classifier: str | None = None, nuisance: str | None = None) -> Any:
        """Two lists: the hidden shares, and what was found there, such as "accuracy" or "iocclusion"; of the first
        classifier or group, and of the first nuisance, unless one is named."""
        for row in (*self["results"], *self["groups"]):
            meant = classifier in (None, row.get("classifier", row["group"])) and nuisance in (None, row["nuisance"])
            if meant and key in row["points"][0]:
                return [point["share"] for point in row["points"]], [point[key] for point in row["points"]]
        known = sorted({key for row in (*self["results"], *self["groups"]) for key in row["points"][0]})
        raise BrittleError(f"there is no {key!r} of {classifier!r} under {nuisance!r}", f"Known: {', '.join(known)}.")


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
            for name in ("nuisance", "classifier"):
                table = table.add_column(0, name, pa.array([getattr(cell, name)] * table.num_rows))
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


class Rankings(Derived):
    """Ranks at every severity, by accuracy and by drop: `classifiers`, `pairs` and `swaps` of each shift."""

    def ranks(self, nuisance: str | None = None, by: str = "accuracy", ties: str = "tests") -> dict[str, list[int]]:
        """Classifier → its rank at every severity of the first shift, or of the one named; ties by "tests" or by
        "overlap" of intervals. Ranks by accuracy begin at severity 0, where there are images."""
        if by == "drop" and not any(row["by"] == by for row in self["results"]):
            raise BrittleError("nothing is ranked by drop, since there are no images at scale 0", "Use by='accuracy'.")
        key = {"tests": "rank", "overlap": "rank_by_overlap"}[ties]
        return {row["classifier"]: row[key] for row in self._of(nuisance=nuisance, by=by)[0]["classifiers"]}


class CorruptionErrors(Derived):
    """CE and rCE, by shift and as means: `mce`, `mean_rce` and `shifts`, a result per classifier."""

    def of_classifier(self, classifier: str) -> dict[str, Any]:
        return self._of(classifier=classifier)[0]


class Lines(Derived):
    """Accuracy under shifts against accuracy without: `lines`, `points`, `partial` and `shifts`."""


class Interference(Derived):
    """The DI index: `di`, `top_class` and `chance_spread` of the first model and nuisance, `results` of all of them."""

    _derived_from = "robustness"

    def of_model(self, group: str, nuisance: str | None = None) -> dict[str, Any]:
        """What is said of one model, by its group or name, under the first nuisance or the one named."""
        return self._of(group=group, nuisance=nuisance)[0]


class Augmentation(WithRows):
    """Affinity of augmentations: `affinity`, `accuracy_augmented` of the first, and `results` of all of them."""


class Layers(WithRows):
    """Noise on layers: `layers`, one entry each, and what stands beside them."""

    def layer(self, layer: str | int, classifier: str | None = None) -> dict[str, Any]:
        """What was found of one layer, by its name or number; of the first classifier unless one is named."""
        own = next((each for each in self["results"] if each["classifier"] == classifier), self["results"][0])
        for found in own["layers"]:
            if layer in (found["layer"], found["number"]):
                return dict(found)
        known = ", ".join(f"{each['number']} {each['layer']}" for each in own["layers"])
        raise BrittleError(f"there is no layer {layer!r} among those that were disturbed", f"Known: {known}.")


class Connectedness(WithRows):
    """The bubbles of each class: `classes`, an entry each, `straight_share` and what stands beside them."""

    @property
    def images(self) -> pa.Table:
        """A row per image: its margin, and the first image of its bubble, −1 where it is misclassified."""
        return self._table("images")

    def bubbles(self, label: str, classifier: str | None = None) -> list[list[int]]:
        """The ids of the images in each bubble of a class, the largest first; of the first classifier unless one is
        named."""
        name = classifier or self["results"][0]["classifier"]
        labels = self.done.job.facts[name].labels
        places = by_name(labels)
        if label not in places:
            raise BrittleError(f"the classifier {name!r} has no class {label!r}", did_you_mean(label, labels))
        found: dict[int, list[int]] = {}
        for row in self.images.to_pylist():
            if row["label"] == places[label] and row["component"] >= 0 and row.get("classifier", name) == name:
                found.setdefault(row["component"], []).append(row["image"])
        return sorted(found.values(), key=len, reverse=True)

    @property
    def paths(self) -> list[dict[str, Any]]:
        """The connecting paths that were kept: `image`, `other`, `how`, `margin` (F,) and `frames` (F, C, H, W)."""
        return kept_paths(self._table("pictures"))


class Perturbations(WithRows):
    """Changes at which a classifier sees another class: `mean`, `failures`, `smallest` and what stands beside them."""

    @property
    def pictures(self) -> pa.Table:
        """Of some images the least and the greatest change, as bytes of float16 (C, H, W)."""
        return self._table("pictures")

    @property
    def transfer(self) -> pa.Table:
        """What the other classifiers say of every change that was found."""
        return self._table("transfer")

    def matrix(self, classifier: str | None = None) -> NDArray[np.float64]:
        """The perturbation matrix (K, K) in units of the value range: the change that the first right image of each
        class (row) needs towards every other (column). Infinite where the search failed, NaN where there was none."""
        (measure,) = self.done.summary["measures"]
        view = self.done.view(measure)
        name = self["classifier"] if classifier is None else classifier
        if name not in view.classifiers:
            raise BrittleError(f"there is no classifier {name!r}", f"Known: {', '.join(view.classifiers)}.")
        found, _ = matrix(Sizes(view, view.cell(name, self["image_set"])), len(view.classifiers[name].labels))
        return found


class WeakPoints(Result):
    """Weak points of one classifier on one image set under one nuisance: what they say, and the draws themselves."""

    def __init__(self, done: Done, values: dict[str, Any], rows: pa.Table) -> None:
        super().__init__(done, values)
        self.rows = rows  # a row per image and kept draw

    @classmethod
    def of(cls, done: Done) -> Self:
        (name, said), *_ = done.summary["measures"].items()
        (entry,) = said["entries"]
        view = done.view(name)
        cell = view.cell(entry["classifier"], entry["image_set"], entry["nuisance"])
        rows = view.table(cell)
        return cls(done, entry | {"warnings": done.summary["warnings"]}, rows)

    @property
    def ids(self) -> list[int]:
        """The images that were sampled, in planned order."""
        return [row["id"] for row in self["per_image"]]

    @property
    def parameters(self) -> list[str]:
        """The names of θ's numbers."""
        return list(self.done.job.nuisances[self["nuisance"]].parameters)

    def theta(self, id: int) -> NDArray[np.float32]:
        """Draws (k, d) of equal weight from p(θ | not ℓ, x) of one image; none where nothing was found."""
        here = self._of(id)
        kept = here.filter(here["found"])
        numbers = kept["theta"].combine_chunks().flatten().to_numpy()
        return np.asarray(numbers.reshape(kept.num_rows, len(self.rows["theta"][0])), np.float32)

    def predicted(self, id: int) -> list[str]:
        """The label (k,) that the classifier gives at each of those draws."""
        here, labels = self._of(id), self.done.job.facts[self["classifier"]].labels
        return [labels[label] for label in here.filter(here["found"])["predicted"].to_pylist()]

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
        from brittle.report.sections.weak_points.picture import write_weak_points  # matplotlib, when something is drawn

        job, name = self.done.job, self["nuisance"]
        if not isinstance(images, int):
            for id in images:
                self._of(id)
        replay = replay_of(job, self["image_set"], name, self["classifier"])
        facts = job.facts[self["classifier"]]
        names = LabelNames(facts.labels, job.subject(self["image_set"]).classes, facts.named)
        with lent(job.classifiers.values()):
            write_weak_points(Path(path), self, self.rows, replay, names, images)
        return Path(path)

    def _of(self, id: int) -> pa.Table:
        here = self.rows.filter(pc.equal(self.rows["image"], id))
        if not here.num_rows:
            raise BrittleError(f"there is no image {id} among those sampled", f"Known: {self.ids[:20]}.")
        return here
