"""Generated shifts as nuisances: any scale, narrowed down as far as anybody likes."""

import numpy as np
import pytest
import torch
from tiny_pipeline import tiny_pipeline

import brittle
from brittle.images import image_set

pytest.importorskip("diffusers")

TOLERANCE = 0.05


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, torchvision):
    return tiny_pipeline(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def spec(tiny):
    return f"slider:{tiny / 'pipeline'},classes=shirt/bag,sliders={tiny / 'sliders'},seeds=3,steps=4,device=cpu"


def pixel_changed(images):
    """Two classes: whether a picture's left half is brighter than its right one, or not."""
    apart = (images[..., :16].mean((1, 2, 3)) - images[..., 16:].mean((1, 2, 3))) * 200
    return torch.stack([apart, -apart], 1).softmax(1)


def test_every_shift_stands_in_a_nuisances_place_and_scale_0_changes_nothing(spec):
    images = image_set(spec)
    assert (list(images.shifts), len(images)) == (["fog", "snow"], 6)
    batch = images.batch(range(6))
    shift = images.shifts["fog"]
    untouched = shift.apply(batch, shift.identity(batch))
    assert torch.allclose(untouched, batch.in_numbers().images, atol=1.01 / 255)
    moved = shift.apply(batch, shift.at(shift.identity(batch), 1.5, batch))
    assert float((moved - untouched).abs().max()) > 0.02


def test_the_image_at_a_scale_is_made_once(spec):
    images = image_set(spec)
    shift, batch = images.shifts["fog"], images.batch([0])
    theta = torch.full((1, 1), 0.7371)
    first = shift.apply(batch, theta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("brittle.diffusion.generator.sampled", lambda *_, **__: pytest.fail("made again"))
        assert torch.equal(shift.apply(batch, theta), first)


@pytest.mark.warned("matched by number", "chance")
@pytest.mark.slow
def test_failure_points_are_narrowed_down_by_bisection(spec):
    """Each lies within the tolerance of where a walk in small steps finds the change; none where that finds none."""
    images = image_set(spec)
    batch, shift = images.batch(range(len(images))), images.shifts["fog"]
    found = brittle.failure_points(
        pixel_changed, f"{spec},shifts=fog", tolerance=TOLERANCE, device="cpu", progress=False
    )
    refined = found.refined.to_pylist()
    walked = np.arange(0, 2.5 + 1e-9, TOLERANCE / 2)
    labels = batch.labels
    right = torch.stack(
        [
            pixel_changed(shift.apply(batch, torch.full((len(images), 1), float(scale)))).argmax(1) == labels
            for scale in walked
        ]
    )
    for row in refined:
        place = int((images.ids == row["image"]).nonzero())
        at = [bool(each) for each in right[:, place]]
        assert row["high"] - row["low"] <= TOLERANCE + 1e-6
        below, above = (np.abs(walked - row[key]).argmin() for key in ("low", "high"))
        assert any(at[max(0, below - 1) : below + 2])
        assert not all(at[max(0, above - 1) : above + 2])
    assert refined
