"""A study: which classifiers, image sets, nuisances and measures, as a schema, and what a change of it means.

No file is opened here: `engine.open` reads study files, and replaces what they refer to elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from brittle.differences import differences
from brittle.errors import BrittleError, located
from brittle.images.selection import Selection
from brittle.measures import measures
from brittle.measures.base import CLASSIFIER, IMAGES, Measure
from brittle.registry import binds_rows, did_you_mean, options_of, parse_named

_STRICT = ConfigDict(extra="forbid", frozen=True)
_OPEN = ConfigDict(extra="allow", frozen=True)
DEFAULT = "robustness"  # what a study without measures asks for


class _Specified(BaseModel):
    """An entry that may be written as its spec alone."""

    spec: str

    @model_validator(mode="before")
    @classmethod
    def _spec_alone(cls, value: Any) -> Any:
        return {"spec": value} if isinstance(value, str) else value


def _holds_none(value: Any) -> bool:
    """Whether a list or a table has None somewhere inside."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(each is None or _holds_none(each) for each in inside)


class ClassifierEntry(_Specified):
    """A classifier of a study. What else stands in its table are attributes, which say something of it."""

    model_config = _OPEN
    group: str = Field("", description="several trainings of one model share a group")

    @model_validator(mode="after")
    def _written(self) -> ClassifierEntry:
        """A run keeps its study as a file, which has no word for None."""
        for name, value in self.attributes.items():
            if _holds_none(value):
                raise ValueError(f"the attribute {name!r} holds None, which a study file can't; leave it out")
        return self

    @property
    def attributes(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class ImagesEntry(_Specified):
    """An image set of a study, and which of its images."""

    model_config = _STRICT
    count: int | None = Field(None, ge=1, description="how many, drawn without replacement; all by default")
    columns: str = Field("", description="a CSV or Parquet file with id or name, and columns that conditions may be on")
    where: tuple[str, ...] = Field((), description="conditions column=value or column>0.5 that the images meet")
    ids: tuple[int, ...] = Field((), description="only the images with these ids, or those in this text file")
    train: str = Field("", description="the image set of this study that the classifiers were trained on")

    @property
    def selection(self) -> Selection:
        return Selection(self.count, self.where, self.ids, self.columns)


class ClusterEntry(BaseModel):
    """How workers on Ray carry a study out, which changes no result: what commands and functions say comes first. Where
    they are is no matter of a study, which may come from somebody else."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    workers: int | None = Field(None, ge=1, description="how many; as many as there is room for by default")
    cpus: float | None = Field(None, gt=0, description="cores of each worker")
    gpus: float | None = Field(None, gt=0, description="GPUs of each worker, or what part of one")
    time_limit: float | None = Field(None, gt=0, alias="time-limit", description="seconds that a unit may take")


class MeasureEntry(BaseModel):
    """A measure of a study: its kind, what it is restricted to, what it reads, and its options."""

    model_config = _OPEN
    kind: str
    classifiers: tuple[str, ...] | None = Field(None, min_length=1)
    images: tuple[str, ...] | None = Field(None, min_length=1)
    nuisances: tuple[str, ...] | None = Field(None, min_length=1)
    reads: tuple[str, ...] = Field((), description="measures that it reads, where there are several of a kind")

    @property
    def measure(self) -> Measure:
        """The measure itself, its options checked."""
        taken = sorted(MeasureEntry.model_fields.keys() & options_of(measures.get(self.kind)).keys())
        if taken:
            raise BrittleError(
                f"the measure {self.kind!r} has an option {taken[0]!r}, which a study uses for something else",
                "Rename that option.",
            )
        return measures.make(self.kind, self.model_extra or {})


class Study(BaseModel):
    """What a run carries out. Classifiers, image sets and nuisances are tables of name = spec, or lists of specs,
    which may be named: `mine=onnx:model.onnx`.

    `[measures.NAME]` asks for a measure of some `kind` and holds its options; a table named after a kind is the short
    form. Without any, robustness is measured."""

    model_config = _STRICT
    title: str = ""
    seed: int = 0
    precision: Literal["float32", "tf32", "bf16"] = "float32"
    compile: Literal["auto", "yes", "onnx", "no"] = "auto"
    classifiers: dict[str, ClassifierEntry] = {}
    images: dict[str, ImagesEntry] = {}
    nuisances: dict[str, str] = {}
    measures: dict[str, MeasureEntry] = {}
    cluster: ClusterEntry = ClusterEntry()

    @field_validator("classifiers", "nuisances", "images", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return by_name(value)

    @classmethod
    def of(cls, data: dict[str, Any], where: str = "the study") -> Study:
        """From plain values, such as those of a TOML file."""
        if not all(isinstance(key, str) for key in data):
            raise BrittleError(f"{where} is not a table of names and values", "Write classifiers = …, images = ….")
        if not isinstance(data.get("measures", {}), dict):
            raise BrittleError(f"{where}: measures is not a table", "Write [measures.NAME] and its kind and options.")
        fields, asked = dict(data), dict(data.get("measures", {}))
        for key in [key for key in fields if key not in cls.model_fields]:
            table = fields.pop(key)
            if key not in measures.names():
                known = [*cls.model_fields, *measures.names()]
                raise BrittleError(f"{where}: unknown key {key!r}", did_you_mean(key, known))
            if not isinstance(table, dict):
                raise BrittleError(f"{where}: {key} is not a table", f"Write [{key}] and its options below.")
            if key in asked:
                raise BrittleError(f"{where}: the measure {key!r} is given twice", f"Rename [measures.{key}].")
            asked[key] = {"kind": key} | table
        fields["measures"] = asked or {DEFAULT: {"kind": DEFAULT}}
        try:
            study = cls(**fields)
        except ValidationError as error:
            raise _explained(error, where) from error
        study._check_names(where)
        study._refuse_lacking(where)
        return study

    def _refuse_lacking(self, where: str) -> None:
        """Classifiers and images must be there for measures whose cells, or those of what they read, name them."""
        wanted = _sorts_named(entry.kind for entry in self.measures.values())
        for sort, key in ((CLASSIFIER, "classifiers"), (IMAGES, "images")):
            if sort in wanted and not getattr(self, key):
                if key in self.model_fields_set:
                    raise BrittleError(f"{where}: {key}: at least one is needed", "Fix that value.")
                raise BrittleError(f"{where}: {key!r} is missing", f"Add {key} = … to it.")

    def _check_names(self, where: str) -> None:
        """Everything that one entry says of another must be there."""
        for name, entry in self.images.items():
            if entry.train:
                _known(entry.train, self.images, f"{where}: images.{name}.train")
        for name, asked in self.measures.items():
            for sort in ("classifiers", "images", "nuisances"):
                for each in getattr(asked, sort) or ():
                    _known(each, getattr(self, sort), f"{where}: measures.{name}.{sort}")
            for each in asked.reads:
                _known(each, self.measures, f"{where}: measures.{name}.reads")
            with located(where if name == asked.kind else f"{where}: measures.{name}"):
                _ = asked.measure

    def resolved(self) -> dict[str, Any]:
        """Plain values, defaults filled in: what the run folder keeps and compares."""
        plain = self.model_dump(mode="json", exclude={"measures", "cluster"})
        if cluster := self.cluster.model_dump(mode="json", exclude_none=True, by_alias=True):
            plain["cluster"] = cluster
        plain["measures"] = {
            name: {
                **entry.model_dump(mode="json", exclude=set(entry.model_extra or ())),
                **options_as_values(entry.measure),
            }
            for name, entry in self.measures.items()
        }
        for images in plain["images"].values():
            for key in ("train", "columns"):
                if not images[key]:
                    del images[key]
        for classifier in plain["classifiers"].values():
            if not classifier["group"]:
                del classifier["group"]
        for measure in plain["measures"].values():
            if not measure["reads"]:
                del measure["reads"]
        return dict(_without_none(plain))


def by_name(entries: Any) -> Any:
    """A table of a study. A list of specs names each by itself, or by what stands before it: `mine=onnx:model.onnx`."""
    items = [entries] if isinstance(entries, str) else entries
    if not isinstance(items, list):
        return items
    specs: list[Any] = [item.get("spec") if isinstance(item, dict) else item for item in items]
    if any(not isinstance(spec, str) for spec in specs):
        raise ValueError("every entry of the list must be a spec, or hold one")
    pairs = [parse_named(spec) for spec in specs]
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{twice!r} stands in the list twice; give one of them a name: other={twice}")
    return {
        name: item | {"spec": spec} if isinstance(item, dict) else spec
        for (name, spec), item in zip(pairs, items, strict=True)
    }


def options_as_values(measure: Measure) -> dict[str, Any]:
    """A measure's options by the names users type."""
    return {field.name.replace("_", "-"): getattr(measure, field.name) for field in dataclasses.fields(measure)}  # type: ignore[arg-type]


def changes(kept: dict[str, Any], study: dict[str, Any]) -> list[str]:
    """How a study differs from the one that a run was begun with; nothing where it only extends it: entries may be
    added, and title, groups and attributes may change, as may the number of images, options that say which rows a
    measure has, and those that its summary alone depends on."""
    old, new = _binding_rows(kept), _binding_rows(study)
    sorts = ("classifiers", "images", "nuisances", "measures")
    extended = {sort: {name: entry for name, entry in new[sort].items() if name in old[sort]} for sort in sorts}
    return differences(old, new) if differences(old, new | extended) else []


def refuse_unresolved(study: Mapping[str, Any], where: str, remedy: str) -> None:
    """Refuses what `Study.resolved` never returns, whether all that it names is installed or not."""
    keys = {"classifiers": "spec", "images": "spec", "measures": "kind"}
    tables = all(isinstance(study.get(sort), dict) for sort in keys) and isinstance(study.get("nuisances", {}), dict)
    entries = [(entry, key) for sort, key in keys.items() for entry in study[sort].values()] if tables else []
    sound = all(isinstance(entry, dict) and isinstance(entry.get(key), str) for entry, key in entries)
    ways = all(isinstance(study.get(key), str) for key in ("precision", "compile"))
    if not tables or not sound or not ways or type(study.get("seed")) is not int:
        raise BrittleError(f"{where} is damaged: it is not the study of a run", remedy)


def binding(study: Mapping[str, Any]) -> dict[str, Any]:
    """What of a resolved study its rows depend on."""
    return {
        "seed": study["seed"],
        "precision": study["precision"],
        "compile": study["compile"],
        "classifiers": {name: entry["spec"] for name, entry in study["classifiers"].items()},
        "images": study["images"],
        "nuisances": study.get("nuisances", {}),
        "measures": study["measures"],
    }


def _binding_rows(study: Mapping[str, Any]) -> dict[str, Any]:
    """What of a resolved study decides what rows hold."""
    found = binding(study)
    images = {name: {key: value for key, value in entry.items() if key != "count"} for name, entry in
              found["images"].items()}  # fmt: skip
    asked = {}
    for name, entry in found["measures"].items():
        free = _free(entry["kind"])
        asked[name] = {key: value for key, value in entry.items() if key not in free}
    return found | {"images": images, "measures": asked}


def _free(kind: str) -> set[str]:
    """The options of a measure that its rows do not depend on; none of one that is not installed any more."""
    try:
        return {key for key, field in options_of(measures.get(kind)).items() if not binds_rows(field)}
    except BrittleError:
        return set()


def _sorts_named(kinds: Iterable[str]) -> set[str]:
    """What the cells of some kinds of measures name, and those of all that these must read."""
    named, open_ones, seen = set[str](), list(kinds), set[str]()
    while open_ones:
        kind = open_ones.pop()
        if kind not in seen:
            seen.add(kind)
            named |= measures.get(kind).over
            open_ones += [read.kind for read in measures.get(kind).reads if read.required]
    return named


def _known(name: str, there: Iterable[str], where: str) -> None:
    names = list(there)
    if name not in names:
        raise BrittleError(f"{where} names {name!r}, which the study does not have", did_you_mean(name, names))


def _without_none(value: Any) -> Any:
    """TOML has no null: what is None is left out."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, (list, tuple)) else value


def _explained(error: ValidationError, where: str) -> BrittleError:
    """The first thing wrong with a study, in one line."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        tables: dict[Any, type[BaseModel]] = {"images": ImagesEntry, "cluster": ClusterEntry}
        known = tables[first["loc"][0]].model_fields if len(first["loc"]) > 1 else Study.model_fields
        return BrittleError(f"{where}: unknown key {key!r}", did_you_mean(str(first["loc"][-1]), known))
    if first["type"] == "missing":
        return BrittleError(f"{where}: {key!r} is missing", f"Add {key} = … to it.")
    message = str(first["msg"]).removeprefix("Value error, ")
    return BrittleError(f"{where}: {key}: {message}", "Fix that value.")
