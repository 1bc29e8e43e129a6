"""CNS-Bench's layout: what is matched, what is left out and named, and that nothing else is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from cns_folder import CLASSES, SCALES, SEEDS, SHIFTS, colour, make, relative, write
from PIL import Image

from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import ImageSet
from brittle.images.fingerprint import fingerprint

Cns = Callable[..., Path]
JPEG = 3 / 255  # by which a picture of one colour may be off


@pytest.fixture
def cns(tmp_path: Path) -> Cns:
    return partial(make, tmp_path / "cns")


def pictures(images: ImageSet) -> dict[tuple[int, int], int]:
    """(class, seed) → place."""
    return {
        (int(label), int(seed)): place
        for place, (label, seed) in enumerate(zip(images.labels, images.columns["seed"], strict=True))
    }


def test_a_shift_reads_the_picture_of_its_class_seed_and_scale(cns: Cns) -> None:
    images = image_set(f"cns:{cns()}")
    assert len(images) == len(CLASSES) * len(SEEDS)
    assert sorted(images.shifts) == sorted(SHIFTS)
    assert images.notes == ()
    batch = images.batch(range(len(images)))
    for name, shift in images.shifts.items():
        assert tuple(shift.scales) == SCALES[1:]
        for scale in SCALES:
            made = shift.apply(batch, shift.at(shift.identity(batch), scale, batch))
            for (label, seed), place in pictures(images).items():
                wanted = torch.tensor(colour(name, label, seed, scale)) / 255
                assert (made[place].mean((1, 2)) - wanted).abs().max() < JPEG, (name, label, seed, scale)


def test_images_of_one_batch_may_be_at_different_scales(cns: Cns) -> None:
    images = image_set(f"cns:{cns()}")
    shift, batch = images.shifts[SHIFTS[1]], images.batch([0, 0, 1, 1])
    severities = torch.tensor([0.0, 2.5, 0.5, 1.0])
    made = shift.apply(batch, shift.at(shift.identity(batch), severities, batch))
    assert torch.equal(made[0], batch.images[0])
    alone = [shift.apply(batch, torch.full((4, 1), float(each)))[row] for row, each in enumerate(severities)]
    assert torch.equal(made, torch.stack(alone))


def test_ids_do_not_depend_on_where_the_folder_lies_or_on_other_images(cns: Cns, tmp_path: Path) -> None:
    root = cns()
    first = image_set(f"cns:{root}")
    moved = Path(shutil.copytree(root, tmp_path / "elsewhere"))
    shutil.rmtree(moved / SHIFTS[0] / "001_goldfish")
    shutil.rmtree(moved / SHIFTS[1] / "001_goldfish")
    second = image_set(f"cns:{moved}")
    assert len(second) == len(SEEDS)
    assert set(second.ids.tolist()) < set(first.ids.tolist())


def test_a_drawn_scale_is_uniform_over_the_stored_ones(cns: Cns) -> None:
    images = image_set(f"cns:{cns()}")
    shift, batch = images.shifts[SHIFTS[0]], images.batch([0])
    drawn = shift.sample(batch, torch.arange(3000)[None])
    assert drawn.shape == (1, 3000, 1)
    shares = [float((drawn - scale).abs().lt(1e-6).float().mean()) for scale in SCALES[1:]]
    assert sum(shares) == pytest.approx(1)
    assert all(abs(share - 1 / 3) < 0.04 for share in shares)  # 4.6 standard errors


def test_a_path_is_followed_only_where_all_its_scales_exist_and_others_are_kept(cns: Cns) -> None:
    gone = relative(SHIFTS[0], 1, 34, 1.0)
    images = image_set(f"cns:{cns(missing=[gone])}")
    place = pictures(images)[1, 34]
    wanted = np.ones(len(images), dtype=bool)
    assert np.array_equal(images.shifts[SHIFTS[1]].exists(images.ids.numpy()), wanted)
    wanted[place] = False
    assert np.array_equal(images.shifts[SHIFTS[0]].exists(images.ids.numpy()), wanted)
    assert images.notes == (
        f"1 of 6 paths of the shift {SHIFTS[0]!r} are not followed, since images are missing: "
        "001_goldfish/seed_0034 (scale 1)",
    )
    with pytest.raises(BrittleError, match="lacks scales of the image with the id"):
        images.shifts[SHIFTS[0]].apply(images.batch([place]), torch.tensor([[0.5]]))


def test_paths_all_keeps_the_images_that_every_shift_has(cns: Cns) -> None:
    images = image_set(f"cns:{cns(missing=[relative(SHIFTS[0], 1, 34, 1.0)])},paths=all")
    assert (1, 34) not in pictures(images)
    assert len(images) == len(CLASSES) * len(SEEDS) - 1
    assert all(bool(shift.exists(images.ids.numpy()).all()) for shift in images.shifts.values())


def test_the_picture_at_scale_0_may_lie_with_any_shift(cns: Cns) -> None:
    images = image_set(f"cns:{cns(missing=[relative(SHIFTS[0], 1, 34, 0.0)])}")
    assert images.notes == ()
    assert all(bool(shift.exists(images.ids.numpy()).all()) for shift in images.shifts.values())


def test_a_path_without_a_picture_at_scale_0_is_named(cns: Cns) -> None:
    images = image_set(f"cns:{cns(missing=[relative(shift, 1, 34, 0.0) for shift in SHIFTS])}")
    assert (1, 34) not in pictures(images)
    assert len(images.notes) == 2
    assert all("001_goldfish/seed_0034 (scale 0)" in note for note in images.notes)


def test_an_unreadable_file_is_named_or_its_path_left_out(cns: Cns) -> None:
    root, file = cns(), relative(SHIFTS[1], 4, 3, 2.5)
    noise = np.random.default_rng(0).integers(0, 255, (8, 8, 3), dtype=np.uint8)
    Image.fromarray(noise).save(root / file, quality=100)
    (root / file).write_bytes((root / file).read_bytes()[:-100])  # its header stays
    images = image_set(f"cns:{root}")
    place = pictures(images)[4, 3]
    with pytest.raises(BrittleError, match=r"seed_0003_scale_2500\.jpg can't be read"):
        images.shifts[SHIFTS[1]].apply(images.batch([place]), torch.tensor([[2.5]]))
    rest = image_set(f"cns:{root},unreadable=skip")
    assert rest.skipped == (file,)
    assert len(rest) == len(images)
    assert not bool(rest.shifts[SHIFTS[1]].exists(rest.ids.numpy())[place])
    assert int(rest.shifts[SHIFTS[1]].exists(rest.ids.numpy()).sum()) == len(rest) - 1
    assert bool(rest.shifts[SHIFTS[0]].exists(rest.ids.numpy()).all())


def test_a_class_folder_that_the_annotations_contradict_is_named_and_left_out(cns: Cns) -> None:
    root = cns(annotations=True)
    assert image_set(f"cns:{root}").notes == ()
    (root / SHIFTS[0] / "004_hammerhead").rename(root / SHIFTS[0] / "005_hammerhead")
    text = (root / "annotations_cns.json").read_text().replace(f"{SHIFTS[0]}/004", f"{SHIFTS[0]}/005")
    (root / "annotations_cns.json").write_text(text)
    images = image_set(f"cns:{root}")
    assert images.notes == (
        f"the class folder {SHIFTS[0]}/005_hammerhead has a wrong index and is left out: annotations_cns.json says 4",
    )
    assert set(images.labels.tolist()) == {1, 4}
    assert int(images.shifts[SHIFTS[0]].exists(images.ids.numpy()).sum()) == len(SEEDS)
    assert int(images.shifts[SHIFTS[1]].exists(images.ids.numpy()).sum()) == 2 * len(SEEDS)


def test_without_annotations_the_index_that_most_folders_have_is_right(cns: Cns) -> None:
    root = cns()
    shutil.copytree(root / SHIFTS[0], root / "third")
    (root / "third" / "004_hammerhead").rename(root / "third" / "001_hammerhead")
    images = image_set(f"cns:{root}")
    assert len(images.notes) == 1
    assert images.notes[0].startswith("the class folder third/001_hammerhead has a wrong index and is left out")
    assert int(images.shifts["third"].exists(images.ids.numpy()).sum()) == len(SEEDS)
    assert images.classes == ("0", "goldfish", "2", "3", "hammerhead")


def test_a_wrong_index_does_not_take_the_right_folder_with_it(cns: Cns) -> None:
    """004_hammerhead of the other shift is contradicted by 001_hammerhead, which 001_goldfish refutes twice."""
    root = cns()
    (root / SHIFTS[0] / "004_hammerhead").rename(root / SHIFTS[0] / "001_hammerhead")
    images = image_set(f"cns:{root}")
    assert images.notes == (
        f"the class folder {SHIFTS[0]}/001_hammerhead has a wrong index and is left out: elsewhere 1 is 'goldfish'",
    )
    assert int(images.shifts[SHIFTS[1]].exists(images.ids.numpy()).sum()) == 2 * len(SEEDS)


def test_folders_that_contradict_each_other_equally_are_both_left_out(cns: Cns) -> None:
    root = cns()
    (root / SHIFTS[0] / "004_hammerhead").rename(root / SHIFTS[0] / "005_hammerhead")
    images = image_set(f"cns:{root}")
    assert [note.split(" has")[0] for note in images.notes] == [
        f"the class folder {SHIFTS[0]}/005_hammerhead",
        f"the class folder {SHIFTS[1]}/004_hammerhead",
    ]
    assert set(images.labels.tolist()) == {1}


def test_images_that_only_the_annotations_have_are_named(cns: Cns) -> None:
    gone = relative(SHIFTS[0], 1, 34, 1.0)
    images = image_set(f"cns:{cns(missing=[gone], annotations=True)}")
    assert f"1 images that annotations_cns.json lists are not there: {gone}" in images.notes


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"images": 3}', '{"images": [{"image": "a"}]}', "[" * 100_000])
def test_annotations_that_are_none_are_named(cns: Cns, text: str) -> None:
    root = cns()
    (root / "annotations_cns.json").write_text(text)
    with pytest.raises(BrittleError, match=r"annotations_cns\.json can't be read"):
        image_set(f"cns:{root}")


def test_several_draws_of_an_image_are_read_in_their_places(cns: Cns) -> None:
    images = image_set(f"cns:{cns()}")
    shift, batch = images.shifts[SHIFTS[1]], images.batch([1, 0, 1, 2])
    made = shift.apply(batch, torch.tensor([[0.5], [0.5], [0.5], [2.5]]))
    alone = [shift.apply(images.batch([place]), torch.tensor([[at]]))[0] for place, at in ((1, 0.5), (0, 0.5))]
    assert torch.equal(made[0], alone[0])
    assert torch.equal(made[2], alone[0])
    assert torch.equal(made[1], alone[1])


def test_two_pictures_of_one_place_are_refused_and_both_named(cns: Cns) -> None:
    root = cns()
    write(root / SHIFTS[0] / "001_goldfish" / "seed_034_scale_500.png", (0, 0, 0))
    with pytest.raises(BrittleError, match=r"seed_0034_scale_0500\.jpg and .*seed_034_scale_500\.png are both"):
        image_set(f"cns:{root}")


def test_a_picture_of_another_size_is_named(cns: Cns) -> None:
    root, file = cns(), relative(SHIFTS[0], 1, 3, 1.0)
    write(root / file, (1, 2, 3), side=9)
    images = image_set(f"cns:{root}")
    batch = images.batch([pictures(images)[1, 3]])
    with pytest.raises(BrittleError, match=r"seed_0003_scale_1000\.jpg is 3×9×9 and the same image at scale 0 3×8×8"):
        images.shifts[SHIFTS[0]].apply(batch, torch.tensor([[1.0]]))


def test_a_scale_that_is_not_stored_is_refused(cns: Cns) -> None:
    images = image_set(f"cns:{cns()}")
    with pytest.raises(BrittleError, match=r"not stored at scale 0\.7"):
        images.shifts[SHIFTS[0]].apply(images.batch([0]), torch.tensor([[0.7]]))


def test_files_whose_paths_say_nothing_are_named(cns: Cns) -> None:
    root = cns()
    write(root / SHIFTS[0] / "goldfish" / "seed_0001_scale_0000.jpg", (1, 2, 3))
    images = image_set(f"cns:{root}")
    assert len(images.notes) == 1
    assert f"{SHIFTS[0]}/goldfish/seed_0001_scale_0000.jpg" in images.notes[0]
    assert len(images) == len(CLASSES) * len(SEEDS)


def test_shifts_are_chosen_by_name_and_may_get_a_prefix(cns: Cns) -> None:
    root = cns()
    assert list(image_set(f"cns:{root},shifts={SHIFTS[1]},prefix=cns-").shifts) == [f"cns-{SHIFTS[1]}"]
    with pytest.raises(BrittleError, match="never has the value 'snow'"):
        image_set(f"cns:{root},shifts=snow")


def test_the_fingerprint_sees_a_changed_picture_above_scale_0(cns: Cns) -> None:
    root = cns()
    before = fingerprint(image_set(f"cns:{root}"))
    assert fingerprint(image_set(f"cns:{root}")) == before
    write(root / relative(SHIFTS[0], 1, 3, 1.0), (9, 9, 9))
    assert fingerprint(image_set(f"cns:{root}")) != before


def test_a_subset_keeps_its_shifts(cns: Cns) -> None:
    part = image_set(f"cns:{cns()}").where("class=hammerhead")
    batch = part.batch([1])
    made = part.shifts[SHIFTS[0]].apply(batch, torch.tensor([[1.0]]))
    seed = int(part.columns["seed"][1])
    wanted = torch.tensor(colour(SHIFTS[0], 4, seed, 1.0)) / 255
    assert (made[0].mean((1, 2)) - wanted).abs().max() < JPEG


def test_a_chosen_shift_begins_at_the_pictures_that_lie_with_another(tmp_path: Path) -> None:
    """At scale 0 both shifts have the same pictures, and here only the one that is not chosen has the files."""
    lacking = [relative(SHIFTS[1], label, seed, 0.0) for label in CLASSES for seed in SEEDS]
    images = image_set(f"cns:{make(tmp_path / 'cns', missing=lacking)},shifts={SHIFTS[1]}")
    assert images.origin
    assert list(images.shifts) == [SHIFTS[1]]
    assert images.notes == ()
    blue = images.batch(range(len(images))).images[:, 2].mean((1, 2))
    assert blue.max() < 0.01
