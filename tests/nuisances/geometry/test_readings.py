"""Affine maps read as rotation, zoom, shear and shift."""

import math

import pytest
import torch

from brittle.nuisances import nuisance
from brittle.types import ReadableTheta

SIZES = [(28, 28), (60, 100)]


def columns(matrices):
    """[A | t] (B, 2, 3) → θ of the nuisance `affine`, which has them by columns."""
    return matrices.transpose(1, 2).flatten(1)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_maps_that_only_turn_zoom_and_shift_are_told_as_such(height, width):
    """By the nuisance `similarity`, whose θ says just that; its shifts move the content left and up."""
    theta = torch.tensor([[25.0, 0.3, 0.0, 0.0], [-70.0, -0.2, 0.0, 0.0], [0.0, 0.0, 0.1, -0.2]], dtype=torch.float64)
    space = nuisance("affine")
    assert isinstance(space, ReadableTheta)
    told = space.read_theta(columns(nuisance("similarity").matrices(theta, height, width)), height, width)
    zoom = theta[:, 1].exp()
    wanted = torch.stack((theta[:, 0], zoom, zoom, 0 * zoom, -theta[:, 2] * width, -theta[:, 3] * height), 1)
    torch.testing.assert_close(told, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_the_content_goes_where_it_is_told_to(height, width):
    """Composed by hand from rotation, shear and zoom, and inverted: sources of pixels → where the content goes."""
    rotation, zoom_x, zoom_y, shear, right, down = 20.0, 1.3, 0.8, -15.0, 4.0, -3.0
    angle, slope = math.radians(rotation), math.tan(math.radians(shear))
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]], dtype=torch.float64)
    upper = torch.tensor([[zoom_x, zoom_y * slope], [0.0, zoom_y]], dtype=torch.float64)
    moved = torch.eye(3, dtype=torch.float64)
    moved[:2, :2], moved[:2, 2] = turn @ upper, torch.tensor([right, down])
    half = torch.diag(torch.tensor([width / 2, height / 2, 1.0], dtype=torch.float64))
    source = (half.inverse() @ moved.inverse() @ half)[:2]
    told = nuisance("affine").read_theta(columns(source[None]), height, width)[0]
    assert told.tolist() == pytest.approx([rotation, zoom_x, zoom_y, shear, right, down])


def test_nothing_is_told_of_the_identity():
    told = nuisance("affine").read_theta(torch.tensor([1.0, 0, 0, 1, 0, 0]), 28, 28)
    assert told.tolist() == pytest.approx([0, 1, 1, 0, 0, 0])
