"""What the modules of a package register, read from their source: kinds and options are known without importing what
implements them, so that a misspelt spec is refused before anybody waits for torch. What can't be read is left open."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brittle.registry.options import option

_REGISTERED = re.compile(r"register\(\s*(?:\"([^\"]+)\"|KIND\b)")
_KIND = re.compile(r"^KIND = \"([^\"]+)\"", re.MULTILINE)
OURS = "brittle"
LIGHT = f"{OURS}.registry"  # of our own packages, the one that may be imported


class Outline:
    """The kinds that the modules of a package register."""

    def __init__(self, package: str) -> None:
        self.package = package

    @functools.cached_property
    def kinds(self) -> dict[str, Path]:
        """Each kind, and the file that registers it."""
        found: dict[str, Path] = {}
        for file in self._files():
            text = file.read_text(encoding="utf-8")
            own = _KIND.search(text)
            names = {name or (own[1] if own else "") for name in _REGISTERED.findall(text)}
            found |= dict.fromkeys(filter(None, names), file)
        return found

    def module(self, kind: str) -> str | None:
        """The module that registers a kind."""
        file = self.kinds.get(kind)
        if file is None:
            return None
        folder = next(each for each in self._folders() if file.is_relative_to(each))
        parts = file.relative_to(folder).with_suffix("").parts
        return ".".join([self.package, *(parts[:-1] if parts[-1] == "__init__" else parts)])

    def options(self, kind: str) -> type | None:
        """A dataclass that has a kind's options and nothing else; None where no class is written out for it."""
        module = _module(self.kinds[kind]) if kind in self.kinds else None
        if module is None:
            return None
        wanted = (f"register({kind!r})", "register(KIND)")
        for node in module.classes.values():
            if any(ast.unparse(each) in wanted for each in node.decorator_list):
                fields = dict(module.fields(node))
                return dataclasses.make_dataclass(
                    node.name, [(name, *declared) for name, declared in fields.items()], kw_only=True
                )
        return None

    def _files(self) -> Iterator[Path]:
        for folder in self._folders():
            yield from sorted(folder.rglob("*.py"))

    def _folders(self) -> list[Path]:
        there = importlib.util.find_spec(self.package)
        return [Path(folder) for folder in (there.submodule_search_locations or ())] if there is not None else []


class _Module:
    """A module that is read and not imported. As the names of an expression, it says what stands for them."""

    def __init__(self, path: Path) -> None:
        self.classes: dict[str, ast.ClassDef] = {}
        self.assigned: dict[str, ast.expr] = {}
        self.imported: dict[str, tuple[str, str]] = {}  # module and name there; "" for the module itself
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.assigned[node.targets[0].id] = node.value
            elif isinstance(node, ast.Import):
                self.imported |= {each.asname or each.name: (each.name, "") for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                self.imported |= {each.asname or each.name: (node.module, each.name) for each in node.names}

    def fields(self, node: ast.ClassDef) -> Iterator[tuple[str, tuple[Any, Any]]]:
        """The annotation and the declaration of every field of a dataclass, those of its bases first."""
        for base in reversed(node.bases):
            module, inherited = self._class(base)
            if module is not None and inherited is not None:
                yield from module.fields(inherited)
        if any("dataclass" in ast.unparse(each) for each in node.decorator_list):
            annotated = (each for each in node.body if isinstance(each, ast.AnnAssign))
            for each in annotated:
                if isinstance(each.target, ast.Name) and not ast.unparse(each.annotation).startswith("ClassVar"):
                    yield each.target.id, self._declared(each)

    def __getitem__(self, name: str) -> Any:
        if name in self.assigned:
            return self._value(self.assigned[name])
        module, there = self.imported[name]
        if module.split(".")[0] in sys.stdlib_module_names or module.startswith(LIGHT):
            found = importlib.import_module(module)
            return getattr(found, there) if there else found
        other = _named(module)
        if other is None:
            raise KeyError(name)
        return other[there]

    def _declared(self, node: ast.AnnAssign) -> tuple[Any, Any]:
        try:
            hint = self._value(node.annotation)
        except Exception:  # a type of something that is not imported
            hint = Any
        try:
            declared = option(dataclasses.MISSING, "") if node.value is None else self._value(node.value)
        except Exception:
            declared = option(None, "")  # known by its name alone
        return hint, declared

    def _value(self, node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "", "eval"), {}, self)  # type: ignore[arg-type]

    def _class(self, base: ast.expr) -> tuple[_Module | None, ast.ClassDef | None]:
        if not isinstance(base, ast.Name):
            return None, None
        if base.id in self.classes:
            return self, self.classes[base.id]
        module, name = self.imported.get(base.id, ("", ""))
        other = _named(module)
        return other, None if other is None else other.classes.get(name)


@functools.cache
def _module(path: Path) -> _Module:
    return _Module(path)


def _named(module: str) -> _Module | None:
    """A module of ours by its name; its packages are not imported either."""
    first, *others = module.split(".")
    if first != OURS:
        return None
    path = Path(sys.modules[OURS].__path__[0], *others)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return _module(file) if file.is_file() else None
