"""Live objects in a run folder. No spec names them, so a run knows them by what they are: weights, code and values."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from brittle.classifiers.base import AdaptedClassifier
from brittle.errors import BrittleError
from brittle.images.base import ImageSet
from brittle.nuisances import nuisance, nuisances
from brittle.types import Nuisance

LIVE = "live:"
LIBRARIES = ("brittle", "torch", "torchvision", "timm", "transformers", "sklearn")  # whose code is not the user's
HELD = ("module", "function", "estimator")  # what an adapter holds


class Opened(NamedTuple):
    """An image set that has been opened already, and the spec that opens it again."""

    spec: str
    images: ImageSet


def spec_text(what: Any) -> str:
    """What a study file says of a classifier or an image set: its spec, or what a live object is called."""
    if isinstance(what, str):
        return what
    if isinstance(what, Opened):
        return what.spec
    named = what.name if isinstance(what, (AdaptedClassifier, ImageSet)) else getattr(what, "__name__", "")
    return f"{LIVE}{named or type(what).__name__}"


def nuisance_text(what: Any) -> str:
    """The same of a nuisance: a spec where one makes the same nuisance again."""
    if isinstance(what, str):
        return what
    spec = nuisances.spec_of(what)
    return spec if _made_by(spec, what) else f"{LIVE}{spec}#{identity(what)}"


def _made_by(spec: str, what: Nuisance) -> bool:
    try:
        return bool(nuisance(spec) == what)
    except (BrittleError, ValueError, TypeError, RuntimeError):  # no such kind; options that can't be compared
        return False


def is_live(text: str) -> bool:
    return text.startswith(LIVE)


def refuse_live(text: Any) -> None:
    """Where a study names what only the program that began its run had."""
    if isinstance(text, str) and is_live(text):
        called = text.removeprefix(LIVE).partition("#")[0]
        raise BrittleError(
            f"{called} was a live Python object, which no spec names",
            "Give the object itself again, from Python.",
        )


def identity(what: object) -> str:
    """A hash of a live object: the weights and structure of a network, the code of a function and what it closes over,
    what an estimator has learnt, and the values that any other object holds."""
    digest = hashlib.blake2b(digest_size=12)
    for part in _parts(what, set()):
        digest.update(part)
    return digest.hexdigest()


def _parts(what: Any, seen: set[int]) -> Iterator[bytes]:
    if what is None or isinstance(what, (str, bytes, int, float, complex)):
        yield repr(what).encode()
    elif isinstance(what, (Tensor, np.ndarray)):
        yield from _numbers(what)
    elif id(what) not in seen:
        seen.add(id(what))
        yield type(what).__qualname__.encode()
        yield from _inside(what, seen)


def _inside(what: Any, seen: set[int]) -> Iterator[bytes]:
    if isinstance(what, nn.Module):
        yield repr(what).encode()
        for kind in dict.fromkeys(map(type, what.modules())):
            yield from _code_of_class(kind)
        for key, value in what.state_dict().items():
            yield key.encode()
            yield from _numbers(value) if isinstance(value, Tensor) else iter((repr(value).encode(),))
    elif isinstance(what, AdaptedClassifier):
        yield repr((what.preprocess, what._labels, what.mapping)).encode()
        yield from _parts([getattr(what, name, None) for name in HELD], seen)
    elif isinstance(what, FunctionType):
        yield from _code(what.__code__)
        yield from _parts([what.__defaults__, what.__kwdefaults__, *map(_held, what.__closure__ or ())], seen)
    elif isinstance(what, MethodType):
        yield from _parts([what.__func__, what.__self__], seen)
    elif isinstance(what, functools.partial):
        yield from _parts([what.func, what.args, what.keywords], seen)
    elif isinstance(what, Mapping):
        yield from _parts([*what.items()], seen)
    elif isinstance(what, (list, tuple)):
        for each in what:
            yield from _parts(each, seen)
    elif hasattr(what, "get_params") and hasattr(what, "fit"):
        import joblib  # every estimator's package brings it

        yield joblib.hash(what).encode()
    elif hasattr(what, "__dict__"):
        yield from _code_of_class(type(what))
        yield from _parts(vars(what), seen)


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


def _code_of_class(kind: type) -> Iterator[bytes]:
    """The methods of a user's class; libraries may be updated between one run and the next."""
    for each in kind.__mro__:
        if each is not object and each.__module__.partition(".")[0] not in LIBRARIES:
            for member in vars(each).values():
                if isinstance(member, FunctionType):
                    yield from _code(member.__code__)


def _code(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr(code.co_names).encode()
    for each in code.co_consts:
        yield from _code(each) if isinstance(each, CodeType) else iter((repr(each).encode(),))
