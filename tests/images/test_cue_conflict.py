from pathlib import Path

import pytest
from PIL import Image

from brittle.errors import BrittleError
from brittle.images import image_set


def stimuli(folder: Path, *names: str) -> str:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (10, 20, 30)).save(folder / name)
    return f"cue-conflict:{folder}"


def test_files_tell_shape_and_texture_and_which_images_share_them(tmp_path):
    found = image_set(stimuli(tmp_path, "cat/cat7-elephant1.png", "cat/cat7-cat12.png", "elephant/elephant1-cat2.png"))
    assert found.classes == ("cat", "elephant")
    told = {
        name: tuple(found.columns[column][place] for column in ("shape", "texture", "shape-image", "texture-image"))
        for place, name in enumerate(found.names)
    }
    assert told == {
        "cat/cat7-elephant1.png": ("cat", "elephant", "cat7", "elephant1"),
        "cat/cat7-cat12.png": ("cat", "cat", "cat7", "cat12"),
        "elephant/elephant1-cat2.png": ("elephant", "cat", "elephant1", "cat2"),
    }
    assert [found.classes[label] for label in found.labels] == list(found.columns["shape"])


def test_stimuli_can_be_chosen_by_texture(tmp_path):
    found = image_set(stimuli(tmp_path, "cat/cat7-elephant1.png", "cat/cat7-cat12.png", "elephant/elephant1-cat2.png"))
    assert sorted(found.where("texture=cat").names) == ["cat/cat7-cat12.png", "elephant/elephant1-cat2.png"]


@pytest.mark.parametrize("odd", ["cat/dog1-cat1.png", "cat/cat1.png", "cat/cat1-mouse1.png"])
def test_other_names_are_refused(tmp_path, odd):
    with pytest.raises(BrittleError, match="does not name a shape and a texture"):
        image_set(stimuli(tmp_path, "cat/cat7-dog1.png", "dog/dog1-cat1.png", odd))


def test_a_folder_without_shapes_is_refused(tmp_path):
    with pytest.raises(BrittleError, match="no folder per shape"):
        image_set(stimuli(tmp_path, "cat7-elephant1.png"))
