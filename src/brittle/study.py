"""A study: the file that says which classifiers, image sets, nuisances and measures, and what a change of it means."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from brittle.classifiers import classifier
from brittle.device import pick_device
from brittle.engine.job import Chosen, Job
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import ImageSet, of_one_shape
from brittle.measures import measures
from brittle.measures.base import Measure
from brittle.nuisances import nuisances
from brittle.nuisances.base.compose import Compose
from brittle.registry import did_you_mean, options_of
from brittle.types import Nuisance

_STRICT = ConfigDict(extra="forbid", frozen=True)


class ImagesEntry(BaseModel):
    """An image set of a study, and which of its images."""

    model_config = _STRICT
    spec: str
    count: int | None = Field(None, ge=1, description="how many, drawn without replacement; all by default")
    where: tuple[str, ...] = Field((), description="conditions column=value that the images meet")
    ids: tuple[int, ...] = Field((), description="only the images with these ids")

    @model_validator(mode="before")
    @classmethod
    def _spec_alone(cls, value: Any) -> Any:
        return {"spec": value} if isinstance(value, str) else value


class Study(BaseModel):
    """What a run carries out. Classifiers, image sets and nuisances are tables of name = spec, or lists of specs.

    A table named after a measure asks for it and holds its options; with none of them, robustness is measured."""

    model_config = ConfigDict(extra="allow", frozen=True)
    title: str = ""
    seed: int = 0
    classifiers: dict[str, str]
    images: dict[str, ImagesEntry]
    nuisances: dict[str, str]

    @field_validator("classifiers", "nuisances", "images", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """A list of specs names each by itself."""
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list):
            names = [item.get("spec") if isinstance(item, dict) else item for item in items]
            if any(not isinstance(name, str) for name in names):
                raise ValueError("every entry of the list must be a spec, or hold one")
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"{twice!r} stands in the list twice; write a table and give each a name")
            items = dict(zip(names, items, strict=True))
        if not items:
            raise ValueError("at least one is needed")
        return items

    @classmethod
    def load(cls, path: Path) -> Study:
        """From a TOML file; paths in specs are relative to the current directory."""
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BrittleError(f"there is no study file {path}", "Check the path.") from None
        except OSError as error:
            raise BrittleError(f"the study file {path} can't be read: {error.strerror}", "Check the path.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BrittleError(f"{path} is not TOML: {error}", "Mend that line.") from error
        return cls.of(data, str(path))

    @classmethod
    def of(cls, data: dict[str, Any], where: str = "the study") -> Study:
        try:
            study = cls(**data)
        except ValidationError as error:
            raise _explained(error, where) from error
        for key, table in (study.model_extra or {}).items():
            if key not in measures.names():
                raise BrittleError(
                    f"{where}: unknown key {key!r}", did_you_mean(key, [*cls.model_fields, *measures.names()])
                )
            if not isinstance(table, dict):
                raise BrittleError(f"{where}: {key} is no table", f"Write [{key}] and its options below.")
        study.measures()
        return study

    def measures(self) -> dict[str, Measure]:
        """The measures asked for, options checked, in the order in which they are carried out: robustness first,
        since others may read what it has found."""
        asked = self.model_extra or {"robustness": {}}
        return {name: measures.make(name, asked[name]) for name in sorted(asked, key=lambda each: each != "robustness")}

    def job(self, device: str | None = None, batch: int | None = None) -> Job:
        """Loads everything the study names."""
        wanted, place = self.measures(), pick_device(device)
        loaded_nuisances = {name: equipped(nuisances.build(spec)) for name, spec in self.nuisances.items()}
        return Job(
            classifiers={name: classifier(spec, device=str(place)) for name, spec in self.classifiers.items()},
            images={
                name: choose(
                    image_set(entry.spec), wanted, seed=self.seed, count=entry.count, where=entry.where, ids=entry.ids
                )
                for name, entry in self.images.items()
            },
            nuisances=loaded_nuisances,
            streams={name: nuisances.name_of(space) for name, space in loaded_nuisances.items()},
            measures=wanted,
            seed=self.seed,
            device=place,
            batch=batch,
        )

    def resolved(self) -> dict[str, Any]:
        """Plain values, defaults filled in: what the run folder keeps and compares."""
        options = {
            name: {field.name.replace("_", "-"): getattr(each, field.name) for field in dataclasses.fields(each)}  # type: ignore[arg-type]
            for name, each in self.measures().items()
        }
        return dict(_without_none(self.model_dump(mode="json") | options))


def _without_none(value: Any) -> Any:
    """TOML has no null: what is None is left out."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, (list, tuple)) else value


def choose(
    whole: ImageSet,
    wanted: Mapping[str, Measure],
    *,
    seed: int,
    count: int | None = None,
    where: Sequence[str] = (),
    ids: Sequence[int] = (),
) -> Chosen:
    """The images of a study in planned order: by column or id first, then a seeded draw without replacement."""
    if where:
        whole = whole.where(*([where] if isinstance(where, str) else where))
    if ids:
        whole = whole.only(ids)
    for measure in wanted.values():
        measure.check_images(count, len(whole))
    return Chosen(whole.choose(count, seed), whole, count)


def equipped(space: Nuisance) -> Nuisance:
    """The nuisance with every option that names an image set holding the set itself: nuisances can't open one."""
    if isinstance(space, Compose):
        return dataclasses.replace(space, parts=tuple(map(equipped, space.parts)))
    opened = {
        field.name: of_one_shape(image_set(getattr(space, field.name)))
        for field in options_of(type(space)).values()
        if field.metadata.get("image_set") and isinstance(getattr(space, field.name), str)
    }
    return dataclasses.replace(space, **opened) if opened else space  # type: ignore[type-var]


def _explained(error: ValidationError, where: str) -> BrittleError:
    """The first thing wrong with a study, in one line."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = ImagesEntry.model_fields if len(first["loc"]) > 1 else Study.model_fields
        return BrittleError(f"{where}: unknown key {key!r}", did_you_mean(str(first["loc"][-1]), known))
    if first["type"] == "missing":
        return BrittleError(f"{where}: {key!r} is missing", f"Add {key} = … to it.")
    message = str(first["msg"]).removeprefix("Value error, ")
    return BrittleError(f"{where}: {key}: {message}", "Mend that value.")
