"""What torch's ONNX exporter can't translate yet, written with ONNX operations: sorting, bits, angles and erf⁻¹."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

# M. Giles, "Approximating the erfinv function" (GPU Computing Gems 2, 2011), single precision: coefficients from the
# highest power down, for w = −log(1 − x²) below 5 in w − 2.5, and from 5 on in √w − 3.
_CENTRE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)
_FLOAT, _INT16, _INT32, _INT64, _UINT64 = 1, 5, 6, 7, 13  # of onnx.TensorProto
_BITS = {_INT16: 16, _INT32: 32}
_TYPES = {torch.int16: _INT16, torch.int32: _INT32}


def translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For `torch.onnx.export`: by torch operation, a function that writes it with onnxscript."""
    import onnxscript

    op: Any = onnxscript.opset18

    def sort(values: Any, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
        # TopK puts the lower index first among equals, so it is stable.
        count = op.Reshape(op.Gather(op.Shape(values), op.Constant(value_int=dim), axis=0), _whole([1]))
        return op.TopK(values, count, axis=dim, largest=int(descending), sorted=1)

    def hypot(across: Any, down: Any) -> Any:
        return op.Sqrt(op.Add(op.Mul(across, across), op.Mul(down, down)))

    def words(values: Any, dtype: Any) -> Any:
        """int64 seen as several integers of fewer bits, the lowest first."""
        kind = _TYPES.get(dtype, dtype)
        unsigned, pieces = op.Cast(values, to=_UINT64), []
        for start in range(0, 64, _BITS[kind]):
            by = op.Constant(value=onnxscript.ir.tensor(np.array(start, np.uint64)))
            there = values if start == 0 else op.Cast(op.BitShift(unsigned, by, direction="RIGHT"), to=_INT64)
            pieces.append(op.Unsqueeze(op.Cast(there, to=kind), _whole([-1])))
        shape = [*values.shape[:-1], values.shape[-1] * len(pieces)]
        return op.Reshape(op.Concat(*pieces, axis=-1), _whole(shape))

    def inverse_erf(x: Any) -> Any:
        one = op.Constant(value_float=1.0)
        w = op.Neg(op.Log(op.Mul(op.Sub(one, x), op.Add(one, x))))
        centre = _polynomial(op.Sub(w, op.Constant(value_float=2.5)), _CENTRE)
        tail = _polynomial(op.Sub(op.Sqrt(w), op.Constant(value_float=3.0)), _TAIL)
        return op.Mul(op.Where(op.Less(w, op.Constant(value_float=5.0)), centre, tail), x)

    def atan(x: Any) -> Any:  # which onnxruntime has of float32 alone
        return op.CastLike(op.Atan(op.Cast(x, to=_FLOAT)), x)

    def atan2(y: Any, x: Any) -> Any:
        turn = op.Where(op.Less(y, op.CastLike(_zero(), y)), op.CastLike(_pi(-1), y), op.CastLike(_pi(1), y))
        return op.Where(op.Less(x, op.CastLike(_zero(), x)), op.Add(atan(op.Div(y, x)), turn), atan(op.Div(y, x)))

    def _zero() -> Any:
        return op.Constant(value_float=0.0)

    def _pi(sign: int) -> Any:
        return op.Constant(value_float=sign * math.pi)

    def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
        total = op.Constant(value_float=coefficients[0])
        for each in coefficients[1:]:
            total = op.Add(op.Mul(total, x), op.Constant(value_float=each))
        return total

    def _whole(numbers: Sequence[int]) -> Any:
        return op.Constant(value_ints=list(map(int, numbers)))

    aten, prims = torch.ops.aten, torch.ops.prims
    return {
        aten.sort.stable: sort,
        aten.hypot.default: hypot,
        prims.hypot.default: hypot,
        aten.view.dtype: words,
        aten.erfinv.default: inverse_erf,
        prims.erf_inv.default: inverse_erf,
        aten.atan.default: atan,
        aten.atan2.default: atan2,
    }
