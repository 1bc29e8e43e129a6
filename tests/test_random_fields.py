"""Fields of random numbers: fast, and still each a function of its key and place alone."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from brittle import random
from brittle.random import draw_keys, normal_field, uniform_field

FIELDS = pytest.mark.parametrize("field", [uniform_field, normal_field])
KEYS = draw_keys(11, "fields", torch.arange(40), torch.arange(1))[:, 0]


def splitmix64(key: int, count: int) -> list[int]:
    """The generator in Python's whole numbers (Steele, Lea & Flood 2014)."""
    mask, found = 2**64 - 1, []
    for place in range(1, count + 1):
        z = (key + place * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        found.append(z ^ (z >> 31))
    return found


def signed(word: int) -> int:
    return word - 2**32 if word >= 2**31 else word


def test_uniforms_are_the_upper_bits_of_splitmix64_words():
    words = [half for z in splitmix64(int(KEYS[3]) % 2**64, 50) for half in (z % 2**32, z >> 32)]
    expected = [(2**22 + (signed(word) >> 9) + 0.5) / 2**23 for word in words]
    assert uniform_field(KEYS, 99)[3].tolist() == expected[:99]


def test_normals_are_box_muller_pairs_of_splitmix64_words():
    pairs = [((signed(z % 2**32) + 0.5) / 2**31, signed(z >> 32) / 2**31) for z in splitmix64(int(KEYS[3]) % 2**64, 50)]
    cosines = [math.sqrt(-2 * math.log(abs(u))) * math.cos(math.pi * v) for u, v in pairs]
    sines = [math.sqrt(-2 * math.log(abs(u))) * math.sin(math.pi * v) for u, v in pairs]
    np.testing.assert_allclose(normal_field(KEYS, 99)[3].numpy(), (cosines + sines)[:99], atol=2e-6)


@FIELDS
def test_a_field_depends_on_its_key_alone(field):
    whole = field(KEYS, 1001)
    assert torch.equal(field(KEYS[7:9], 1001), whole[7:9])
    assert torch.equal(field(KEYS.view(8, 5), 1001).view(40, 1001), whole)
    with torch.inference_mode():
        assert torch.equal(field(KEYS, 1001), whole)


@FIELDS
@pytest.mark.parametrize("chunk", [1, 100, 4096, 10**9])
def test_the_chunk_changes_nothing(field, chunk):
    keys = KEYS[:3]
    assert torch.equal(field(keys, 501, chunk=chunk), field(keys, 501))


@FIELDS
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_any_count_will_do(field, count):
    assert field(KEYS.view(8, 5), count).shape == (8, 5, count)
    assert field(KEYS[:0], count).shape == (0, count)


@pytest.mark.parametrize(
    ("field", "in_torch"),
    [(uniform_field, random._uniform_in_torch), (normal_field, random._normal_in_torch)],
)
def test_other_devices_make_the_same_numbers(field, in_torch):
    """What runs on a GPU, here on the CPU; and on the GPU itself where there is one."""
    here = field(KEYS, 20001)
    torch.testing.assert_close(in_torch(KEYS, 20001), here, atol=1e-6, rtol=1e-6)
    if torch.cuda.is_available():
        torch.testing.assert_close(field(KEYS.cuda(), 20001).cpu(), here, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(("field", "law"), [(uniform_field, "uniform"), (normal_field, "norm")])
def test_the_law_is_right_and_neighbours_and_keys_are_unrelated(field, law):
    numbers = field(KEYS, 20000).double().numpy()
    assert scipy.stats.kstest(numbers.ravel()[::4], law).pvalue > 1e-3
    size = numbers.shape[1] * 40
    bound = 4.5 / math.sqrt(size)
    centred = (numbers - numbers.mean()) / numbers.std()
    for lag in (1, 2, 3, 100, 9999, 10000):  # 10,000 apart: a cosine and the sine of the same pair
        assert abs((centred[:, lag:] * centred[:, :-lag]).mean()) < bound * math.sqrt(20000 / (20000 - lag)), lag
    # Squares too: the two numbers of a pair share a radius, and are independent only because it is the right one.
    squares = (centred**2 - (centred**2).mean()) / (centred**2).std()
    for lag in (1, 10000):
        assert abs((squares[:, lag:] * squares[:, :-lag]).mean()) < bound * math.sqrt(20000 / (20000 - lag)), lag
    assert np.abs(np.corrcoef(numbers) - np.eye(40)).max() < 5 / math.sqrt(20000)


def test_sigma_stretches_the_normals():
    torch.testing.assert_close(normal_field(KEYS, 1000, 0.03), 0.03 * normal_field(KEYS, 1000), atol=1e-8, rtol=1e-6)


def test_uniforms_never_reach_0_or_1_and_normals_have_their_tails():
    keys = draw_keys(0, "many", torch.arange(64), torch.arange(1))[:, 0]
    uniforms, normals = uniform_field(keys, 60000), normal_field(keys, 60000)
    assert 0 < uniforms.min() < 2e-6
    assert 1 - 2e-6 < uniforms.max() < 1
    assert normals.isfinite().all()
    beyond = (normals.abs() > 4).sum().item()
    assert abs(beyond - uniforms.numel() * 2 * scipy.stats.norm.sf(4)) < 5 * math.sqrt(beyond)
