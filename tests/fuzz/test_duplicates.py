"""Names that occur twice, counts that differ, labels that contradict each other: what is taken can be meant in one way
only."""

import io
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as some
from made_up import costly, taken_or_refused
from PIL import Image

from brittle.images.scales.cifar_c import CifarC
from brittle.images.scales.imagenet_c import ImageNetC
from brittle.images.scales.table import ScalesTable
from brittle.images.shards import Shards

MEMBERS = some.sampled_from(["a.png", "a.jpg", "a.cls", "a.json", "b.png", "b.cls", "sub/a.png", "sub/a.cls"])


def picture(shade):
    to = io.BytesIO()
    Image.fromarray(np.full((3, 3, 3), shade, np.uint8)).save(to, "PNG")
    return to.getvalue()


PICTURE = picture(100)


@given(some.lists(MEMBERS, min_size=1, max_size=7))
def test_a_sample_of_a_shard_is_one_image_or_refused(file, names):
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode="w") as archive:
        for number, name in enumerate(names):
            content = PICTURE if name.endswith(("png", "jpg")) else str(number % 3).encode()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    with taken_or_refused():
        found = Shards(path=str(file("s.tar", to.getvalue()))).load()
        images = Counter(f"s.tar/{name.partition('.')[0]}" for name in names if name.endswith(("png", "jpg")))
        assert [images[name] for name in found.names] == [1] * len(found)


PATHS = some.sampled_from(
    [f"fog/{severity}/{of_class}/x.png" for severity in ("1", "01", "２", "2") for of_class in "ab"]
)
CLEAN = some.sampled_from(["a/x.png", "b/x.png", "a/more/x.png", "b/more/x.png", "a/y.png"])


@costly(0.3)
@given(some.sets(PATHS, min_size=1), some.sets(CLEAN, min_size=1))
def test_a_corrupted_image_has_one_clean_one_or_is_refused(stored, clean):
    with tempfile.TemporaryDirectory() as folder:
        for below, names in (("c", stored), ("val", clean)):
            for name in names:
                path = Path(folder, below, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(PICTURE)
        with taken_or_refused():
            found = ImageNetC(f"{folder}/c", clean=f"folder:{folder}/val").load()
            of_class = found.columns["class"]
            for of in of_class:
                assert sum(name.startswith(f"{of}/") and name.endswith("x.png") for name in clean) == 1
                severities = [int(name.split("/")[1]) for name in stored if name.split("/")[2] == of]
                assert len(set(severities)) == len(severities) == len(found.shifts["fog"].scales)


@given(
    some.integers(1, 4),
    some.integers(0, 12) | some.none(),
    some.lists(some.integers(0, 1), min_size=1, max_size=12),
    some.integers(1, 3),
    some.booleans(),
)
def test_arrays_of_severities_fit_their_clean_images_or_are_refused(file, count, images, labels, severities, labelled):
    if images is None:
        images, labels = (
            count * severities,
            [labels[place % count % len(labels)] for place in range(count * severities)],
        )
    root = file("labels.npy", b"").parent
    for name, values in (("fog", np.zeros((images, 3, 3, 3), np.uint8)), ("labels", np.array(labels, dtype=np.int64))):
        np.save(root / f"{name}.npy", values)
    own = {"labels": np.resize(labels, count)} if labelled else {}
    np.savez(root / "clean.npz", images=np.zeros((count, 3, 3, 3), np.uint8), **own)
    with taken_or_refused():
        found = CifarC(str(root), clean=f"npz:{root}/clean.npz", severities=severities).load()
        assert images == count * severities
        assert np.array_equal(np.resize(found.labels.numpy(), len(labels)), labels)


ROWS = some.tuples(
    some.sampled_from(["x.png", "y.png"]),
    some.sampled_from(["cat", "cat/1", "dog"]),
    some.sampled_from(["", "fog"]),
    some.sampled_from(["0", "0.0", "1", "1.00001", "2"]),
    some.sampled_from(["1", "1/1"]),
)


@costly(0.5)
@given(some.lists(ROWS, min_size=1, max_size=6))
def test_a_table_means_one_picture_by_each_row_or_is_refused(file, rows):
    for name, shade in (("x.png", 100), ("y.png", 200)):
        file(name, picture(shade))
    text = "\n".join(["path,class,shift,scale,seed", *(",".join(row) for row in rows)])
    with taken_or_refused():
        found = ScalesTable(str(file("pictures.csv", text.encode()))).load()
        assert max(Counter((of, shift, float(scale), seed) for _, of, shift, scale, seed in rows).values()) == 1
        assert len({(path, of) for path, of, *_ in rows}) == len({path for path, *_ in rows})
        assert len(found) <= len({(of, seed) for _, of, _, _, seed in rows})
