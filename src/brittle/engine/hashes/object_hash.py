"""What a live object is, as a hash: no spec names it, so a run knows it again by weights, code and values.

What may change an answer is taken in; training mode, the versions of libraries and where an object lies in memory are
not. What can't be hashed, such as an open file, makes the object one that no run can know again.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from enum import Enum
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from brittle.classifiers.base import AdaptedClassifier
from brittle.engine.hashes.code_parts import (
    attributes_of,
    contents,
    is_foreign,
    is_library,
    is_pythons,
    members_read,
    names_read,
    words_of,
)
from brittle.engine.hashes.file_hash import contents_hash, with_external_data
from brittle.engine.hashes.torch_parts import (
    RECOMPUTED,
    compiled_from,
    hooks_of,
    scripted,
    traced_code,
    used_in_training,
)
from brittle.engine.hashes.value_bytes import array_parts, is_plain, plain_parts, tensor_parts
from brittle.libraries import first_line

ADAPTED_PARTS = ("module", "function", "estimator", "session", "service")  # what Brittle's own adapters hold
KNOWN = frozenset(vars(nn.Module()))  # what every module has
CYTHONS = "cython_function_or_method"
STATE_METHODS = ("__getstate__", "__reduce__", "__reduce_ex__")
LOCKS = (type(threading.Lock()), type(threading.RLock()))  # which have no value


class ObjectHash(NamedTuple):
    """What a live object is known by."""

    value: str  # a hash
    private: dict[str, str]  # attribute → a hash of its values; one that calls fill is a cache
    unknown: str = ""  # why it can't be known again; "" where it can

    @property
    def whole(self) -> str:
        """A hash of private values too."""
        return _hash((self.value.encode(), repr(self.private).encode())).hex()


class Unhashable(Exception):
    """Somewhere inside an object is something without a value that could be compared."""


def object_hash(what: object) -> ObjectHash:
    """The weights and structure of a network, the code of a function and what it closes over, what an estimator has
    learnt, and the values that any other object holds. Private values are told apart by attribute: a call may fill
    them."""
    return _hash_with(what, _ObjectHasher())


def private_values(what: object) -> dict[str, str]:
    """Only the private values of an object: what differs after a call is filled by calls."""
    return _hash_with(what, _ObjectHasher(numbers=False)).private


def _hash_with(what: object, walk: _ObjectHasher) -> ObjectHash:
    try:
        known_by = walk.digest(what, "").hex()
        return ObjectHash(known_by, walk.private_digests())
    except Unhashable as error:
        return ObjectHash("", {}, str(error))
    except RecursionError:
        return ObjectHash("", {}, "its values are nested too deeply")
    except Exception as error:  # somebody's attributes may do anything when they are read
        return ObjectHash("", {}, f"it can't be looked into ({type(error).__name__}: {first_line(error)})")


class _ObjectHasher:
    """Visits everything that an object holds, each thing once; without `numbers` the weights are passed over."""

    def __init__(self, *, numbers: bool = True) -> None:
        self._numbers = numbers
        self._seen: dict[int, tuple[Any, bytes]] = {}  # by id; held, since the ids of dead objects are given out again
        self._private: dict[str, list[Any]] | None = {}  # attribute → values; None while these are visited

    def private_digests(self) -> dict[str, str]:
        found, self._private, self._numbers = self._private or {}, None, True
        self._seen = {key: (what, b"public") for key, (what, _) in self._seen.items()}
        return {name: self.digest(values, name).hex() for name, values in sorted(found.items())}

    def digest(self, what: Any, at: str) -> bytes:
        """A hash of one thing; `at` says where it was found."""
        if is_plain(what):
            return _hash(plain_parts(what))
        if id(what) in self._seen:
            return self._seen[id(what)][1]  # empty inside itself
        self._seen[id(what)] = what, b""
        found = _hash(itertools.chain((type(what).__qualname__.encode(),), self._inside(what, at)))
        self._seen[id(what)] = what, found
        return found

    def _each(self, values: Any, at: str) -> Iterator[bytes]:
        for value in values:
            yield self.digest(value, at)

    def _named(self, values: Mapping[str, Any], at: str) -> Iterator[bytes]:
        for name, value in values.items():
            yield str(name).encode()
            yield self.digest(value, f"{at}.{name}" if at else str(name))

    def _inside(self, what: Any, at: str) -> Iterator[bytes]:
        if isinstance(what, Tensor):
            yield from tensor_parts(what) if self._numbers else ()
        elif isinstance(what, (np.ndarray, np.generic)):
            yield from self._each(what.tolist(), at) if what.dtype.hasobject else array_parts(np.asarray(what))
        elif isinstance(what, nn.Module):
            yield from self._network(what, at)
        elif isinstance(what, AdaptedClassifier):
            yield from self._adapted(what, at)
        elif isinstance(what, type):
            yield from self._class(what, at)
        elif isinstance(what, (FunctionType, BuiltinFunctionType, MethodType, functools.partial, CodeType)):
            yield from self._callable(what, at)
        elif isinstance(what, (property, staticmethod, classmethod, functools.cached_property)):
            names = ("fget", "fset") if isinstance(what, property) else ("__func__", "func")
            yield from self._each([getattr(what, name, None) for name in names], at)
        elif isinstance(what, ModuleType):
            yield what.__name__.encode()
        elif isinstance(what, CellType):
            yield self.digest(contents(what), at)
        elif isinstance(what, Enum):
            yield what.name.encode()
            yield self.digest(what.value, at)
        elif isinstance(what, (dict, MappingProxyType, list, tuple, deque, set, frozenset)):
            yield from self._container(what, at)
        elif isinstance(what, torch.Generator):
            yield self.digest(what.get_state(), at)
        elif isinstance(what, weakref.ref):
            yield self.digest(what(), at)
        elif isinstance(what, functools._lru_cache_wrapper):
            yield self.digest(what.__wrapped__, at)
        elif hasattr(what, "get_params") and hasattr(what, "fit"):
            import joblib  # every estimator's package brings it

            yield joblib.hash(what).encode()
        elif not isinstance(what, LOCKS):
            yield from self._object(what, at)

    def _container(self, what: Any, at: str) -> Iterator[bytes]:
        if isinstance(what, (dict, MappingProxyType)):
            for key, value in what.items():
                yield self.digest(key, at)
                yield self.digest(value, f"{at}[{key!r}]")
        elif isinstance(what, (set, frozenset)):
            yield from sorted(self._each(what, at))  # their order is another in each process
        else:
            yield from self._each(what, at)
        yield from self._each([getattr(what, name, None) for name in ("maxlen", "default_factory")], at)
        if not is_library(type(what)):
            yield self.digest(type(what), at)
            yield from self._attributes(attributes_of(what), at)

    def _object(self, what: Any, at: str) -> Iterator[bytes]:
        """By its attributes, or where its class says itself what its state is, by that."""
        kind = type(what)
        yield self.digest(kind, at)
        try:
            reduced = what.__reduce_ex__(4)
        except Exception:
            reduced = ""
        if hasattr(what, "__qualname__") and (
            kind.__name__ == CYTHONS or (hasattr(what, "__module__") and is_library(what))
        ):
            reduced = f"{what.__module__}.{what.__qualname__}"
        named = isinstance(reduced, str)
        if named and not (reduced and (is_library(kind) or kind.__name__ == CYTHONS)):
            raise Unhashable(f"{_where(at)} {kind.__name__}, whose value can't be compared")
        if named:
            yield reduced.encode()
        elif any(name in vars(each) for each in kind.__mro__[:-1] for name in STATE_METHODS):
            for part in reduced:
                yield self.digest(list(part) if isinstance(part, Iterator) else part, at)
        else:
            yield from self._attributes(attributes_of(what), at)

    def _attributes(self, values: Mapping[str, Any], at: str) -> Iterator[bytes]:
        """Public values, and what can be called; private ones are put aside, since they may be caches."""
        for name, value in values.items():
            if self._private is None or not name.startswith("_") or callable(value):
                yield name.encode()
                yield self.digest(value, f"{at}.{name}" if at else name)
            else:
                self._private.setdefault(name, []).append(value)

    def _network(self, module: nn.Module, at: str) -> Iterator[bytes]:
        if isinstance(module, torch.jit.ScriptModule):
            yield from scripted(module)
            yield from self._named({**dict(module.named_parameters()), **dict(module.named_buffers())}, at)
            return
        if (original := compiled_from(module)) is not None:
            yield self.digest(original, at)
            return
        yield self.digest(type(module), at)
        yield from traced_code(module)
        for held in (module._parameters, module._buffers, module._modules):
            yield from self._named(held, at)
        yield from self._each(hooks_of(module), at)
        own = {name: value for name, value in vars(module).items() if name not in KNOWN and not used_in_training(value)}
        cached = {name for name in own if isinstance(getattr(type(module), name, None), functools.cached_property)}
        yield from self._attributes({name: own[name] for name in own if name not in cached | RECOMPUTED}, at)

    def _adapted(self, what: AdaptedClassifier, at: str) -> Iterator[bytes]:
        """An adapter by what it holds; what its outputs are may become known at the first call."""
        yield repr((what.preprocess, what._labels, what.mapping)).encode()
        held = {name: vars(what)[name] for name in ADAPTED_PARTS if name in vars(what)}
        if not is_library(type(what)):
            begun = vars(AdaptedClassifier).keys() | {"name", "preprocess", "output", "device", "mapping", "copies"}
            held = {name: value for name, value in vars(what).items() if name not in begun}
            yield self.digest(type(what), at)
        if path := getattr(held.get("session"), "_model_path", None):
            held["session"] = contents_hash(with_external_data(path))
        yield from self._attributes({**held, "_output": what.output}, at)

    def _callable(self, what: Any, at: str) -> Iterator[bytes]:
        if isinstance(what, CodeType):
            yield from self._code(what, at)
        elif isinstance(what, MethodType):
            yield from self._each([what.__func__, what.__self__], at)
        elif isinstance(what, functools.partial):
            yield from self._each([what.func, what.args, what.keywords], at)
        elif (original := getattr(what, "_torchdynamo_orig_callable", None)) is not None:
            yield self.digest(original, at)
        elif not isinstance(what, FunctionType) or is_library(what):
            owner = getattr(what, "__self__", None)
            yield f"{what.__module__}.{what.__qualname__}".encode()
            yield b"" if isinstance(owner, (ModuleType, type(None))) else self.digest(owner, at)
        else:
            yield from self._function(what, at)

    def _function(self, function: FunctionType, at: str) -> Iterator[bytes]:
        """A user's function by its code, and by what that finds around it."""
        yield from self._code(function.__code__, at)
        yield from self._each([function.__defaults__, function.__kwdefaults__], at)
        closed = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        yield from self._named({name: contents(cell) for name, cell in closed}, at)
        yield from self._named({name: value for name, value in vars(function).items() if name != "__wrapped__"}, at)
        read = {
            name: function.__globals__.get(name) for name in names_read(function.__code__, "LOAD_GLOBAL", "LOAD_NAME")
        }
        yield from self._named(read, at)
        imported = [sys.modules.get(name) for name in names_read(function.__code__, "IMPORT_NAME")]
        words = words_of(function.__code__)
        for module in (*read.values(), *imported):
            if isinstance(module, ModuleType):
                yield from self._named(members_read(module, words), module.__name__)

    def _code(self, code: CodeType, at: str) -> Iterator[bytes]:
        yield code.co_code
        yield repr(code.co_names).encode()
        yield from self._each(code.co_consts, at)

    def _class(self, kind: type, at: str) -> Iterator[bytes]:
        """What a user's class holds; of a library's what somebody has put in the place of its own."""
        yield (f"{kind.__module__}." if is_library(kind) else "").encode()
        yield kind.__qualname__.encode()
        for each in kind.__mro__[:-1]:
            told = {name: value for name, value in vars(each).items() if callable(value) or not is_pythons(name)}
            if is_library(each):
                yield from self._named({name: value for name, value in told.items() if is_foreign(value)}, at)
            else:
                descriptors = (MemberDescriptorType, GetSetDescriptorType)
                values = {name: value for name, value in told.items() if not isinstance(value, descriptors)}
                yield from self._attributes(values, at)


def _hash(parts: Any) -> bytes:
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def _where(at: str) -> str:
    return f"its {at} is or holds a" if at else "it is a"
