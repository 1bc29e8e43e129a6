"""Two sliders on one image (A.11): at any two scales they do what two adapters do in plain diffusers."""

import itertools

import numpy as np
import pytest
import torch

from brittle.diffusion.collection import keep_slider
from brittle.diffusion.sampling import SamplingOptions, Wanted, sampled
from brittle.diffusion.sliders import LowRank, Sliders, fresh_sliders
from brittle.generation.small import SmallShape, small_pipeline

pytestmark = [pytest.mark.usefixtures("torchvision"), pytest.mark.filterwarnings("ignore")]
SCALES = (0.0, 1.0, 2.0)
NAMES = ("fog", "noise")


@pytest.fixture(scope="module")
def pipeline(torchvision):
    return small_pipeline(["coat", "fog", "noise"], SmallShape(channels=(8, 16), width=16, heads=2))


def moving(pipeline):
    """Two sliders that change something: fresh ones change nothing."""
    fresh = fresh_sliders(pipeline.unet, NAMES, 2, [1, 2])
    generator = torch.Generator().manual_seed(0)
    layers = {
        name: LowRank(low.down, 0.3 * torch.randn(low.up.shape, generator=generator))
        for name, low in fresh.layers.items()
    }
    return Sliders(NAMES, layers)


@pytest.mark.slow
def test_three_by_three_scales_are_those_of_two_adapters_in_diffusers(pipeline, tmp_path):
    sliders, prompt = moving(pipeline), "a picture of a coat"
    words, cells = pipeline.embedded([prompt]), list(itertools.product(SCALES, SCALES))
    options = SamplingOptions(steps=2, active=1.0)
    ours = sampled(pipeline, words, [Wanted(0, 7, cell) for cell in cells], sliders, options)
    for place, shift in enumerate(NAMES):
        file = keep_slider(tmp_path, "coat", shift, sliders, place, {})
        pipeline.parts.load_lora_weights(str(file.parent), weight_name=file.name, adapter_name=shift)
    try:
        for cell, image in zip(cells, ours, strict=True):
            pipeline.parts.set_adapters(list(NAMES), list(cell))
            made = pipeline.parts(
                [prompt],
                num_inference_steps=2,
                guidance_scale=1,
                generator=torch.Generator().manual_seed(7),
                output_type="np",
            ).images[0]
            theirs = np.asarray(made)[..., 0] if made.ndim == 3 else np.asarray(made)
            assert np.allclose(image[0].numpy(), theirs, atol=2e-3), cell
    finally:
        pipeline.parts.unload_lora_weights()
    apart = (ours[:, None] - ours[None]).abs().flatten(2).amax(2) + torch.eye(len(cells))
    assert float(apart.min()) > 0.01  # every cell is another picture
