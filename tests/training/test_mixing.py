"""Masks, shares and losses against the published definitions, written out in numpy."""

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.special import log_softmax

from brittle import BrittleError, image_set
from brittle.mixing import mixes
from brittle.mixing.base import MASK
from brittle.mixing.base import SHARE as SHARES
from brittle.nuisances.occlusion.fourier_mask import FourierMask
from brittle.random import draw_keys, fold, normal, uniform
from brittle.training.augmentation import AugmentationChain, CropAndFlip
from brittle.training.data import TrainingImages
from brittle.training.mixing.mixer import PARTNER, SHARE, Mixer
from brittle.training.mixing.objective import majority_cross_entropy, mixed_cross_entropy
from brittle.types import Batch

KEYS = draw_keys(0, "test", torch.arange(4000), torch.zeros(1, dtype=torch.int64))[:, 0]


def masks(spec: str, keys=KEYS, height=20, width=28, **options) -> np.ndarray:
    return mixes.build(spec).masks(keys, height, width, **options)[:, 0].numpy()


@pytest.mark.parametrize("alpha", [0.2, 1, 4])
@pytest.mark.parametrize("mixed_targets", [True, False])
def test_shares_are_drawn_from_the_beta_of_the_objective(alpha, mixed_targets):
    found = mixes.build(f"mixup:alpha={alpha}").masks(KEYS, 20, 28, mixed_targets=mixed_targets)
    assert found.shape == (4000, 1, 1, 1)
    law = stats.beta(alpha if mixed_targets else alpha + 1, alpha)
    expected = law.ppf(uniform(fold(KEYS, SHARES), 1)[:, 0].numpy())
    np.testing.assert_allclose(found.ravel().numpy(), expected, atol=3e-5)


def test_cutmix_cuts_the_rectangle_of_yun_and_others():
    """rand_bbox of the authors, from the same λ and centre: it overhangs, and rounds down."""
    mix = mixes.build("cutmix:alpha=0.8")
    some, height, width = KEYS[:300], 20, 28
    shares, centres = mix.shares(some, True)[:, 0].numpy(), uniform(fold(some, MASK), 2).numpy()
    overhanging = 0
    for share, (down, across), found in zip(shares, centres, masks("cutmix:alpha=0.8", some), strict=True):
        cut = np.sqrt(1 - share)
        middle_y, middle_x, high, wide = int(down * height), int(across * width), int(height * cut), int(width * cut)
        expected = np.ones((height, width))
        top, bottom = (np.clip(middle_y + sign * (high // 2), 0, height) for sign in (-1, 1))
        left, right = (np.clip(middle_x + sign * (wide // 2), 0, width) for sign in (-1, 1))
        expected[top:bottom, left:right] = 0
        overhanging += (1 - expected).sum() < (high // 2 * 2) * (wide // 2 * 2)
        np.testing.assert_array_equal(found, expected)
    assert overhanging > 100


def test_cutout_hides_the_square_of_devries_and_taylor():
    some, centres = KEYS[:300], uniform(fold(KEYS[:300], MASK), 2).numpy()
    for (down, across), found in zip(centres, masks("cutout:size=10", some), strict=True):
        y, x = int(down * 20), int(across * 28)
        expected = np.ones((20, 28))
        expected[np.clip(y - 5, 0, 20) : np.clip(y + 5, 0, 20), np.clip(x - 5, 0, 28) : np.clip(x + 5, 0, 28)] = 0
        np.testing.assert_array_equal(found, expected)
    assert masks("cutout:size=10", some).mean((1, 2)).min() == pytest.approx(1 - 100 / 560)


def test_fmix_shows_exactly_the_share_where_the_noise_is_largest():
    """binarise_mask of Harris and others: sort the noise, and take its largest values until the share is reached."""
    some, mix, noise = KEYS[:100], mixes.build("fmix:decay=2"), FourierMask(decay=2)
    batch = Batch(torch.empty(0, 1, 20, 28), torch.empty(0), torch.empty(0))
    shares = mix.shares(some, True)
    theta = torch.cat((shares, normal(fold(some, MASK), noise.mask_size(batch) - 1)), 1)
    for share, values, found in zip(
        shares[:, 0].numpy(), noise.noise(theta, 20, 28).numpy(), masks("fmix:decay=2", some), strict=True
    ):
        expected = np.zeros(560)
        expected[np.argsort(values.ravel())[::-1][: round(share * 560)]] = 1
        np.testing.assert_array_equal(found.ravel(), expected)


def test_random_masks_are_three_of_fmixs_and_chosen_evenly():
    found, counts = np.unique(masks("random-masks", seed=3), axis=0, return_counts=True)
    assert len(found) == 3
    assert stats.chisquare(counts).pvalue > 0.01
    np.testing.assert_array_equal(np.unique(masks("random-masks", KEYS[:60].flip(0), seed=3), axis=0), found)
    assert not (np.unique(masks("random-masks", seed=4), axis=0)[:, None] == found).all((2, 3)).any()


def batch_of(count=6, side=28, channels=2) -> Batch:
    random = np.random.default_rng(0)
    pixels = torch.from_numpy(random.random((count, channels, side, side), np.float32))
    return Batch(pixels, torch.arange(count) % 4, torch.arange(count) * 5)


def one(augmentation, batch: Batch, keys=KEYS[:6]) -> tuple[Batch, dict]:
    """A batch, augmented, and what was drawn for it."""
    drawn = {name: values[0] for name, values in augmentation.draw(keys[None], tuple(batch.images.shape[1:])).items()}
    return augmentation.apply(batch, drawn), drawn


@pytest.mark.parametrize("spec", ["mixup", "cutmix", "fmix", "random-masks"])
def test_images_are_mixed_with_the_one_before_by_the_masks_mean(spec):
    batch = batch_of()
    mixed, drawn = one(Mixer(mixes.build(spec)), batch)
    mask, images = drawn["masks"].numpy(), batch.images.numpy()
    expected = mask * images + (1 - mask) * np.roll(images, 1, 0)
    np.testing.assert_allclose(mixed.images.numpy(), expected, atol=1e-6)
    assert mixed.labels.tolist() == batch.labels.tolist()
    assert mixed.extras[PARTNER].tolist() == np.roll(batch.labels.numpy(), 1).tolist()
    np.testing.assert_allclose(
        mixed.extras[SHARE].numpy(), np.full(6, np.broadcast_to(mask, (1, 1, 28, 28)).mean()), 1e-6
    )


def test_cutout_changes_pixels_alone_and_other_ones_in_each_image():
    batch = batch_of()
    cut, drawn = one(Mixer(mixes.build("cutout:size=8")), batch)
    assert cut.extras == {}
    assert len({each.numpy().tobytes() for each in drawn["masks"]}) == 6
    hidden = drawn["masks"].expand_as(cut.images) == 0
    assert torch.equal(cut.images[~hidden], batch.images[~hidden])
    assert cut.images[hidden].eq(0).all()


def test_partners_from_another_set_are_drawn_evenly_and_their_labels_ignored():
    others = TrainingImages(
        image_set(np.arange(8, dtype=np.uint8)[:, None, None].repeat(28, 1).repeat(28, 2)), labelled=False
    )
    mixer = Mixer(mixes.build("mixup"), mixed_targets=False, others=others)
    rows = mixer.draw(KEYS[None], (1, 28, 28))["partners"].numpy()
    assert stats.chisquare(np.bincount(rows[0], minlength=8)).pvalue > 0.01
    batch = batch_of(channels=1)
    mixed, drawn = one(mixer, batch)
    share = float(drawn["shares"])
    expected = share * batch.images.numpy() + (1 - share) * drawn["partners"].numpy()[:, None, None, None] / 255
    np.testing.assert_allclose(mixed.images.numpy(), expected, atol=1e-6)
    assert PARTNER not in mixed.extras


def test_images_are_padded_cropped_and_mirrored():
    batch, keys = batch_of(200), KEYS[:200]
    moved, drawn = one(CropAndFlip(3, flip=True), batch, keys)
    rows, columns = drawn["moves: rows"].numpy(), drawn["moves: columns"].numpy()
    corners = np.stack((rows[:, 0], columns.min(1), columns[:, 0] > columns[:, 1]), 1)
    for image, (top, left, flipped), found in zip(batch.images.numpy(), corners, moved.images.numpy(), strict=True):
        padded = np.pad(image, ((0, 0), (3, 3), (3, 3)))[:, top : top + 28, left : left + 28]
        np.testing.assert_array_equal(found, padded[:, :, ::-1] if flipped else padded)
    assert {tuple(each) for each in corners[:, :2]} > {(0, 0), (6, 6)}
    assert 70 < corners[:, 2].sum() < 130
    unflipped = one(CropAndFlip(3), batch, keys)[1]["moves: columns"].numpy()
    assert (np.diff(unflipped) == 1).all()


def test_what_is_chained_is_done_in_order():
    batch = batch_of()
    moved, _ = one(CropAndFlip(2), batch)
    expected, _ = one(Mixer(mixes.build("mixup")), moved)
    found, _ = one(AugmentationChain((CropAndFlip(2), Mixer(mixes.build("mixup")))), batch)
    assert torch.equal(found.images, expected.images)


def test_losses_weigh_labels_by_shares():
    random = np.random.default_rng(0)
    logits, labels, partners = random.normal(size=(5, 3)), random.integers(0, 3, 5), random.integers(0, 3, 5)
    shares, place = random.random(5), np.arange(5)
    extras = {SHARE: torch.from_numpy(shares), PARTNER: torch.from_numpy(partners)}
    batch = Batch(torch.empty(5, 1, 1, 1), torch.from_numpy(labels), torch.arange(5), extras)
    first, second = (-log_softmax(logits, 1)[place, each] for each in (labels, partners))
    mixed, majority = (
        float(each(torch.from_numpy(logits), batch)) for each in (mixed_cross_entropy, majority_cross_entropy)
    )
    assert mixed == pytest.approx((shares * first + (1 - shares) * second).mean())
    assert majority == pytest.approx(np.where(shares >= 0.5, first, second).mean())


def test_specs_that_name_no_mix_are_refused():
    with pytest.raises(BrittleError, match=r"unknown mix 'cutmiks'.*Did you mean 'cutmix'"):
        mixes.build("cutmiks")
    with pytest.raises(BrittleError, match="alpha is 0, but must be above 0"):
        mixes.build("fmix:alpha=0")
