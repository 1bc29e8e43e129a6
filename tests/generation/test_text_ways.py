"""The simpler ways of A.8, and in what share of steps the shift grows."""

import numpy as np
import pytest
import torch
from scipy import stats

from brittle.errors import BrittleError
from brittle.generation.alignment import rising_steps
from brittle.generation.text_ways import words_at


def test_both_ways_begin_at_the_class_and_reach_the_shifted_prompt_at_scale_one():
    plain, shifted = torch.randn(1, 5, 3), torch.randn(1, 5, 3)
    scales = (0.0, 0.5, 1.0, 2.0)
    difference = words_at("text difference", plain, shifted, scales)
    assert torch.equal(difference[0], plain[0])
    assert torch.allclose(difference[2], shifted[0])
    assert torch.allclose(difference[3], 2 * shifted[0] - plain[0])
    prompts = words_at("two prompts", plain, shifted, scales)
    assert torch.equal(prompts[0], plain[0])
    assert all(torch.allclose(each, shifted[0]) for each in prompts[1:])


def test_prompts_of_different_lengths_are_refused():
    with pytest.raises(BrittleError, match="5 and 4 tokens"):
        words_at("two prompts", torch.zeros(1, 5, 3), torch.zeros(1, 4, 3), (0.0,))


def test_steps_are_counted_one_by_one():
    alignment = np.array([[0.1, 0.2, 0.3], [0.1, 0.3, 0.2], [0.3, 0.2, 0.1], [0.1, 0.1, 0.4]])
    found = rising_steps(alignment, (0.0, 0.5, 1.0), np.arange(4))
    assert found.steps == 8
    assert found.share.value == 4 / 8
    assert found.always == 1 / 4
    assert found.gained == pytest.approx((0.2 + 0.1 - 0.2 + 0.3) / 4)


def test_the_interval_is_as_wide_as_independent_paths_make_it():
    """One step per path: a share of 400 tosses, whose normal interval is known. Doubling every path within its group
    says nothing new, and must not narrow it."""
    rises = np.random.default_rng(0).random(400) < 0.73
    alignment = np.stack([np.zeros(400), np.where(rises, 1.0, -1.0)], 1)
    single = rising_steps(alignment, (0.5, 1.0), np.arange(400)).share
    half = stats.norm.ppf(0.975) * np.sqrt(rises.mean() * (1 - rises.mean()) / 400)
    assert single.half_width == pytest.approx(half, rel=0.1)
    doubled = rising_steps(np.repeat(alignment, 2, 0), (0.5, 1.0), np.repeat(np.arange(400), 2)).share
    assert doubled.half_width == pytest.approx(half, rel=0.1)


def test_scales_must_rise():
    with pytest.raises(BrittleError, match="rising scales"):
        rising_steps(np.zeros((2, 2)), (1.0, 0.5), np.arange(2))
