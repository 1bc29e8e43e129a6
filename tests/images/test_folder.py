"""Folders of image files."""

import os

import numpy as np
import pytest
import torch
from PIL import Image

from brittle.errors import BrittleError
from brittle.images import image_set


def paint(file, colour=(255, 0, 0), size=(6, 4), mode="RGB", **options):
    """Writes a plain image of (width, height)."""
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(file, **options)


@pytest.fixture
def photos(tmp_path):
    for name in ("dog/1.png", "cat/1.png", "cat/old/2.PNG"):
        paint(tmp_path / name)
    return tmp_path


def test_folders_are_classes_in_sorted_order(photos):
    whole = image_set(f"folder:{photos}")
    assert whole.classes == ("cat", "dog")
    assert list(whole.names) == ["cat/1.png", "cat/old/2.PNG", "dog/1.png"]
    assert whole.labels.tolist() == [0, 0, 1]
    assert whole.where("folder=cat/old").names[0] == "cat/old/2.PNG"
    assert image_set(f"folder:{photos},labels=none").labels.tolist() == [-1, -1, -1]


def test_the_id_is_a_hash_of_the_relative_path(photos):
    # printf cat/1.png | b2sum -l 64, without its last bit
    assert int(image_set(f"folder:{photos}").ids[0]) == 0xE4BEB39DEC288D0C >> 1


def test_ids_stay_when_files_are_added_or_the_folder_moves(photos):
    before = image_set(f"folder:{photos}")
    known = dict(zip(before.names, before.ids.tolist(), strict=True))
    paint(photos / "bird/0.png")
    paint(photos / "cat/0.png")
    moved = photos.rename(photos.with_name("moved"))
    after = image_set(f"folder:{moved}/")
    assert len(after) == 5
    found = dict(zip(after.names, after.ids.tolist(), strict=True))
    assert {name: found[name] for name in known} == known


def test_a_flat_folder_is_unlabelled_and_other_files_are_passed_over(tmp_path):
    for name in ("n01440764_tench.JPG", "b.webp", ".hidden.png", ".thumbs/c.png"):
        paint(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not an image")
    whole = image_set(f"folder:{tmp_path}")
    assert list(whole.names) == ["b.webp", "n01440764_tench.JPG"]
    assert whole.labels.tolist() == [-1, -1]
    assert whole.classes == ()


def test_links_are_followed_but_not_in_circles(photos):
    os.symlink(photos / "dog", photos / "wolf")
    os.symlink(photos, photos / "cat" / "again")
    assert list(image_set(f"folder:{photos}").names) == ["cat/1.png", "cat/old/2.PNG", "dog/1.png", "wolf/1.png"]


def test_folders_that_would_shift_the_labels_are_refused(photos):
    (photos / "bird").mkdir()
    with pytest.raises(BrittleError, match=r"the class folder 'bird' of .* has no images"):
        image_set(f"folder:{photos}")
    (photos / "bird").rmdir()
    paint(photos / "montage.png")
    with pytest.raises(BrittleError, match=r"class folders and also montage.png.*labels=none"):
        image_set(f"folder:{photos}")


def test_missing_and_empty_folders_are_named(tmp_path):
    with pytest.raises(BrittleError, match="there is no folder"):
        image_set(f"folder:{tmp_path / 'nowhere'}")
    with pytest.raises(BrittleError, match="there are no images in"):
        image_set(f"folder:{tmp_path}")


def damaged(folder):
    """A JPEG of noise that breaks off in the middle of its pixels: its header is whole."""
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "whole.jpg")
    (folder / "broken.jpg").write_bytes((folder / "whole.jpg").read_bytes()[:2000])


def test_a_truncated_image_stops_the_work_and_is_named_with_the_remedy(tmp_path):
    damaged(tmp_path)
    with pytest.raises(BrittleError, match=r"broken.jpg can't be read: .*truncated.*unreadable=skip"):
        image_set(f"folder:{tmp_path}").batch([0, 1])


def test_unreadable_images_are_skipped_and_counted_if_asked(tmp_path):
    damaged(tmp_path)
    (tmp_path / "text.png").write_text("not an image")
    os.symlink(tmp_path / "gone.png", tmp_path / "dangling.png")
    whole = image_set(f"folder:{tmp_path},unreadable=skip")
    assert whole.skipped == ("broken.jpg", "dangling.png", "text.png")
    assert list(whole.names) == ["whole.jpg"]
    assert whole.take([0]).skipped == whole.skipped
    os.unlink(tmp_path / "dangling.png")
    with pytest.raises(BrittleError, match=r"text.png can't be read: not an image format"):
        image_set(f"folder:{tmp_path}")


def test_images_of_two_sizes_are_no_batch_and_cropping_fixes_it(tmp_path):
    paint(tmp_path / "a.png", size=(8, 6))
    paint(tmp_path / "b.png", size=(6, 9))
    with pytest.raises(BrittleError, match=r"a.png is 8×6 and b.png is 6×9 .*size=…,crop=…"):
        image_set(f"folder:{tmp_path}").batch([0, 1])
    with pytest.raises(BrittleError, match=r"a.png is 5×4 and b.png is 4×6"):
        image_set(f"folder:{tmp_path},size=4").batch([0, 1])
    assert image_set(f"folder:{tmp_path},size=6,crop=5").batch([0, 1]).images.shape == (2, 3, 5, 5)
    with pytest.raises(BrittleError, match=r"a.png is 8×6, too small for crop=7"):
        image_set(f"folder:{tmp_path},crop=7").batch([0])
    with pytest.raises(BrittleError, match="crop=7 is larger than size=6"):
        image_set(f"folder:{tmp_path},size=6,crop=7")


@pytest.mark.parametrize("options", ["", ",size=4", ",size=5,crop=4", ",channels=grey"])
def test_the_shapes_told_from_headers_are_those_of_the_images(tmp_path, options):
    paint(tmp_path / "a.png", size=(8, 6))
    paint(tmp_path / "b.png", 51, size=(7, 9), mode="L")
    paint(tmp_path / "d.png", size=(8, 6))
    lying = Image.new("RGB", (9, 5))
    exif = lying.getexif()
    exif[0x0112] = 6
    lying.save(tmp_path / "c.jpg", exif=exif)
    whole = image_set(f"folder:{tmp_path}{options}").take([3, 2, 1, 0])
    read = {}
    for place in range(4):
        read.setdefault(tuple(whole.batch([place]).images.shape[1:]), []).append(place)
    assert whole.shapes == read


def test_shapes_are_told_without_decoding(tmp_path):
    Image.effect_noise((64, 48), 90).save(tmp_path / "a.jpg")
    (tmp_path / "a.jpg").write_bytes((tmp_path / "a.jpg").read_bytes()[:-900])
    whole = image_set(f"folder:{tmp_path}")
    assert whole.shape == (1, 48, 64)
    with pytest.raises(BrittleError, match="truncated"):
        whole.batch([0])


def test_the_crop_is_from_the_middle(tmp_path):
    pixels = np.zeros((4, 8), dtype=np.uint8)
    pixels[1:3, 3:5] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert torch.all(image_set(f"folder:{tmp_path},crop=2").batch([0]).images == 1)
    assert image_set(f"folder:{tmp_path},crop=4").batch([0]).images.sum() == 4


def test_exif_orientation_is_honoured(tmp_path):
    lying = np.zeros((4, 6), dtype=np.uint8)
    lying[:, 0] = 255  # the left edge is white
    exif = Image.Exif()
    exif[0x0112] = 6  # "turn by 90° clockwise to see it upright": the left edge becomes the top
    Image.fromarray(lying).save(tmp_path / "a.png", exif=exif)
    Image.fromarray(np.zeros((6, 4), dtype=np.uint8)).save(tmp_path / "b.png")
    upright = image_set(f"folder:{tmp_path}").batch([0, 1]).images[0, 0]
    assert upright.shape == (6, 4)
    assert torch.all(upright[0] == 1)
    assert torch.all(upright[1:] == 0)


def test_sixteen_bits_keep_their_precision(tmp_path):
    values = np.array([[0, 1], [32768, 65535]], dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / "a.png")
    read = image_set(f"folder:{tmp_path}").batch([0]).images[0]
    assert torch.allclose(read, torch.from_numpy(values / 65535).float()[None], atol=1e-7)
    assert image_set(f"folder:{tmp_path},channels=rgb").shape == (3, 2, 2)


@pytest.mark.filterwarnings("error")
def test_palettes_transparency_and_cmyk_become_rgb(tmp_path):
    paint(tmp_path / "alpha.png", (255, 0, 0, 128), mode="RGBA")
    Image.new("RGB", (6, 4), (255, 0, 0)).quantize(4).save(tmp_path / "palette.png", transparency=b"\x80")
    paint(tmp_path / "plain.bmp")
    paint(tmp_path / "print.tif", (0, 255, 255, 0), mode="CMYK")
    images = image_set(f"folder:{tmp_path}").batch(range(4)).images
    assert torch.allclose(images, torch.tensor([1.0, 0.0, 0.0])[None, :, None, None].expand(4, 3, 4, 6), atol=0.02)


def test_grey_files_give_one_channel_and_one_colour_file_makes_all_rgb(tmp_path):
    paint(tmp_path / "a.pgm", 51, mode="L")
    paint(tmp_path / "b.png", 1, mode="1")
    assert image_set(f"folder:{tmp_path}").shape == (1, 4, 6)
    assert image_set(f"folder:{tmp_path},channels=rgb").shape == (3, 4, 6)
    paint(tmp_path / "c.ppm", (255, 0, 0))
    images = image_set(f"folder:{tmp_path}").batch([0, 2]).images
    assert torch.allclose(images[0], torch.full((3, 4, 6), 0.2))
    grey = image_set(f"folder:{tmp_path},channels=grey").batch([2]).images
    assert torch.allclose(grey, torch.full((1, 1, 4, 6), 0.299), atol=0.003)  # ITU-R 601 weight of red


def test_a_colour_file_that_the_look_at_opening_missed_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("brittle.images.folder.INSPECTED", 1)
    paint(tmp_path / "a.png", 51, mode="L")
    paint(tmp_path / "b.png")
    with pytest.raises(BrittleError, match=r"a.png has 1 channels and b.png has 3.*channels=rgb"):
        image_set(f"folder:{tmp_path}").batch([0, 1])


def test_a_wrong_option_is_answered_with_a_right_one(photos):
    with pytest.raises(BrittleError, match="Did you mean 'crop'"):
        image_set(f"folder:{photos},crpo=4")
    with pytest.raises(BrittleError, match=r"channels is 'gray', but must be auto, rgb or grey\. Did you mean 'grey'"):
        image_set(f"folder:{photos}", channels="gray")
