"""Values without parts, as bytes to be hashed: numbers, words, dates, and the contents of arrays and tensors."""

from __future__ import annotations

import datetime
import decimal
import fractions
import pathlib
import re
import types
import typing
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

PLAIN = frozenset(
    (
        *(str, bytes, bytearray, int, float, complex, bool, type(None), type(...), type(NotImplemented), range, slice),
        *(decimal.Decimal, fractions.Fraction, uuid.UUID, re.Pattern, pathlib.PosixPath, pathlib.PurePosixPath),
        *(pathlib.WindowsPath, datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone),
        *(torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format),
        *(types.GenericAlias, types.UnionType, typing.TypeVar),
    )
)


def is_plain(value: Any) -> bool:
    """Whether a value is all that its repr says. Of a subclass that need not be so."""
    return type(value) in PLAIN or isinstance(value, (np.dtype, typing._Final))


def plain_parts(value: Any) -> Iterator[bytes | bytearray]:
    yield type(value).__qualname__.encode()
    yield value if isinstance(value, (bytes, bytearray)) else repr(value).encode(errors="surrogatepass")
    if isinstance(value, re.Pattern):
        yield f"{value.pattern!r} {value.flags}".encode()  # its repr is cut off


def array_parts(values: np.ndarray[Any, Any]) -> Iterator[Any]:
    yield f"{values.dtype} {values.shape}".encode()
    yield np.ascontiguousarray(values).reshape(-1).view(np.uint8).data if values.size else b""


def tensor_parts(values: Tensor) -> Iterator[Any]:
    """A tensor by its numbers, wherever it lies and however it is laid out in memory."""
    values = values.detach()
    yield f"{values.dtype} {tuple(values.shape)} {values.layout}".encode()
    if values.is_quantized:
        yield f"{values.qscheme()}".encode()
        values = values.dequantize()
    if values.layout != torch.strided:
        values = values.to_dense()
    if values.is_meta:
        return
    plain = values.resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    yield plain.view(torch.uint8).numpy().data if plain.numel() else b""
