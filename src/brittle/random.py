"""Counter-based randomness: every draw depends on its key and on nothing else.

The generator is SplitMix64 (Steele, Lea & Flood 2014), whose i-th output is a bijective mix of
key + i·γ, so that any number of any stream can be computed directly, on any device, in integer
arithmetic that is the same everywhere. Keys are derived by mixing in one component at a time.
A cipher such as Philox would spend two thirds of its time on quality that a mean of bounded
numbers can't reveal; SplitMix64 passes BigCrush at a quarter of the cost.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from brittle.cached import cached
from brittle.constants import constant
from brittle.device import inspectable


def _signed(value: int) -> int:
    """The int64 with the same 64 bits."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


_GAMMA = _signed(0x9E3779B97F4A7C15)
_MIX_1 = _signed(0xBF58476D1CE4E5B9)
_MIX_2 = _signed(0x94D049BB133111EB)

_CHUNK = 1 << 19  # numbers of a field computed at a time, so that the integers behind them stay in cache


def _xor_shift(bits: Tensor, by: int) -> Tensor:
    """bits ^ (bits >>> by): torch shifts int64 arithmetically, so the copies of the sign are masked off."""
    return bits ^ ((bits >> by) & ((1 << (64 - by)) - 1))


def mix(bits: Tensor) -> Tensor:
    """A bijection of 64-bit integers in which every input bit affects every output bit."""
    bits = _xor_shift(bits, 30) * _MIX_1
    bits = _xor_shift(bits, 27) * _MIX_2
    return _xor_shift(bits, 31)


def key_of(text: str) -> int:
    """A 64-bit key for a name, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def fold(key: Tensor, component: Tensor | int) -> Tensor:
    """The key of a stream within a stream: fold(key, a) and fold(key, b) are unrelated for a ≠ b."""
    spread = component * _GAMMA + _MIX_2 if isinstance(component, Tensor) else _spread(component)
    return mix(mix(key + _GAMMA) ^ spread)


@cached(1024)
def _spread(component: int) -> int:
    return _signed(component * _GAMMA + _MIX_2)


def stream_root(seed: int, stream: str, device: torch.device | str = "cpu") -> Tensor:
    """The key () of a named stream under a seed."""
    return fold(torch.tensor(_signed(seed), dtype=torch.int64, device=device), key_of(stream))


def draw_keys(seed: int, stream: str, ids: Tensor, draws: Tensor) -> Tensor:
    """ids (B,), draws (n,) → keys (B, n), one per image and draw of the named stream."""
    return fold(fold(stream_root(seed, stream, ids.device), ids)[:, None], draws.to(ids.device)[None, :])


def bits(keys: Tensor, count: int) -> Tensor:
    """keys (...) → integers (..., count), uniform over all of int64."""
    # k + 1 as −(~k): torch's compiler takes sums and products of an arange for addresses, and those for 32 bits.
    counter = -(~torch.arange(count, dtype=torch.int64, device=keys.device))
    return mix(keys[..., None] + counter * _GAMMA)


def uniform(keys: Tensor, count: int) -> Tensor:
    """keys (...) → float64 (..., count), uniform on the open interval (0, 1)."""
    top = (bits(keys, count) >> 12) & ((1 << 52) - 1)
    return (top.to(torch.float64) + 0.5) * 2.0**-52


def normal(keys: Tensor, count: int) -> Tensor:
    """keys (...) → float64 (..., count), standard normal: the quantile function of `uniform`."""
    numbers: Tensor = torch.special.ndtri(uniform(keys, count))
    return numbers


def sobol(keys: Tensor, places: Tensor, count: int) -> Tensor:
    """keys (B,) of nets and places (B,) in them, 0 to 3 → float64 (B, count), each uniform on the open interval (0, 1);
    those of one net are the first four points of Sobol's sequence (1967), scrambled as Owen (1995) does.

    A digit is flipped or not by a toss that belongs to the net, the number and the digits before it; what follows the
    two digits is drawn afresh for each point. That is all there is to Owen's scrambling of so few points."""
    toss = bits(keys, count)
    odd, half = places[:, None] & 1, (places[:, None] >> 1) & 1
    first = odd ^ (half & constant(_second_points(count), keys.device, torch.int64))
    high, low = first ^ (toss & 1), half ^ ((toss >> (1 + first)) & 1)
    return (2 * high + low + uniform(fold(keys, places), count)) / 4


@cached(64)
def _second_points(count: int) -> tuple[int, ...]:
    """For each number (count,) of Sobol's sequence, whether its second direction number is 3/4 rather than 1/4."""
    engine = torch.quasirandom.SobolEngine(count)  # type: ignore[no-untyped-call]
    return tuple((engine.draw(4)[3] > 0.5).long().tolist())


def uniform_field(keys: Tensor, count: int, chunk: int = _CHUNK) -> Tensor:
    """keys (...) → float32 (..., count), uniform on the open interval (0, 1): fast, for millions of numbers.

    Each output of the generator gives two words of 32 bits. The upper 23 bits of a word select one of 2²³ equal
    intervals, whose midpoint float32 represents exactly.
    """
    if not inspectable(keys):
        return _uniform_in_torch(keys, count)
    pairs = (count + 1) // 2
    numbers = np.empty((keys.numel(), 2 * pairs), np.float32)
    for start, words in _pieces(keys, pairs, chunk):
        halves, here = words.view(np.int32), numbers[:, 2 * start : 2 * (start + words.shape[1])]
        here[...] = np.right_shift(halves, 9, out=halves)
        np.add(here, np.float32(2.0**22 + 0.5), out=here)
        np.multiply(here, np.float32(2.0**-23), out=here)
    return torch.from_numpy(numbers)[:, :count].reshape(*keys.shape, count)


def normal_field(keys: Tensor, count: int, sigma: float = 1.0, chunk: int = _CHUNK) -> Tensor:
    """keys (...) → float32 (..., count), normal with mean 0: fast, for millions of numbers.

    Each output of the generator gives a Box–Muller pair √(−2σ² ln |u|)·(cos πv, sin πv), with u and v uniform on
    (−1, 1) from its lower and upper word. The cosines fill the first half of the field, the sines the second.
    """
    if not inspectable(keys):
        return _normal_in_torch(keys, count, sigma)
    pairs = (count + 1) // 2
    numbers = np.empty((keys.numel(), 2 * pairs), np.float32)
    for start, words in _pieces(keys, pairs, chunk):
        halves, stop = words.view(np.int32), start + words.shape[1]
        first, radius = numbers[:, start:stop], numbers[:, pairs + start : pairs + stop]
        radius[...] = halves[:, ::2]
        np.abs(np.add(radius, np.float32(0.5), out=radius), out=radius)
        np.log(np.multiply(radius, np.float32(2.0**-31), out=radius), out=radius)
        np.sqrt(np.multiply(radius, np.float32(-2 * sigma**2), out=radius), out=radius)
        angle = halves[:, 1::2].astype(np.float32)
        np.multiply(angle, np.float32(math.pi * 2.0**-31), out=angle)
        np.multiply(np.cos(angle, out=first), radius, out=first)
        np.multiply(np.sin(angle, out=angle), radius, out=radius)
    return torch.from_numpy(numbers)[:, :count].reshape(*keys.shape, count)


def _uniform_in_torch(keys: Tensor, count: int) -> Tensor:
    words = bits(keys, (count + 1) // 2).view(torch.int32)[..., :count]
    return (words >> 9).to(torch.float32).add_(2.0**22 + 0.5).mul_(2.0**-23)


def _normal_in_torch(keys: Tensor, count: int, sigma: float = 1.0) -> Tensor:
    words = bits(keys, (count + 1) // 2).view(torch.int32)
    radius = words[..., ::2].to(torch.float32).add_(0.5).abs_().mul_(2.0**-31).log_().mul_(-2 * sigma**2).sqrt_()
    angle = words[..., 1::2].to(torch.float32).mul_(math.pi * 2.0**-31)
    return torch.cat((angle.cos().mul_(radius), angle.sin_().mul_(radius)), -1)[..., :count].contiguous()


def _pieces(keys: Tensor, count: int, chunk: int) -> Iterator[tuple[int, npt.NDArray[np.uint64]]]:
    """`bits(keys, count)` for keys of any shape, flattened to (K,), a few columns at a time: (first column, words
    (K, n)), which the caller may overwrite. This repeats `mix` in numpy and in place, many times faster than torch on
    a CPU, where allocating memory and waking several threads for each step cost more than the arithmetic."""
    roots = keys.detach().contiguous().numpy().view(np.uint64).reshape(-1, 1)
    width = min(count, max(1, chunk // max(1, 2 * len(roots))))
    buffers = np.empty((2, len(roots), width), np.uint64)
    for start in range(0, count, max(1, width)):
        words, spare = buffers[:, :, : min(width, count - start)]
        counter = np.arange(start + 1, start + 1 + words.shape[1], dtype=np.uint64)
        np.add(roots, np.multiply(counter, np.uint64(_GAMMA % 2**64), out=counter), out=words)
        for by, factor in ((30, _MIX_1), (27, _MIX_2), (31, 1)):
            np.bitwise_xor(words, np.right_shift(words, np.uint64(by), out=spare), out=words)
            if factor != 1:
                np.multiply(words, np.uint64(factor % 2**64), out=words)
        yield start, words


def shuffled(ids: Tensor, seed: int, stream: str = "images") -> Tensor:
    """ids (n,) → positions (n,) in a random order that depends on the ids alone, not on their order."""
    keys = draw_keys(seed, stream, ids, torch.zeros(1, dtype=torch.int64))[:, 0]
    return torch.argsort(keys, stable=True)
