"""The house: who may import whom. Arrows point one way, and no module imports itself by way of others. And its tests:
each asserts the same every time.

`pytest -s tests/test_house.py` and `python tests/test_house.py` print which package imports which.
"""

import ast
import importlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

Node = TypeVar("Node", bound=ast.AST)

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src"
GROUND = (
    "types",
    "random",
    "registry",
    "errors",
    "files",
    "contained_files",
    "class_names",
    "imagenet",
    "network_access",
    "progress",
    "notebook",
    "device",
    "memory",
    "allocator",
    "cached",
    "constants",
    "differences",
    "commands",
    "cases",
    "terminal",
    "libraries",
)
# From the bottom up: a name may import what stands on a lower floor. Those on one floor know nothing of each other.
FLOORS = (
    ("diffusion",),
    ("classifiers", "images", "nuisances"),
    ("extras", "mixing"),
    ("statistics",),
    ("samplers",),
    ("measures",),
    ("training",),
    ("study",),
    ("engine",),
    ("comparison",),
    ("hardening",),
    ("generation",),
    ("report",),
    ("explorer",),
    ("labelling",),
    ("gate",),
    ("results",),
    ("tracking",),
    ("api", "extend"),
    ("callbacks",),
    ("brittle",),  # the public names
    ("cli",),
    ("__main__",),
)
FLOOR_OF = dict.fromkeys(GROUND, 0) | {name: floor for floor, names in enumerate(FLOORS, 1) for name in names}
THINGS = frozenset({"classifiers", "images", "nuisances"})
APART = {"statistics": THINGS, "samplers": THINGS, "training": {"measures"}}
# What runs measures and what shows sections know their protocols, and none of them by name.
PROTOCOLS = (("brittle.engine", "brittle.measures"), ("brittle.report.page", "brittle.report.sections"))

LONGEST_FILE, LONGEST_FUNCTION = 420, 70  # lines
# Words that two packages need; no file imports both.
SHARED = {
    "Cell": {"brittle.measures.base.run_view", "brittle.report.blocks"},
    "Estimate": {"brittle.statistics.estimate", "brittle.report.blocks.text"},  # computed, and as it is shown
    "Line": {"brittle.measures.line.measure", "brittle.report.blocks.figure"},
    "Occlusion": {"brittle.measures.occlusion.measure", "brittle.nuisances.occlusion.rectangular"},
}

NOW, LATER, TYPES = "when imported", "when used", "for types only"


class Import(NamedTuple):
    """One module that another names, as `brittle.package.module`."""

    source: str
    target: str
    when: str
    line: int

    @property
    def packages(self) -> tuple[str, str]:
        return package(self.source), package(self.target)

    def __str__(self) -> str:
        return f"{self.source}, line {self.line}, imports {self.target} ({self.when})"


def package(module: str) -> str:
    """The name under `brittle` that a module belongs to; `brittle` itself is one too."""
    return module.split(".")[1] if "." in module else module


@cache
def modules() -> Mapping[str, Path]:
    names = {}
    for path in sorted((SOURCE / "brittle").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


@cache
def imports() -> list[Import]:
    """Every import of one module of the package by another."""
    return [
        Import(source, target, when, line)
        for source, path in modules().items()
        for target, when, line in found_in(ast.parse(path.read_text(encoding="utf-8")), source)
        if target != source
    ]


def found_in(tree: ast.Module, source: str) -> Iterator[tuple[str, str, int]]:
    def walk(node: ast.AST, when: str) -> Iterator[tuple[str, str, int]]:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for target in named_by(node, source):
                yield target, when, node.lineno
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from walk(child, TYPES)
            for child in node.orelse:
                yield from walk(child, when)
        else:
            inside = LATER if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else when
            for child in ast.iter_child_nodes(node):
                yield from walk(child, inside)

    return walk(tree, NOW)


def named_by(node: ast.Import | ast.ImportFrom, source: str) -> set[str]:
    """Modules of ours that an import names: `from brittle.a import b` names brittle.a.b where that is a module."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & modules().keys()
    home = node.module or ""
    if node.level:
        here = source.split(".") if modules()[source].name == "__init__.py" else source.split(".")[:-1]
        home = ".".join([*here[: len(here) - node.level + 1], *([node.module] if node.module else [])])
    if home not in modules():
        return set()
    return {name if (name := f"{home}.{alias.name}") in modules() else home for alias in node.names}


def listing() -> str:
    """Each package and what it imports, from the top of the house down; lazy and typing-only imports are marked."""
    arrows: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for each in imports():
        start, end = each.packages
        if start != end:
            arrows[start][end][each.when] += 1
    lines = []
    for start in sorted(arrows, key=height, reverse=True):
        words = [
            f"{end} ({', '.join(f'{count} {when}' for when, count in sorted(times.items()))})"
            if set(times) != {NOW}
            else f"{end} ({times[NOW]})"
            for end, times in sorted(arrows[start].items(), key=lambda item: height(item[0]), reverse=True)
        ]
        lines.append(f"{start} → {', '.join(words)}")
    return "\n".join(lines)


def height(name: str) -> tuple[int, str]:
    return FLOOR_OF.get(name, len(FLOORS) + 1), name


def counted() -> list[Import]:
    """Imports that are carried out, at once or later."""
    return [each for each in imports() if each.when != TYPES]


def test_every_package_has_its_floor():
    print(f"\n{listing()}")
    assert {package(name) for name in modules()} - FLOOR_OF.keys() == set()


@pytest.mark.parametrize("start", FLOOR_OF)
def test_arrows_point_down(start):
    wrong = []
    for each in counted():
        source, target = each.packages
        if source != start or target == start:
            continue
        below = FLOOR_OF.get(target, len(FLOORS)) < FLOOR_OF[start]
        if not (below or {start, target} <= set(GROUND)) or target in APART.get(start, ()):
            wrong.append(str(each))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("user", "home"), PROTOCOLS)
def test_protocols_are_used_and_nobody_by_name(user, home):
    """A package under `home` is one measure or section: its module may not be imported, nor its name be written."""
    assert {user, home} - modules().keys() == set()
    wrong = [
        str(each)
        for each in counted()
        if inside(each.source, user) and inside(each.target, home) and lies_in_a_package_of(home, each.target)
    ]
    kinds = registered(home)
    assert kinds
    wrong += [
        f"{module}, line {node.lineno}, says {node.value!r}"
        for module, path in modules().items()
        if inside(module, user)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in kinds
    ]
    assert not wrong, "\n".join(wrong)


def inside(module: str, home: str) -> bool:
    return f"{module}.".startswith(f"{home}.")


def lies_in_a_package_of(home: str, module: str) -> bool:
    """Other than `base`, which is the protocol."""
    rest = module.removeprefix(home).lstrip(".").split(".")
    first = modules().get(f"{home}.{rest[0]}")
    return first is not None and first.name == "__init__.py" and rest[0] != "base"


def registered(home: str) -> set[str]:
    """The names in the registry that `home` has, called as itself: `measures` in brittle.measures."""
    return set(getattr(importlib.import_module(home), home.split(".")[-1]).names())


def test_a_study_is_a_schema_that_opens_no_file():
    """Whatever may open a file, `engine.open` does before the schema sees a study."""
    allowed = (
        {"differences", "errors", "registry"},
        {"brittle.images.selection", "brittle.measures", "brittle.measures.base"},
    )
    wrong = [
        str(each)
        for each in counted()
        if each.source == "brittle.study" and package(each.target) not in allowed[0] and each.target not in allowed[1]
    ]
    assert not wrong, "\n".join(wrong)
    source = ast.walk(ast.parse(modules()["brittle.study"].read_text(encoding="utf-8")))
    assert not {"open", "Path", "os", "pathlib"} & {node.id for node in source if isinstance(node, ast.Name)}


def test_no_module_imports_itself_by_way_of_others():
    """Lazily neither. What a module takes from a package that it lies in is left out: Python imports that first."""
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for each in counted():
        if not inside(each.source, each.target):
            graph[each.source].add(each.target)
    cycles = []
    while True:  # one after the other, each broken where it was found
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycles.append(" ← ".join(error.args[1]))
            graph[error.args[1][1]].discard(error.args[1][0])
        else:
            break
    assert not cycles, "\n".join(cycles)


def nodes(kind: type[Node]) -> Iterator[tuple[str, Node]]:
    """Every definition of a kind, with the module it stands in; generated functions are left out."""
    for module, path in modules().items():
        if not inside(module, "brittle.api.generated"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, kind):
                    yield module, node


def test_no_two_classes_share_a_name():
    homes: defaultdict[str, set[str]] = defaultdict(set)
    for module, node in nodes(ast.ClassDef):
        homes[node.name].add(module)
    assert {name: found for name, found in homes.items() if len(found) > 1} == SHARED


def test_functions_and_files_stay_short():
    long = [
        f"{module}, line {node.lineno}: {node.name}"
        for module, node in nodes(ast.FunctionDef)
        if (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ]
    long += [module for module, path in modules().items() if len(path.read_bytes().splitlines()) > LONGEST_FILE]
    assert not long, "\n".join(long)


def test_no_test_asserts_only_sometimes():
    """An assertion or a skip inside an `if` may be one that is never met."""
    claims = ("pytest.raises", "pytest.skip", "pytest.fail")
    wrong = [
        f"{path.relative_to(TESTS)}, line {node.lineno}"
        for path in sorted(TESTS.rglob("*.py"))
        for choice in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(choice, (ast.If, ast.Match))
        for node in ast.walk(choice)
        if isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and ast.unparse(node.func) in claims)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_test_reads_a_clock():
    clocks = {"perf_counter", "monotonic", "process_time", "perf_counter_ns", "monotonic_ns", "process_time_ns"}
    wrong = [
        f"{path.relative_to(TESTS)}, line {node.lineno}"
        for path in sorted(TESTS.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Attribute, ast.Name)) and ast.unparse(node).split(".")[-1] in clocks
    ]
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    print(listing())
