import numpy as np
import scipy.stats
import torch

from brittle.nuisances.base.seeds import seed_from, seed_keys
from brittle.nuisances.noise.shot import pieces
from brittle.random import draw_keys, uniform, uniform_field

KEYS = draw_keys(3, "seeds", torch.arange(200), torch.arange(10))


def test_seeds_survive_float32_exactly_and_stand_for_one_field_each():
    drawn = seed_from(uniform(KEYS, 2))
    assert torch.equal(drawn.to(torch.float32).double(), drawn)
    keys = seed_keys(drawn.to(torch.float32))
    assert torch.equal(keys, seed_keys(drawn))
    assert keys.unique().numel() == KEYS.numel()


def test_seeds_are_uniform_whole_numbers_below_two_to_the_24():
    drawn = seed_from(uniform(KEYS, 2)).view(-1, 2).numpy()
    assert (drawn == np.floor(drawn)).all()
    assert drawn.min() >= 0
    assert drawn.max() < 2**24
    for numbers in drawn.T:
        assert scipy.stats.kstest(numbers / 2**24, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.1


def test_neighbouring_seeds_give_unrelated_fields():
    whole = torch.arange(16.0)
    keys = seed_keys(torch.stack(torch.meshgrid(whole, whole, indexing="ij"), -1)).flatten()
    fields = uniform_field(keys, 4000).numpy()
    assert np.abs(np.corrcoef(fields) - np.eye(256)).max() < 6 / np.sqrt(4000)


def test_a_seed_has_unrelated_streams():
    fields = uniform_field(torch.cat([seed_keys(torch.tensor([[3.0, 5.0]]), stream) for stream in range(8)]), 4000)
    assert np.abs(np.corrcoef(fields.numpy()) - np.eye(8)).max() < 6 / np.sqrt(4000)


def test_shares_at_the_ends_of_the_interval_are_seeds_too():
    assert seed_from(torch.tensor([0.0, 1.0])).tolist() == [0, 2**24 - 1]


def test_pieces_cover_every_column_once():
    for rows, columns in ((1, 7), (64, 150528), (300000, 3), (5, 0)):
        taken = [(part.start, part.stop) for part in pieces(torch.empty(1).expand(rows, columns))]
        assert [start for start, _ in taken] == [0, *(stop for _, stop in taken[:-1])][: len(taken)]
        assert (taken[-1][1] if taken else 0) == columns
