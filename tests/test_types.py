"""The shared vocabulary: images in 8 bits and in numbers are the same images."""

import numpy as np
import pytest
import torch

from brittle.images.arrays import from_arrays
from brittle.images.fingerprint import fingerprint
from brittle.measures.answers import Answers
from brittle.measures.changes import Untouched
from brittle.types import Batch, in_numbers

LEVELS = torch.arange(256, dtype=torch.uint8)


@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
def test_bytes_become_the_float32_nearest_to_a_255th(device):
    exact = np.arange(256, dtype=np.float64) / 255
    assert np.array_equal(in_numbers(LEVELS.to(device)).cpu().numpy(), exact.astype(np.float32))


def test_numbers_stay_as_they_are():
    images = torch.rand(3, 1, 2, 2)
    assert in_numbers(images) is images


def test_a_set_is_read_as_stored_or_in_numbers_and_known_by_the_same_hash():
    """Colours come last, so that what is read is reordered: no classifier may see another layout for that."""
    stored = np.arange(2 * 4 * 8 * 3, dtype=np.uint8).reshape(2, 4, 8, 3)
    images, numbers = from_arrays(stored), from_arrays(stored.astype(np.float32) / np.float32(255))
    (raw,) = images.groups([1, 0], stored=True)
    assert raw.batch.images.dtype == torch.uint8
    expected = torch.from_numpy(stored[[1, 0]].transpose(0, 3, 1, 2).astype(np.float64) / 255).float()
    for read in (images.batch([1, 0]).images, raw.batch.in_numbers().images):
        assert torch.equal(read, expected)
        assert read.is_contiguous()
    assert fingerprint(images) == fingerprint(numbers)


def test_answers_about_bytes_are_those_about_numbers():
    class Mean:
        labels, can = ("light", "dark"), frozenset()

        def log_probs(self, images):
            mean = images.flatten(1).mean(1)
            return torch.stack((mean, 1 - mean), 1).log()

    ids = torch.arange(64)
    stored = Batch(LEVELS.view(64, 1, 2, 2), torch.zeros(64).long(), ids)
    both = [Answers(batch, {"it": Mean()}, 10) for batch in (stored, stored.in_numbers())]
    first, second = (each.all(ids, {}, Untouched(), {"it": stored.labels}).outcomes["it"]() for each in both)
    assert torch.equal(first.packed(), second.packed())
