"""What belongs to code: whose it is, the names that it reads, and where attributes of objects and modules lie."""

from __future__ import annotations

import dis
import functools
import sys
from types import CellType, CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from brittle.errors import is_users


def attributes_of(what: Any) -> dict[str, Any]:
    """An object's attributes, those in slots too."""
    in_slots = {name: getattr(what, name) for name in _slots(type(what)) if hasattr(what, name)}
    return {**in_slots, **getattr(what, "__dict__", {})}


def _slots(kind: type) -> list[str]:
    descriptors = ((name, value) for each in kind.__mro__ for name, value in vars(each).items())
    return sorted({name for name, value in descriptors if isinstance(value, MemberDescriptorType)})


def is_pythons(name: str) -> bool:
    """Whether Python itself puts a value of this name into a class."""
    return name == "_abc_impl" or (name.startswith("__") and name.endswith("__"))


def is_library(what: Any) -> bool:
    """Whether its code is a library's: that may be updated between one run and the next."""
    return from_library(getattr(what, "__module__", None) or "builtins")


@functools.cache
def from_library(name: str) -> bool:
    top = name.partition(".")[0]
    file = getattr(sys.modules.get(name), "__file__", None) or getattr(sys.modules.get(top), "__file__", None)
    return top == "brittle" or top in sys.stdlib_module_names or (file is not None and not is_users(file))


def is_foreign(member: Any) -> bool:
    """Whether a library's member is a function that the library does not have."""
    return isinstance(member, FunctionType) and not is_library(member)


def members_read(module: ModuleType, words: set[str]) -> dict[str, Any]:
    """What code that names a module, and these words, may read there and in modules below; of a library's what is not
    its own."""
    library, found = from_library(module.__name__), dict[str, Any]()
    for name in sorted(words & vars(module).keys()):
        value = vars(module)[name]
        if isinstance(value, ModuleType) and value.__name__.startswith(f"{module.__name__}."):
            found |= {f"{name}.{inside}": each for inside, each in members_read(value, words).items()}
        elif not library or is_foreign(value):
            found[name] = value
    return found


def contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def names_read(code: CodeType, *instructions: str) -> list[str]:
    """The names that code reads by some instructions, that of functions inside it too."""
    found = {each.argval for each in dis.get_instructions(code) if each.opname in instructions}
    return sorted(
        found.union(*(names_read(each, *instructions) for each in code.co_consts if isinstance(each, CodeType)))
    )


def words_of(code: CodeType) -> set[str]:
    """Every name in code: globals, attributes, what it imports."""
    return set(code.co_names).union(*(words_of(each) for each in code.co_consts if isinstance(each, CodeType)))
