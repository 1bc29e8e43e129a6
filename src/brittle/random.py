"""Counter-based randomness: every draw is a function of its key and of nothing else.

The generator is SplitMix64 (Steele, Lea & Flood 2014), whose i-th output is a bijective mix of
key + i·γ, so that any number of any stream is computed directly, on any device, in integer
arithmetic that is the same everywhere. Keys are derived by mixing in one component at a time.
Two thirds of a cipher such as Philox would be spent on quality that a mean of bounded numbers
cannot see; SplitMix64 passes BigCrush and costs a quarter.
"""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor


def _signed(value: int) -> int:
    """The int64 with the same 64 bits."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


_GAMMA = _signed(0x9E3779B97F4A7C15)
_MIX_1 = _signed(0xBF58476D1CE4E5B9)
_MIX_2 = _signed(0x94D049BB133111EB)


def _xor_shift(bits: Tensor, by: int) -> Tensor:
    """bits ^ (bits >>> by): torch shifts int64 arithmetically, so the copies of the sign are masked off."""
    return bits ^ ((bits >> by) & ((1 << (64 - by)) - 1))


def mix(bits: Tensor) -> Tensor:
    """A bijection of 64-bit integers in which every input bit moves every output bit."""
    bits = _xor_shift(bits, 30) * _MIX_1
    bits = _xor_shift(bits, 27) * _MIX_2
    return _xor_shift(bits, 31)


def key_of(text: str) -> int:
    """A 64-bit key for a name, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def fold(key: Tensor, component: Tensor | int) -> Tensor:
    """The key of a stream within a stream: fold(key, a) and fold(key, b) are unrelated for a ≠ b."""
    spread = component * _GAMMA + _MIX_2
    return mix(mix(key + _GAMMA) ^ (spread if isinstance(spread, Tensor) else _signed(spread)))


def stream_root(seed: int, stream: str, device: torch.device | str = "cpu") -> Tensor:
    """The key () of a named stream under a seed."""
    return fold(torch.tensor(_signed(seed), dtype=torch.int64, device=device), key_of(stream))


def draw_keys(seed: int, stream: str, ids: Tensor, draws: Tensor) -> Tensor:
    """ids (B,), draws (n,) → keys (B, n), one per image and draw of the named stream."""
    return fold(fold(stream_root(seed, stream, ids.device), ids)[:, None], draws.to(ids.device)[None, :])


def bits(keys: Tensor, count: int) -> Tensor:
    """keys (...) → integers (..., count), uniform over all of int64."""
    counter = torch.arange(1, count + 1, dtype=torch.int64, device=keys.device)
    return mix(keys[..., None] + counter * _GAMMA)


def uniform(keys: Tensor, count: int) -> Tensor:
    """keys (...) → float64 (..., count), uniform on the open interval (0, 1)."""
    top = (bits(keys, count) >> 12) & ((1 << 52) - 1)
    return (top.to(torch.float64) + 0.5) * 2.0**-52


def normal(keys: Tensor, count: int) -> Tensor:
    """keys (...) → float64 (..., count), standard normal: the quantile function of `uniform`."""
    numbers: Tensor = torch.special.ndtri(uniform(keys, count))
    return numbers


def shuffled(ids: Tensor, seed: int, stream: str = "images") -> Tensor:
    """ids (n,) → positions (n,) in a random order that depends on each id, not on where it stands."""
    keys = draw_keys(seed, stream, ids, torch.zeros(1, dtype=torch.int64))[:, 0]
    return torch.argsort(keys, stable=True)
