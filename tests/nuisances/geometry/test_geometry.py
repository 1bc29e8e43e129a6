import numpy as np
import pytest
import scipy.ndimage
import scipy.stats
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.random import draw_keys
from brittle.types import Batch


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


@pytest.fixture(scope="module")
def picture() -> Batch:
    generator = torch.Generator().manual_seed(0)
    return batch_of(torch.rand(1, 3, 20, 31, generator=generator))


def shifted(images: torch.Tensor, across: int, down: int, fill: float = 0.0) -> torch.Tensor:
    """The content moved left by `across` and up by `down` pixels, by slices of a wide frame."""
    height, width = images.shape[-2:]
    frame = torch.full((*images.shape[:-2], 3 * height, 3 * width), fill)
    frame[..., height : 2 * height, width : 2 * width] = images
    return frame[..., height + down : 2 * height + down, width + across : 2 * width + across]


SIDES = [(28, 28), (32, 32), (49, 97), (107, 31), (224, 224), (160, 256), (251, 199)]


@pytest.mark.parametrize("size", SIDES, ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("options", ["", "interpolation=bicubic", "fill=0.3", "interpolation=nearest"])
def test_a_translation_by_whole_pixels_is_exact_and_positive_moves_the_content_left_and_up(size, options):
    """Bit for bit, though k/n·n is not always k in float32: each image of the batch by another number of pixels."""
    height, width = size
    across = torch.tensor([0, 1, -1, 5, -(width // 3), width // 2 + 1, width - 1, width, -3])
    down = torch.tensor([0, 2, -7, height // 3, 6, -(height // 2), 1 - height, 4, -height])
    batch = batch_of(torch.rand(len(across), 2, *size, generator=torch.Generator().manual_seed(1)))
    fill = 0.3 if "fill" in options else 0.0
    pairs = zip(batch.images, across.tolist(), down.tolist(), strict=True)
    expected = torch.stack([shifted(image, x, y, fill) for image, x, y in pairs])
    pixels = torch.stack((across, down), 1).float()
    for unit, theta in (("pixels", pixels), ("share", pixels / torch.tensor([width, height]))):
        moved = nuisances.build(f"translation:unit={unit},{options}".rstrip(",")).apply(batch, theta)
        assert torch.equal(moved, expected), unit


@pytest.mark.parametrize("fill", [0.0, 0.25, "edge", "mirror"])
@pytest.mark.parametrize("interpolation", ["bilinear", "nearest", "bicubic"])
def test_a_translation_is_the_affine_map_that_shifts(fill, interpolation):
    batch = batch_of(torch.rand(40, 3, 20, 31, generator=torch.Generator().manual_seed(2)))
    shift = 9 * torch.randn(40, 2, generator=torch.Generator().manual_seed(3))  # some leave the image far behind
    affine = torch.cat((torch.tensor([1.0, 0.0, 0.0, 1.0]).expand(40, 4), 2 * shift / torch.tensor([31, 20])), 1)
    expected = nuisance("affine", fill=fill, interpolation=interpolation).apply(batch, affine)
    moved = nuisance("translation", unit="pixels", fill=fill, interpolation=interpolation).apply(batch, shift)
    torch.testing.assert_close(moved, expected, atol=2e-5, rtol=0)


def test_gradients_pass_where_a_share_is_taken_for_whole_pixels():
    """dT/d(share) = n·dT/d(pixel), at 7/49 too, whose product with 49 is not 7 in float32."""
    batch = batch_of(torch.rand(1, 1, 49, 49, generator=torch.Generator().manual_seed(4)))
    share, pixels = (torch.tensor([[7.0, 14.0]]) / side for side in (49, 1))
    gradients = []
    for unit, theta in (("share", share), ("pixels", pixels)):
        theta.requires_grad_()
        nuisance("translation", unit=unit).apply(batch, theta)[..., 3, 5].sum().backward()
        gradients.append(theta.grad)
    row, column = 3 + 14, 5 + 7
    here, right, below = batch.images[0, 0, [row, row, row + 1], [column, column + 1, column]]
    torch.testing.assert_close(gradients[1], torch.stack((right - here, below - here))[None])
    torch.testing.assert_close(gradients[0], 49 * gradients[1])


@pytest.mark.parametrize("fill", [0.4, "edge", "mirror"])
def test_gradients_of_bicubic_translations_are_finite_differences(fill):
    batch = batch_of(
        0.3 + 0.4 * torch.rand(1, 2, 9, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    )
    space = nuisance("translation", unit="pixels", interpolation="bicubic", fill=fill)
    theta = torch.tensor([[2.3, -1.6]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: space.apply(batch, t), theta, atol=1e-6)


@pytest.mark.parametrize("name", ["translation", "scaling", "rotation", "projective", "piecewise-affine"])
def test_a_batch_too_large_for_one_piece_is_moved_as_its_images_are(name):
    batch = batch_of(torch.rand(9, 3, 224, 224, generator=torch.Generator().manual_seed(5)))
    space = nuisance(name)
    theta = space.sample(batch, draw_keys(0, "pieces", batch.ids, torch.arange(1)))[:, 0]
    together = space.apply(batch, theta)
    for place in range(9):
        assert torch.equal(space.apply(batch.take(torch.tensor([place])), theta[place, None])[0], together[place])


def test_a_quarter_turn_of_a_square_is_rot90_clockwise():
    square = batch_of(torch.rand(1, 1, 16, 16, generator=torch.Generator().manual_seed(3)))
    turned = nuisance("rotation").apply(square, torch.tensor([[90.0]]))
    torch.testing.assert_close(turned, torch.rot90(square.images, -1, (2, 3)), atol=1e-4, rtol=0)


def test_a_half_turn_of_an_oblong_image_is_two_flips(picture):
    turned = nuisance("rotation").apply(picture, torch.tensor([[180.0]]))
    torch.testing.assert_close(turned, picture.images.flip(2, 3), atol=1e-4, rtol=0)


def test_a_rotation_of_an_oblong_image_keeps_lengths():
    """In pixel units the matrix is orthogonal; scaling both ways undoes [−1, 1] coordinates."""
    matrix = nuisance("rotation").matrices(torch.tensor([[30.0]]), 20, 60)[0, :, :2]
    half = torch.diag(torch.tensor([30.0, 10.0]))
    in_pixels = half @ matrix @ half.inverse()
    torch.testing.assert_close(in_pixels @ in_pixels.T, torch.eye(2), atol=1e-6, rtol=0)


def test_scaling_enlarges_the_content_by_e_to_the_log_zoom():
    blob = torch.zeros(1, 1, 40, 40)
    blob[..., 15:25, 15:25] = 1
    grown = nuisance("scaling").apply(batch_of(blob), torch.tensor([[float(np.log(2))]]))
    assert grown.sum() / blob.sum() == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize("name", ["affine:alpha=20", "similarity", "rotation:sigma=30", "scaling"])
def test_warps_agree_with_scipy_away_from_the_border(name, picture):
    """scipy works in pixel indices (row, column): u = (2i + 1)/n − 1 carries one into the other."""
    space = nuisances.build(name)
    theta = space.sample(picture, draw_keys(5, name, picture.ids, torch.arange(1)))[:, 0]
    matrix = space.matrices(theta, 20, 31)[0].double().numpy()
    size = np.array([31.0, 20.0])  # x, y
    linear = matrix[:, :2] * size[:, None] / size[None, :]
    centre = (size - 1) / 2
    offset = centre + matrix[:, 2] * size / 2 - linear @ centre
    expected = np.stack(
        [
            scipy.ndimage.affine_transform(channel, linear[::-1, ::-1], offset[::-1], order=1, mode="constant")
            for channel in picture.images[0].double().numpy()
        ]
    )
    ours = space.apply(picture, theta)[0].numpy()
    rows, columns = np.mgrid[0:20, 0:31]
    source = linear[::-1, ::-1] @ np.stack([rows.ravel(), columns.ravel()]) + offset[::-1][:, None]
    inside = ((source > 0) & (source < np.array([[19.0], [30.0]]))).all(0).reshape(20, 31)
    assert inside.mean() > 0.3
    np.testing.assert_allclose(ours[:, inside], expected[:, inside], atol=2e-5)


@pytest.mark.parametrize("name", ["translation", "rotation", "scaling", "similarity", "affine"])
def test_draws_match_the_density(name, picture):
    """Whitened by the density's own curvature, draws are standard normal (Kolmogorov–Smirnov, each coordinate)."""
    space = nuisances.build(name)
    theta = space.sample(picture, draw_keys(1, name, picture.ids, torch.arange(4000)))[0].double()
    centre, spread = space.centre(picture), space.deviations(picture)
    for place, z in enumerate(((theta - centre) / spread).T.numpy()):
        assert scipy.stats.kstest(z, "norm").pvalue > 1e-3, space.parameters[place]
    density = scipy.stats.multivariate_normal(centre.numpy(), np.diag(spread.numpy() ** 2))
    np.testing.assert_allclose(
        space.log_prior(theta[None, :50], picture)[0].numpy(), density.logpdf(theta[:50].numpy()), rtol=1e-9
    )


def test_the_affine_prior_is_the_inverse_of_alpha_times_the_metric(picture):
    """G = κ · mean over [−1, 1]² of ‖δA·u + δt‖², here by brute force on a grid of u."""
    x, y = np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-1, 1, 401))
    zero, one = np.zeros_like(x), np.ones_like(x)
    across = np.stack([x, zero, y, zero, one, zero], -1).reshape(-1, 6)
    down = np.stack([zero, x, zero, y, zero, one], -1).reshape(-1, 6)
    metric = 1.75 * (across.T @ across + down.T @ down) / x.size
    expected = np.linalg.inv(50 * metric)
    spread = nuisance("affine", alpha=50.0).deviations(picture).numpy()
    np.testing.assert_allclose(np.diag(spread**2), expected, atol=2e-4)


def test_the_affine_description_is_the_measured_root_mean_square_displacement():
    space, blank = nuisance("affine", alpha=25.0), batch_of(torch.zeros(1, 1, 40, 60))
    theta = space.sample(blank, draw_keys(0, "x", blank.ids, torch.arange(3000)))[0].double()
    x = (2 * torch.arange(60.0, dtype=torch.float64) + 1) / 60 - 1
    y = (2 * torch.arange(40.0, dtype=torch.float64) + 1) / 40 - 1
    u = torch.stack([x.repeat(40), y.repeat_interleave(60)])
    delta = theta.view(-1, 3, 2).transpose(1, 2) - torch.eye(2, 3, dtype=torch.float64)
    moved = (delta[..., :2] @ u + delta[..., 2:]) * torch.tensor([[30.0], [20.0]], dtype=torch.float64)
    measured = moved.square().sum(1).mean().sqrt()
    said = float(space.describe(40, 60).split(" by ")[1].split(" ")[0])
    assert said == pytest.approx(float(measured), rel=0.06)


def test_fill_is_what_lies_outside(picture):
    away = torch.tensor([[100.0, 0.0]])
    for fill, expected in ((0.0, 0.0), (0.25, 0.25)):
        moved = nuisance("translation", unit="pixels", fill=fill).apply(picture, away)
        torch.testing.assert_close(moved, torch.full_like(moved, expected))
    edge = nuisances.build("translation:unit=pixels,fill=edge").apply(picture, away)
    torch.testing.assert_close(edge, picture.images[..., -1:].expand_as(edge), atol=1e-5, rtol=0)


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest", "bicubic"])
def test_no_interpolation_leaves_the_range_of_values(interpolation):
    checks = batch_of((torch.arange(24)[:, None] // 3 + torch.arange(24) // 3).remainder(2).float()[None, None])
    moved = nuisance("rotation", interpolation=interpolation).apply(checks, torch.tensor([[20.0]]))
    assert moved.min() >= 0
    assert moved.max() <= 1


def test_a_mirror_reflects_and_nearest_invents_no_value(picture):
    moved = nuisances.build("translation:unit=pixels,fill=mirror").apply(picture, torch.tensor([[4.0, 0.0]]))
    torch.testing.assert_close(moved[..., -4:], picture.images[..., -4:].flip(-1), atol=1e-4, rtol=0)
    nearest = nuisances.build("rotation:interpolation=nearest").apply(picture, torch.tensor([[23.0]]))
    assert torch.isin(nearest, torch.cat((picture.images.flatten(), torch.zeros(1)))).all()


@pytest.mark.parametrize("spec", ["translation:fill=5", "affine:fill=nan", "rotation:fill=-1"])
def test_a_fill_out_of_range_is_refused(spec):
    with pytest.raises(BrittleError, match="fill"):
        nuisances.build(spec)


def test_a_wrong_choice_from_python_is_refused():
    for options in ({"unit": "px"}, {"interpolation": "cubic"}, {"sigmma": 3.0}):
        with pytest.raises(BrittleError, match=r"translation"):
            nuisance("translation", **options)


@pytest.mark.parametrize("spec", ["affine:alpha=0", "affine:alpha=-3", "rotation:sigma=nan", "similarity:zoom=0"])
def test_a_prior_without_width_is_refused(spec):
    with pytest.raises(BrittleError, match="above 0"):
        nuisances.build(spec)
