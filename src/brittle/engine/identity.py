"""What a live object is, as a hash: no spec names it, so a run knows it again by weights, code and values.

What may change an answer is taken in; training mode, the versions of libraries and where an object lies in memory are
not.
"""

from __future__ import annotations

import dis
import functools
import hashlib
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from brittle.classifiers.base import AdaptedClassifier

LIBRARIES = (
    *("brittle", "builtins", "lightning", "numpy", "PIL", "pytorch_lightning", "scipy", "sklearn", "timm", "torch"),
    *("torchmetrics", "torchvision", "transformers"),
)
HELD = ("module", "function", "estimator")  # what an adapter holds
PLAIN = (str, bytes, int, float, complex, type(None))
Seen = dict[int, Any]  # by id; the objects themselves are held, since the ids of dead ones are given out again


def identity(what: object) -> str:
    """A hash of a live object: the weights and structure of a network, the code of a function and what it closes over,
    what an estimator has learnt, and the values that any other object holds."""
    digest = hashlib.blake2b(digest_size=12)
    for part in _parts(what, {}):
        digest.update(part)
    return digest.hexdigest()


def _parts(what: Any, seen: Seen) -> Iterator[bytes]:
    if isinstance(what, PLAIN):
        yield repr(what).encode()
    elif isinstance(what, (Tensor, np.ndarray)):
        yield from _numbers(what)
    elif id(what) not in seen:
        seen[id(what)] = what
        yield type(what).__qualname__.encode()
        yield from _inside(what, seen)


def _inside(what: Any, seen: Seen) -> Iterator[bytes]:
    if isinstance(what, nn.Module):
        yield from _network(what, seen)
    elif isinstance(what, AdaptedClassifier):
        yield repr((what.preprocess, what._labels, what.mapping)).encode()
        yield from _parts([getattr(what, name, None) for name in HELD], seen)
    elif isinstance(what, type):
        yield from _class(what, seen)
    elif isinstance(what, (FunctionType, BuiltinFunctionType)):
        yield from _function(what, seen)
    elif isinstance(what, MethodType):
        yield from _parts([what.__func__, what.__self__], seen)
    elif isinstance(what, functools.partial):
        yield from _parts([what.func, what.args, what.keywords], seen)
    elif isinstance(what, Mapping):
        yield from _parts([*what.items()], seen)
    elif isinstance(what, (list, tuple)):
        for each in what:
            yield from _parts(each, seen)
    elif isinstance(what, (set, frozenset)):
        yield repr(sorted(map(repr, what))).encode()  # their order is another in each process
    elif hasattr(what, "get_params") and hasattr(what, "fit"):
        import joblib  # every estimator's package brings it

        yield joblib.hash(what).encode()
    elif hasattr(what, "__dict__") and not isinstance(what, ModuleType):
        yield from _class(type(what), seen)
        yield from _parts(vars(what), seen)


def _network(module: nn.Module, seen: Seen) -> Iterator[bytes]:
    yield repr(module).encode()
    for kind in dict.fromkeys(map(type, module.modules())):
        yield from _class(kind, seen)
    for key, value in module.state_dict().items():
        yield key.encode()
        yield from _parts(value, seen) if isinstance(value, (Tensor, *PLAIN)) else iter((repr(value).encode(),))
    for part in module.modules():
        yield from _parts(_own_values(part), seen)
        for hooks in (part._forward_pre_hooks, part._forward_hooks):
            yield from _parts([hook for hook in hooks.values() if not _is_library(hook)], seen)


def _own_values(part: nn.Module) -> dict[str, Any]:
    """What a user's module holds beside its weights, such as a temperature or an activation. What is private and holds
    numbers is taken for a cache, which a first call fills."""
    if _is_library(type(part)):
        return {}
    known = vars(nn.Module()).keys()
    own = {key: value for key, value in vars(part).items() if key not in known and _tells(value)}
    return {key: value for key, value in own.items() if not _is_cache(type(part), key, value)}


def _is_cache(kind: type, key: str, value: Any) -> bool:
    private = key.startswith("_") and not isinstance(value, PLAIN) and not callable(value)
    return private or isinstance(getattr(kind, key, None), functools.cached_property)


def _function(function: Any, seen: Seen) -> Iterator[bytes]:
    """A library's function by its name; a user's by its code, and by what that finds around it."""
    if not isinstance(function, FunctionType) or _is_library(function):
        yield f"{function.__module__}.{function.__qualname__}".encode()
        return
    yield from _code(function.__code__)
    cells = [_held(cell) for cell in function.__closure__ or ()]
    yield from _parts([function.__defaults__, function.__kwdefaults__, *cells], seen)
    around = {name: function.__globals__.get(name) for name in sorted(_globals_of(function.__code__))}
    yield from _parts({name: value for name, value in around.items() if _tells(value)}, seen)


def _class(kind: type, seen: Seen) -> Iterator[bytes]:
    """The methods of a user's class, and the plain values it holds."""
    for each in kind.__mro__:
        if not _is_library(each):
            for name, member in vars(each).items():
                if isinstance(member, FunctionType) or (not name.startswith("__") and isinstance(member, PLAIN)):
                    yield from _parts(member, seen)


def _tells(value: Any, deep: int = 5) -> bool:
    """Whether a value that is merely at hand may take part in an answer: numbers, and whatever can be called. A
    dataset or a trainer that stands beside them does not, and may change."""
    if isinstance(value, (list, tuple, Mapping)):
        inside = value.values() if isinstance(value, Mapping) else value
        return deep > 0 and all(_tells(each, deep - 1) for each in inside)
    return isinstance(value, (Tensor, np.ndarray, *PLAIN)) or callable(value)


def _is_library(what: Any) -> bool:
    """Whether its code is a library's: that may be updated between one run and the next."""
    return (getattr(what, "__module__", None) or "builtins").partition(".")[0] in LIBRARIES


def _held(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _numbers(values: Any) -> Iterator[bytes]:
    yield f"{values.dtype} {tuple(values.shape)}".encode()
    if isinstance(values, Tensor):
        yield values.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    else:
        yield repr(values.tolist()).encode() if values.dtype.hasobject else np.ascontiguousarray(values).tobytes()


def _code(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr(code.co_names).encode()
    for each in code.co_consts:
        yield from _code(each) if isinstance(each, CodeType) else _parts(each, {})


def _globals_of(code: CodeType) -> set[str]:
    """The names of globals that code reads, that of functions inside it too."""
    found = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_globals_of(each) for each in code.co_consts if isinstance(each, CodeType)))
