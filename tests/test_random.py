import numpy as np
import scipy.stats
import torch

from brittle.random import bits, draw_keys, fold, normal, shuffled, stream_root, uniform


def test_bits_are_splitmix64():
    """The published test vector of SplitMix64 for the seed 1234567."""
    found = [int(value) % 2**64 for value in bits(torch.tensor(1234567), 5)]
    assert found == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_a_draw_depends_on_its_own_coordinates_alone():
    ids, draws = torch.tensor([5, 900, -3]), torch.arange(10)
    keys = draw_keys(7, "affine", ids, draws)
    assert torch.equal(draw_keys(7, "affine", ids.flip(0), draws.flip(0)), keys.flip(0, 1))
    assert torch.equal(draw_keys(7, "affine", ids[1:2], draws[4:5]), keys[1:2, 4:5])
    root = stream_root(7, "affine")
    assert torch.equal(fold(fold(root, ids[1]), draws[4]), keys[1, 4])


def test_keys_of_all_coordinates_differ():
    keys = [
        draw_keys(seed, stream, torch.arange(-50, 50), torch.arange(50))
        for seed in (0, 1, -1)
        for stream in ("affine", "rotation")
    ]
    assert torch.cat([each.flatten() for each in keys]).unique().numel() == 6 * 100 * 50


def test_uniforms_are_uniform_and_normals_normal_within_and_across_streams():
    keys = draw_keys(3, "x", torch.arange(400), torch.arange(10))
    for numbers, law in ((uniform(keys, 5), "uniform"), (normal(keys, 5), "norm")):
        assert scipy.stats.kstest(numbers.flatten().numpy(), law).pvalue > 1e-3
        neighbours = numbers.reshape(-1, 5).T.numpy()
        assert np.abs(np.corrcoef(neighbours) - np.eye(5)).max() < 0.06
    assert 0 < uniform(keys, 5).min() < uniform(keys, 5).max() < 1


def test_shuffling_depends_on_ids_not_on_order():
    ids = torch.arange(100) * 13
    turned = ids.flip(0)
    assert torch.equal(ids[shuffled(ids, 4)], turned[shuffled(turned, 4)])
    assert not torch.equal(shuffled(ids, 4), shuffled(ids, 5))
    assert torch.equal(shuffled(ids, 4).sort().values, torch.arange(100))
