"""What a run is made from: a study, and the live objects that stand in place of some of its specs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from brittle.engine.live_objects import is_live
from brittle.images.selection import Selection
from brittle.measures.base import ClassifierFacts
from brittle.study import MeasureEntry, Study


@dataclass(frozen=True)
class Inputs:
    """A study; and by table and name the objects that it names, where a caller has them already."""

    study: Study
    objects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # "classifiers" → name → the object

    def _object_or(self, spec: str, table: str, name: str) -> Any:
        return self.objects.get(table, {}).get(name, spec)

    @property
    def classifiers(self) -> dict[str, Any]:
        """Specs, or the classifiers themselves."""
        return {
            name: self._object_or(entry.spec, "classifiers", name) for name, entry in self.study.classifiers.items()
        }

    @property
    def images(self) -> dict[str, tuple[Any, Selection]]:
        """Specs, or the image sets themselves, and which of their images."""
        return {
            name: (self._object_or(entry.spec, "images", name), entry.selection)
            for name, entry in self.study.images.items()
        }

    @property
    def nuisances(self) -> dict[str, Any]:
        """Specs, or the nuisances themselves."""
        return {name: self._object_or(spec, "nuisances", name) for name, spec in self.study.nuisances.items()}

    @property
    def trained_on(self) -> dict[str, str]:
        """Image set → its training set."""
        return {name: entry.train for name, entry in self.study.images.items() if entry.train}

    @property
    def facts(self) -> dict[str, ClassifierFacts]:
        """Groups and attributes."""
        return {
            name: ClassifierFacts(name, (), group=entry.group, attributes=entry.attributes)
            for name, entry in self.study.classifiers.items()
        }

    @property
    def live(self) -> list[str]:
        """Those that no spec names, which another process can't load."""
        entries = {**self.study.classifiers, **self.study.images}
        texts = {name: entry.spec for name, entry in entries.items()} | self.study.nuisances
        return [name for name, text in texts.items() if is_live(text)]

    def measuring(self, measures: Mapping[str, MeasureEntry]) -> Inputs:
        """The same with these measures, also with none."""
        return replace(self, study=self.study.model_copy(update={"measures": dict(measures)}))
