"""Encoders beside transformers' own models and processors."""

import numpy as np
import pytest
import torch

from brittle.errors import BrittleError
from brittle.generation.encoders import encoder

pytestmark = pytest.mark.usefixtures("torchvision")


@pytest.fixture(scope="module")
def pictures():
    """Of the size that encoders take, so that nothing is resized, as 8-bit values."""
    return torch.randint(0, 256, (3, 3, 16, 16), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)


def test_clip_gives_what_transformers_gives(clip, pictures):
    import transformers

    model, tokenizer = (
        transformers.CLIPModel.from_pretrained(clip).eval(),
        transformers.AutoTokenizer.from_pretrained(clip),
    )
    processor = transformers.CLIPImageProcessor.from_pretrained(clip)
    texts = ["a picture of a goldfish", "a picture of a hammerhead in heavy snow"]
    prepared = processor(images=list(pictures.permute(0, 2, 3, 1).numpy()), return_tensors="pt")
    with torch.no_grad():
        expected = model(**prepared, **tokenizer(texts, padding=True, return_tensors="pt"))
    found = encoder(str(clip))
    alignment = found.images(pictures / 255) @ found.texts(texts).T
    assert torch.allclose(alignment * model.logit_scale.exp(), expected.logits_per_image, atol=1e-4)
    assert torch.allclose(found.images(pictures / 255), expected.image_embeds, atol=1e-5)


def test_dino_gives_its_class_token(dino, pictures):
    import transformers

    model = transformers.Dinov2Model.from_pretrained(dino).eval()
    mean, std = np.array([0.48, 0.46, 0.41]), np.array([0.27, 0.26, 0.28])
    prepared = (pictures / 255 - torch.tensor(mean[:, None, None])) / torch.tensor(std[:, None, None])
    with torch.no_grad():
        expected = model(pixel_values=prepared.float()).last_hidden_state[:, 0]
    found = encoder(str(dino))
    assert torch.allclose(found.features(pictures / 255), expected, atol=1e-4)
    assert torch.allclose(found.images(pictures / 255).norm(dim=1), torch.ones(3))
    assert not found.reads_text


def test_its_fingerprint_is_that_of_its_weights(clip, dino, tmp_path):
    import transformers

    assert encoder(str(clip)).fingerprint == encoder(str(clip)).fingerprint != encoder(str(dino)).fingerprint
    model = transformers.Dinov2Model.from_pretrained(dino)
    model.layernorm.bias.data[0] += 1e-3
    model.save_pretrained(tmp_path)
    transformers.CLIPImageProcessor.from_pretrained(dino).save_pretrained(tmp_path)
    assert encoder(str(tmp_path)).fingerprint != encoder(str(dino)).fingerprint


def test_mistakes_are_one_line(clip, dino, tmp_path):
    with pytest.raises(BrittleError, match="knows no word 'zebra'"):
        encoder(str(clip)).texts(["a picture of a zebra"])
    with pytest.raises(BrittleError, match="reads no text"):
        encoder(str(dino)).texts(["a"])
    with pytest.raises(BrittleError, match="can't be loaded") as error:
        encoder(str(tmp_path))
    assert "\n" not in str(error.value)
