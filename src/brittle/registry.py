"""One small registry for every kind of thing that has a name, and the specs that name them.

A spec is `kind:what,option=value,…`: `affine:alpha=50`, `onnx:model.onnx,output=logits`, `sample`.
A kind is a frozen dataclass whose fields, made with `option`, are its options: the command line,
the study file and the documentation are all made from them. Modules of the registry's package are
imported when the first name is looked up; other packages' kinds come through entry points and are
imported when they are used.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import importlib.metadata
import pkgutil
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from brittle.errors import BrittleError

T = TypeVar("T")


def option(default: Any, help: str, *, positional: bool = False, image_set: bool = False) -> Any:
    """A dataclass field with one line of help; a positional one is the spec's `what`. One that is an image set holds
    its spec until whoever may open image sets has put the set itself in its place."""
    return dataclasses.field(default=default, metadata={"help": help, "positional": positional, "image_set": image_set})


class Spec(NamedTuple):
    """A spec taken apart; values are still text."""

    kind: str
    parts: tuple[str, ...]


def parse_spec(text: str) -> Spec:
    """`kind:part,part,…`; a backslash before a comma keeps it."""
    kind, _, rest = text.strip().partition(":")
    parts = [part.replace("\\,", ",").replace("\\+", "+") for part in re.split(r"(?<!\\),", rest)] if rest else []
    return Spec(kind.strip(), tuple(part.strip() for part in parts))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The remedy for a wrong word: the nearest right one, or all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f"Did you mean {near[0]!r}?" if near else f"There is: {', '.join(names) or 'nothing yet'}."


class Registry(Generic[T]):
    """Names → dataclasses of one sort (`noun`), from the modules of `package` and from the entry points of `group`,
    which is called like the package where it has no name of its own."""

    def __init__(self, noun: str, package: str, group: str = "") -> None:
        self.noun, self.package, self.group = noun, package, group or package
        self._kinds: dict[str, type[T]] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """Class decorator. The same name for two classes is an error, not a silent replacement."""

        def add(kind: type[T]) -> type[T]:
            known = self._kinds.setdefault(name, kind)
            if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
                raise BrittleError(
                    f"{self.noun} {name!r} is registered twice: by {known.__module__} and by {kind.__module__}",
                    "Rename one of them.",
                )
            self._kinds[name] = kind
            return kind

        return add

    def names(self) -> list[str]:
        """Every kind there is, built in or through entry points."""
        self._load()
        return sorted({*self._kinds, *importlib.metadata.entry_points(group=self.group).names})

    def get(self, name: str) -> type[T]:
        """The class of a name. What is wrong with one package's entry point concerns nobody who asks for another."""
        self._load()
        for entry in importlib.metadata.entry_points(group=self.group, name=name):
            self.register(name)(self._imported(entry))
        if name not in self._kinds:
            raise BrittleError(f"unknown {self.noun} {name!r}", did_you_mean(name, self.names()))
        return self._kinds[name]

    def build(self, text: str) -> T:
        """The object that a spec names, its options checked and converted."""
        spec = parse_spec(text)
        kind = self.get(spec.kind)
        return kind(**_arguments(kind, spec, self.noun))

    def make(self, name: str, options: Mapping[str, Any]) -> T:
        """The kind with options given as values, checked as those of a spec are."""
        kind = self.get(name)
        fields, hints = options_of(kind), typing.get_type_hints(kind)
        arguments = {}
        for key, value in options.items():
            spelled = key.replace("_", "-")
            if spelled not in fields:
                raise BrittleError(f"{self.noun} {name!r} has no option {spelled!r}", did_you_mean(spelled, fields))
            try:
                arguments[fields[spelled].name] = TypeAdapter(hints[fields[spelled].name]).validate_python(value)
            except ValidationError as error:
                wrong = error.errors()[0]["msg"]
                raise BrittleError(f"{self.noun} {name!r}, option {spelled!r}: {value!r} won't do: {wrong}") from error
        return kind(**arguments)

    def name_of(self, thing: object) -> str:
        """The name a thing is registered under, loaded or not; its class's name where it is not registered."""
        self._load()
        here = f"{type(thing).__module__}:{type(thing).__qualname__}"
        entries = importlib.metadata.entry_points(group=self.group)
        entered = (entry.name for entry in entries if entry.value == here)
        known = (name for name, kind in self._kinds.items() if type(thing) is kind)
        return next(known, None) or next(entered, type(thing).__name__)

    def spec_of(self, thing: object) -> str:
        """The spec that builds `thing` again: its kind and every option that is not the default."""
        parts: list[str] = []
        for key, field in options_of(type(thing)).items():
            value = getattr(thing, field.name)
            if field.metadata.get("positional"):
                if value is not None:
                    parts.insert(0, written(value))
            elif field.metadata.get("image_set") and value is not None:
                parts.append(f"{key}={written(getattr(value, 'name', value))}")
            elif value != field.default:
                parts.append(f"{key}={written(value)}")
        return ":".join((self.name_of(thing), ",".join(parts))) if parts else self.name_of(thing)

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        package = importlib.import_module(self.package)
        for module in pkgutil.walk_packages(package.__path__, self.package + "."):
            importlib.import_module(module.name)

    def _imported(self, entry: importlib.metadata.EntryPoint) -> type[T]:
        package = entry.dist.name if entry.dist is not None else entry.module
        try:
            kind = entry.load()
            if not isinstance(kind, type):
                raise TypeError(f"{entry.value} is no class")
        except Exception as error:
            raise BrittleError(
                f"{self.noun} {entry.name!r} of the package {package!r} can't be loaded: {error}",
                "Mend or uninstall that package.",
            ) from error
        return kind


def options_of(kind: type) -> dict[str, dataclasses.Field[Any]]:
    """The options of a kind, by the name a user types."""
    if not dataclasses.is_dataclass(kind):
        return {}
    return {field.name.replace("_", "-"): field for field in dataclasses.fields(kind) if field.init}


def written(value: Any) -> str:
    """A value as a spec has it."""
    if isinstance(value, tuple):
        return "/".join(written(item) for item in value)
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value).replace(",", "\\,").replace("+", "\\+")


def _arguments(kind: type, spec: Spec, noun: str) -> dict[str, Any]:
    fields = options_of(kind)
    hints = typing.get_type_hints(kind)
    where = f"{noun} {spec.kind!r}"
    positional = next((key for key, field in fields.items() if field.metadata.get("positional")), None)
    arguments: dict[str, Any] = {}
    for place, part in enumerate(spec.parts):
        key, equals, value = part.partition("=")
        key = key.strip().replace("_", "-")
        if place == 0 and positional is not None and not (equals and key in fields):
            key, value = positional, part
        elif not equals:
            raise BrittleError(f"{where}: {part!r} is not option=value", f"Options: {_listing(fields)}.")
        if key not in fields:
            raise BrittleError(f"{where} has no option {key!r}", did_you_mean(key, fields))
        name = fields[key].name
        if name in arguments:
            raise BrittleError(f"{where}: option {key!r} is given twice", "Give it once.")
        arguments[name] = convert(value, hints[name], f"{where}, option {key!r}")
    for key, field in fields.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and field.name not in arguments:
            raise BrittleError(
                f"{where} needs {key!r} ({field.metadata.get('help', '')})", f"For example {spec.kind}:{key}=…"
            )
    return arguments


def _listing(fields: Iterable[str]) -> str:
    return ", ".join(fields) or "none"


def convert(text: str, hint: Any, where: str) -> Any:
    """Text → a value of the annotated type: numbers, booleans, words, choices, tuples written a/b/c."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if type(None) in inner and text.lower() in ("", "none"):
            return None
        failure: BrittleError | None = None
        for choice in inner:
            if choice is not type(None):
                try:
                    return convert(text, choice, where)
                except BrittleError as error:
                    failure = failure or error
        raise failure or BrittleError(f"{where}: {text!r} fits none of its types")
    if origin is typing.Literal:
        if text not in inner:
            raise BrittleError(
                f"{where}: {text!r} is not one of {', '.join(map(str, inner))}", did_you_mean(text, map(str, inner))
            )
        return text
    if origin is tuple:
        return tuple(convert(part, inner[0], where) for part in text.split("/"))
    if hint is bool:
        if text.lower() not in ("true", "false", "yes", "no", "1", "0"):
            raise BrittleError(f"{where}: {text!r} is not true or false")
        return text.lower() in ("true", "yes", "1")
    if hint in (int, float):
        try:
            return hint(text)
        except ValueError:
            raise BrittleError(f"{where}: {text!r} is not a {'whole number' if hint is int else 'number'}") from None
    return text
