"""One small registry for every kind of thing that has a name.

A kind is a frozen dataclass whose fields, made with `option`, are its options; a spec (`affine:alpha=50`) names it.
A module of the registry's package is imported when a kind that it registers is wanted; until then its source says what
there is. Other packages' kinds come through entry points and are imported when they are used.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from brittle.errors import BrittleError
from brittle.registry.entry_points import entry_points
from brittle.registry.options import (
    binds_rows,
    checked,
    convert,
    did_you_mean,
    extending,
    option,
    options_of,
    validated,
)
from brittle.registry.outline import Outline
from brittle.registry.source import files_in, names_code, resolve
from brittle.registry.spec import Spec, parse_named, parse_spec, write_spec, written

__all__ = [
    "Registry",
    "Spec",
    "binds_rows",
    "checked",
    "convert",
    "did_you_mean",
    "extending",
    "option",
    "options_of",
    "parse_named",
    "parse_spec",
    "validated",
    "written",
]

T = TypeVar("T")
K = TypeVar("K", bound=type)
_NO_COLON = re.compile(r"([\w-]+)\s*[,;( ]\s*(.+?)\)?", re.DOTALL)  # affine,alpha=50; affine(alpha=50)


class Registry(Generic[T]):
    """Names → dataclasses of one sort (`noun`), from the modules of `package` and from the entry points of `group`,
    which is called like the package where it has no name of its own. With `own_code`, a spec may also name a class of
    the user's own: `file.py:Class`."""

    def __init__(self, noun: str, package: str, group: str = "", *, own_code: bool = False) -> None:
        self.noun, self.package, self.group, self.own_code = noun, package, group or package, own_code
        self._kinds: dict[str, type[T]] = {}
        self._outline = Outline(package)
        self._loaded = False
        self._own: dict[str, tuple[Any, type[T]]] = {}

    def register(self, name: str) -> Callable[[K], K]:
        """Class decorator: the kind of that name, its options checked however one is made.

        The same name for two classes is an error, not a silent replacement."""

        def add(kind: K) -> K:
            known = self._kinds.setdefault(name, kind)
            if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
                raise BrittleError(
                    f"{self.noun} {name!r} is registered twice: by {known.__module__} and by {kind.__module__}",
                    "Rename one of them.",
                )
            self._kinds[name] = validated(name)(kind)
            return kind

        return add

    def names(self) -> list[str]:
        """Every kind there is, built in or through entry points."""
        entered = entry_points(self.group).names
        return sorted({*self._kinds, *self._outline.kinds, *entered})

    def loaded(self) -> Mapping[str, type[T]]:
        """The kinds of the registry's own package, and others' that have been used."""
        self._load()
        return dict(self._kinds)

    def get(self, name: str) -> type[T]:
        """The class of a name, or the one that `file.py:Class` or `package.module:Class` names. What is wrong with one
        package's entry point does not affect those who ask for another."""
        if self.own_code and names_code(name):
            return self._users(name)
        self._refuse_unknown(name)
        if name not in self._kinds and (module := self._outline.module(name)) is not None:
            importlib.import_module(module)
        for entry in entry_points(self.group, name=name):
            self.register(name)(self._imported(entry))
        return self._kinds[name]

    def parsed(self, text: str) -> Spec:
        """A spec taken apart; where users may name a class of their own, that is the kind."""
        spec = parse_spec(text)
        own = self.own_code and names_code(text.strip())
        return Spec(f"{spec.kind}:{spec.parts[0]}", spec.parts[1:]) if own else spec

    def check(self, text: str, options: Mapping[str, Any] | None = None) -> None:
        """Refuses a spec of an unknown kind, or with options, in it or as values, that are wrong by themselves. Nothing
        is imported: what the source of a kind doesn't say, and other people's kinds, are left for `build`."""
        spec = self.parsed(text)
        if self.own_code and names_code(spec.kind):
            return
        self._refuse_unknown(spec.kind)
        kind = self._outline.options(spec.kind)
        if kind is not None:
            _arguments(kind, spec, options or {})

    def build(self, text: str, options: Mapping[str, Any] | None = None) -> T:
        """The object that a spec names; `options` are more of them, as values."""
        spec = self.parsed(text)
        kind = self.get(spec.kind)
        return kind(**_arguments(kind, spec, options or {}))

    def runs_code(self, text: str, options: Mapping[str, Any] | None = None) -> bool:
        """Whether loading what a spec names may run code that the spec chooses. A kind says so by `runs_code`, True or
        False, or a property where that depends on its options. What is silent is taken not to where it is Brittle's
        own, and to where it comes from another package; what is unknown can't be loaded."""
        if self.own_code and names_code(text.strip()):
            return True
        try:
            kind = self.get(parse_spec(text).kind)
        except BrittleError:
            return False
        said = getattr(kind, "runs_code", None)
        if said is None:
            return kind.__module__.partition(".")[0] != __name__.partition(".")[0]
        if isinstance(said, bool):
            return said
        try:
            return bool(self.build(text, options).runs_code)  # type: ignore[attr-defined]
        except Exception:  # options that are wrong, of whatever package
            return True

    def make(self, name: str, options: Mapping[str, Any]) -> T:
        """The kind of a name with options, as values or as text."""
        kind = self.get(name)
        return kind(**checked(kind, options, name))

    def name_of(self, thing: object) -> str:
        """The name a thing is registered under, loaded or not; its class's name where it is not registered."""
        here = f"{type(thing).__module__}:{type(thing).__qualname__}"
        entries = entry_points(self.group)
        entered = (entry.name for entry in entries if entry.value == here)
        known = (name for name, kind in self._kinds.items() if type(thing) is kind)
        return next(known, None) or next(entered, type(thing).__name__)

    def spec_of(self, thing: object) -> str:
        """The spec that builds `thing` again: its kind and every option that is not the default."""
        positional, others = None, {}
        for key, field in options_of(type(thing)).items():
            value = getattr(thing, field.name)
            if field.metadata.get("positional"):
                positional = value
            elif field.metadata.get("image_set") and value is not None:
                others[key] = getattr(value, "name", value)
            elif value != field.default:
                others[key] = value
        return write_spec(self.name_of(thing), positional, others)

    def _refuse_unknown(self, name: str) -> None:
        known = self.names()
        if name in known:
            return
        without = _NO_COLON.fullmatch(name)
        meant = f"Did you mean '{without[1]}:{without[2]}'?" if without and without[1] in known else ""
        raise BrittleError(f"unknown {self.noun} {name!r}", meant or did_you_mean(name, known))

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        package = importlib.import_module(self.package)
        for module in pkgutil.walk_packages(package.__path__, self.package + "."):
            importlib.import_module(module.name)

    def _users(self, target: str) -> type[T]:
        """A class of the user's own, loaded again only where its file has changed."""
        stamps = [(path.stat().st_mtime_ns, path.stat().st_size) for path in files_in(target) if path.is_file()]
        known = self._own.get(target)
        if known is None or known[0] != stamps:
            kind = resolve(target)
            if not isinstance(kind, type):
                raise BrittleError(f"{target} is not a class", f"Name the class of a {self.noun}.")
            known = self._own[target] = (stamps, validated(target)(kind))
        return known[1]

    def _imported(self, entry: importlib.metadata.EntryPoint) -> type[T]:
        package = entry.dist.name if entry.dist is not None else entry.module
        try:
            kind = entry.load()
            if not isinstance(kind, type):
                raise TypeError(f"{entry.value} is not a class")
        except Exception as error:
            raise BrittleError(
                f"{self.noun} {entry.name!r} of the package {package!r} can't be loaded: {error}",
                "Fix or uninstall that package.",
            ) from error
        return kind


def _arguments(kind: type, spec: Spec, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a kind is made with, checked: the options of a spec, and more of them as values."""
    known = options_of(kind)
    positional = next((key for key, field in known.items() if field.metadata.get("positional")), None)
    return checked(kind, [*spec.options(known, positional), *options.items()], spec.kind)
