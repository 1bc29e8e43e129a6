"""Image sets from Python: arrays, sequences, datasets, specs with options."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from brittle.errors import BrittleError
from brittle.images import image_set

GRADIENT = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)  # (H, W, C)


@pytest.mark.parametrize(
    "image",
    [
        GRADIENT,
        GRADIENT.astype(np.float64) / 255,
        torch.from_numpy(GRADIENT).permute(2, 0, 1),
        torch.from_numpy(GRADIENT).permute(2, 0, 1) / 255,
        Image.fromarray(GRADIENT),
    ],
    ids=["numpy uint8", "numpy float", "tensor uint8", "tensor float", "PIL"],
)
def test_one_image_in_five_forms_is_the_same_image(image):
    batch = image_set([(image, 3), (image, 4)]).batch([1])
    assert batch.labels.tolist() == [4]
    assert batch.images.shape == (1, 3, 4, 6)
    assert torch.allclose(batch.images[0], torch.from_numpy(GRADIENT.transpose(2, 0, 1) / 255).float())


@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (0, 3, 1, 2)], ids=["channels last", "channels first"])
def test_arrays_with_channels_first_or_last_are_the_same_images(axes):
    stacked = np.stack([GRADIENT, 255 - GRADIENT]).transpose(axes)
    images = image_set((stacked, [1, 0])).batch([0, 1]).images
    assert torch.allclose(images[1], torch.from_numpy((255 - GRADIENT).transpose(2, 0, 1) / 255).float())
    assert images.is_contiguous()


def test_grey_arrays_get_one_channel_and_stay_uint8_in_memory():
    grey = np.full((5, 3, 4), 51, dtype=np.uint8)
    whole = image_set(grey)
    assert whole.shape == (1, 3, 4)
    assert whole.labels.tolist() == [-1] * 5
    assert whole.reader.images.dtype == np.uint8
    assert torch.all(whole.batch([4]).images == 0.2)


class Fashion(torch.utils.data.Dataset):
    """A torchvision-like dataset."""

    classes = ("bag", "coat", "dress")

    def __init__(self, targets=True):
        if targets:
            self.targets = torch.tensor([2, 0, 1, 1])

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if not 0 <= index < 4:
            raise IndexError(index)
        return torch.full((1, 2, 2), index / 10), int(torch.tensor([2, 0, 1, 1])[index])


@pytest.mark.parametrize("targets", [True, False])
def test_a_torch_dataset_gives_labels_and_class_names(targets):
    whole = image_set(Fashion(targets))
    assert whole.labels.tolist() == [2, 0, 1, 1]
    assert whole.where("class=coat").ids.tolist() == [2, 3]
    assert torch.allclose(whole.batch([3]).images, torch.tensor(0.3))


def test_a_dataset_that_draws_at_random_is_refused():
    class Augmented(Fashion):
        def __getitem__(self, index):
            return torch.rand(1, 2, 2), 0

    with pytest.raises(BrittleError, match="Turn off its random transforms"):
        image_set(Augmented())


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.full((2, 2), 1.5), "from 1.5 to 1.5, outside"),
        (np.full((2, 2), -0.1), "outside"),
        (np.full((2, 2), np.nan), "outside"),
        (np.full((2, 2), 200), "int64 values"),
    ],
)
def test_pixels_that_can_mean_anything_are_refused(image, message):
    with pytest.raises(BrittleError, match=message):
        image_set([(image, 0)])
    with pytest.raises(BrittleError, match=message):
        image_set((image[None], [0]))


def test_an_array_of_four_dimensions_is_not_an_image():
    with pytest.raises(BrittleError, match="which is not that of an image"):
        image_set([(np.zeros((1, 2, 2, 2)), 0)])


def test_images_of_two_sizes_are_named():
    with pytest.raises(BrittleError, match=r"index 0 is 2×3 and index 1 is 2×4 \(width × height\)"):
        image_set([(np.zeros((3, 2)), 0), (np.zeros((4, 2)), 0)]).batch([0, 1])


def test_a_label_a_word_becomes_a_class():
    whole = image_set((np.zeros((3, 2, 2)), np.array(["dog", "cat", "dog"])))
    assert whole.classes == ("cat", "dog")
    assert whole.labels.tolist() == [1, 0, 1]


@pytest.mark.parametrize("labels", [[0, 1], [[0, 1]] * 3, [0.5, 1, 2]])
def test_labels_that_do_not_fit_are_refused(labels):
    with pytest.raises(BrittleError, match="labels"):
        image_set((np.zeros((3, 2, 2)), labels))


@pytest.mark.parametrize(
    ("what", "options", "message"),
    [
        ("smaple", {}, "Did you mean 'sample'?"),
        ("sample", {"size": 3}, "has no option 'size'"),
        ((np.zeros((1, 2, 2)), [0]), {"clases": ("a",)}, "Did you mean 'classes'?"),
        (object(), {}, "can't be read by index"),
        (iter([]), {}, "is empty"),
        ([np.zeros((2, 2))], {}, "Make every item a pair"),
    ],
)
def test_a_wrong_source_is_answered_with_a_right_one(what, options, message):
    with pytest.raises(BrittleError) as caught:
        image_set(what, **options)
    assert message in str(caught.value)


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A folder with two classes, beside which the user stands; its name has a comma, which specs escape."""
    for name in ("photos", "my, photos"):
        for label in ("cat", "dog"):
            folder = tmp_path / name / label
            folder.mkdir(parents=True)
            Image.new("L", (8, 8), 99).save(folder / "one.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "photos"


def test_the_path_of_a_folder_is_an_image_set(photos):
    for what in (
        "photos",
        "./photos",
        "photos/",
        str(photos),
        Path("photos"),
        photos,
        "my\\, photos",
        Path("my, photos"),
    ):
        assert image_set(what).classes == ("cat", "dog")
    assert image_set("photos,size=4").shape == image_set(photos, size=4).shape == (1, 4, 4)


def test_a_folder_that_is_called_like_a_kind_is_meant_by_its_path(photos):
    photos.rename("sample")
    assert len(image_set("sample")) == 1000
    assert len(image_set(Path("sample"))) == len(image_set("./sample")) == 2


def test_the_path_of_an_npz_file_is_an_image_set(photos):
    np.savez("digits.npz", images=np.zeros((3, 8, 8), np.uint8), labels=np.arange(3))
    assert len(image_set("digits.npz")) == len(image_set(Path("digits.npz"))) == 3


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("phtos", "there is no folder or file phtos. Did you mean 'photos'?"),
        ("./phtos", "there is no folder or file ./phtos. Did you mean 'photos'?"),
        (Path("phtos"), "there is no folder or file phtos. Did you mean 'photos'?"),
        ("elsewhere/photos", "there is no folder or file elsewhere/photos. Check the path; `brittle list images`"),
        (Path("sample"), "there is no folder or file sample. Check the path; `brittle list images`"),
        ("images.gz", "'images.gz' does not say what kind of image set it is. Did you mean 'idx:images.gz'?"),
        (Path("images.gz"), "'images.gz' does not say what kind of image set it is. Did you mean 'idx:images.gz'?"),
    ],
)
def test_a_path_that_is_no_image_set_is_answered_with_what_to_type(what, said, photos):
    Path("images.gz").write_bytes(b"")
    with pytest.raises(BrittleError) as caught:
        image_set(what)
    assert str(caught.value).startswith(said)


def test_an_open_image_set_is_passed_through():
    whole = image_set("sample")
    assert image_set(whole) is whole


def test_the_sample_is_the_first_hundred_of_each_class_of_the_fashion_mnist_test_images():
    sample = image_set("sample")
    assert len(sample) == 1000
    assert torch.bincount(sample.labels).tolist() == [100] * 10
    assert sample.shape == (1, 28, 28)
    assert sample.ids.tolist() == sorted(sample.ids.tolist())
    # The published test labels begin so; until a class is full the sample leaves nothing out.
    assert sample.ids[:10].tolist() == list(range(10))
    assert sample.labels[:10].tolist() == [9, 2, 1, 1, 6, 1, 4, 6, 5, 7]
    assert int(sample.ids.sum()) == 502906
    assert sample.where("class=Ankle boot/T-shirt/top").labels.unique().tolist() == [0, 9]
