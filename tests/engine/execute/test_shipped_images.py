"""Image sets that the driver has read are sent to workers: the same images, fetched block by block."""

import pickle
import shutil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from engine_runs import run_study
from PIL import Image

from brittle.engine.execute import shipped_images
from brittle.engine.execute.remote_worker import WorkerSetup
from brittle.engine.execute.shipped_images import shipped
from brittle.images import image_set
from brittle.images.fingerprint import fingerprints
from brittle.images.selection import Selection
from brittle.images.stream import from_stream

BLOCKS: list[Any] = []
FETCHED: list[int] = []


def put(content: Any) -> int:
    BLOCKS.append(content)
    return len(BLOCKS) - 1


def fetch(number: int) -> Any:
    FETCHED.append(number)
    return BLOCKS[number]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(shipped_images, "BLOCK", 500)  # bytes: an image takes several
    BLOCKS.clear()
    FETCHED.clear()


def test_workers_read_a_stream_from_blocks_and_only_those_that_they_need(small_blocks):
    pixels = np.random.default_rng(0).integers(0, 256, (40, 16, 16), dtype=np.uint8)
    chosen = Selection().choose(from_stream((pixels[place], place % 3) for place in range(40)), seed=1)
    expected = chosen.images.batch(range(40))
    prints = fingerprints(chosen)
    sent = pickle.dumps(shipped(SimpleNamespace(images={"toy": chosen}), put, fetch))
    chosen.images.reader.base.held.close()  # which removes the file
    there = pickle.loads(sent)["toy"]
    assert len(BLOCKS) > 20
    assert (there.prints, there.images.names[7]) == (prints, chosen.images.names[7])
    assert torch.equal(there.images.batch([5]).images, expected.images[5:6])
    assert 0 < len(set(FETCHED)) < 4
    found = there.images.batch(range(40))
    assert torch.equal(found.images, expected.images)
    assert torch.equal(found.ids, expected.ids)
    assert torch.equal(found.labels, expected.labels)


def test_the_index_of_shards_is_sent_and_their_files_stay_where_they_are(small_blocks, tmp_path):
    import io
    import tarfile

    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for place in range(5):
            stream = io.BytesIO()
            Image.fromarray(np.full((8, 8), 40 * place, np.uint8)).save(stream, "PNG")
            for kind, content in (("png", stream.getvalue()), ("cls", b"1")):
                info = tarfile.TarInfo(f"{place}.{kind}")
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    chosen = Selection().choose(image_set(f"shards:{tmp_path}/a.tar"), seed=0)
    sent = shipped(SimpleNamespace(images={"toy": chosen}), put, fetch)["toy"]
    assert not BLOCKS
    assert torch.equal(sent.images.batch(range(5)).images, chosen.images.batch(range(5)).images)


@pytest.mark.slow
def test_workers_on_ray_never_read_the_stream_that_the_driver_has_read(things, monkeypatch):
    datasets = pytest.importorskip("datasets")
    pixels = np.random.default_rng(0).integers(0, 256, (60, 8, 8), dtype=np.uint8)
    rows = {"image": [Image.fromarray(each) for each in pixels], "label": [place % 4 for place in range(60)]}
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    folder = things.folder / "set"
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(str(folder))
    study = things.study("first", images={"toy": f"hf:{folder},streaming=yes"}, nuisances=["affine:alpha=20"])
    alone = run_study(study, things.folder / "alone")
    kept, removed = WorkerSetup.of, []

    def removing(*given: Any, **named: Any) -> WorkerSetup:
        shutil.rmtree(folder)
        removed.append(folder)
        return kept(*given, **named)

    monkeypatch.setattr(WorkerSetup, "of", removing)
    many = run_study(study, things.out, engine="ray", workers=2)
    assert removed
    assert many.summary["measures"] == alone.summary["measures"]
