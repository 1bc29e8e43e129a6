"""What a received file names is read only where it lies in the same folder, and is a regular file."""

import io
import json
import os
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

from brittle.contained_files import ContainedFiles
from brittle.errors import BrittleError
from brittle.images import image_set

LEADS_OUT = "leads out of"


@pytest.fixture
def place(tmp_path):
    """A folder that was received, beside a picture that was not."""
    folder = tmp_path / "received"
    folder.mkdir()
    Image.new("RGB", (8, 8), "red").save(tmp_path / "private.png")
    return folder


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Opening a Parquet file keeps a copy."""
    config = pytest.importorskip("datasets").config
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))
        yield


def picture(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8)).save(path)


def linked(path, to):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)


def in_a_folder(place, file):
    picture(place / "cat" / "a.png")
    return f"folder:{place}", place / "cat" / file


def in_cue_conflict(place, file):
    picture(place / "cat" / "cat1-dog1.png")
    picture(place / "dog" / "dog1-cat1.png")
    return f"cue-conflict:{place}", place / "cat" / f"cat1-dog2{file[1:]}"


def in_cns(place, file):
    for scale in ("0000", "1000"):
        picture(place / "fog" / "003_cat" / f"seed_0001_scale_{scale}.png")
    return f"cns:{place}", place / "fog" / "003_cat" / f"seed_0001_scale_2000{file[1:]}"


def in_imagenet_c(place, file):
    for severity in "12":
        picture(place / "fog" / severity / "cat" / "a.png")
        picture(place / "fog" / severity / "cat" / "b.png")
    return f"imagenet-c:{place}", place / "fog" / "3" / "cat" / file


LAYOUTS = [in_a_folder, in_cue_conflict, in_cns, in_imagenet_c]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_link_out_of_the_folder_is_refused_unless_allowed(place, layout):
    spec, file = layout(place, "b.png")
    linked(file, place.parent / "private.png")
    with pytest.raises(BrittleError, match=LEADS_OUT):
        image_set(spec)
    assert len(image_set(f"{spec},outside=allow"))
    file.unlink()
    picture(place / ".kept" / "b.png")
    linked(file, place / ".kept" / "b.png")
    assert len(image_set(spec))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_folder_that_links_out_of_the_folder_is_refused(place, layout):
    spec, file = layout(place, "b.png")
    picture(place.parent / "elsewhere" / file.name)
    inner = file.parent if layout is in_imagenet_c else file.parent.parent / "009_other"
    inner.parent.mkdir(parents=True, exist_ok=True)
    inner.symlink_to(place.parent / "elsewhere")
    with pytest.raises(BrittleError, match=LEADS_OUT):
        image_set(spec)


def test_a_corruption_that_links_out_of_the_folder_is_refused(place):
    spec, _ = in_imagenet_c(place, "b.png")
    (place / "snow").symlink_to(place.parent)
    with pytest.raises(BrittleError, match=LEADS_OUT):
        image_set(spec)
    with pytest.raises(BrittleError, match=LEADS_OUT):
        image_set(f"{spec},shifts=fog")  # its folders would be classes


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_pipe_and_a_device_are_refused(place, layout):
    spec, file = layout(place, "b.png")
    file.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(file)
    for options in ("", ",outside=allow"):
        with pytest.raises(BrittleError, match=r"a pipe or a device|has all of its scales"):
            image_set(spec + options)
    file.unlink()
    linked(file, "/dev/zero")
    with pytest.raises(BrittleError, match=LEADS_OUT):
        image_set(spec)
    with pytest.raises(BrittleError, match=r"a pipe or a device|has all of its scales"):
        image_set(f"{spec},outside=allow")


NAMED = {
    "../private.png": LEADS_OUT,
    "{0}/private.png": LEADS_OUT,
    "link.png": LEADS_OUT,
    "inner/../../private.png": LEADS_OUT,
    "linked/private.png": LEADS_OUT,
    "/dev/zero": LEADS_OUT,
    "pipe.png": "a pipe or a device",
    "none.png": "there is no file",
    "inner": "a folder",
    "": "a folder|can't be read",
    "a\0b": "can't be read",
    "a\0b/c": LEADS_OUT,
}


@pytest.fixture(params=NAMED)
def named(request, place):
    """A path that a row gives, and what is said of it."""
    linked(place / "link.png", place.parent / "private.png")
    linked(place / "linked", place.parent)
    os.mkfifo(place / "pipe.png")
    picture(place / "inner" / "fine.png")
    return request.param.format(place.parent), NAMED[request.param]


def table(place, path):
    rows = [("inner/fine.png", 0, "", 0.0, 1), (path, 0, "fog", 1.0, 1)]
    columns = dict(zip(("path", "class", "shift", "scale", "seed"), map(list, zip(*rows, strict=True)), strict=True))
    pa.parquet.write_table(pa.table(columns), place / "table.parquet")
    return f"scales:{place / 'table.parquet'}"


def test_a_table_of_scales_names_its_own_files_alone(place, named):
    path, said = named
    with pytest.raises(BrittleError, match=said):
        image_set(table(place, path))


def test_a_table_of_scales_may_name_others_where_that_is_allowed(place):
    picture(place / "inner" / "fine.png")
    spec = table(place, "../private.png")
    shift = image_set(f"{spec},outside=allow").shifts["fog"]
    assert float(shift.reader([1])[0].max()) > 0


def rows_of(place, path, where="rows.parquet", feature=None):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"image": feature or datasets.Image(), "label": datasets.Value("int64")})
    rows = {"image": [{"bytes": None, "path": each} for each in ("inner/fine.png", path)], "label": [0, 1]}
    arrow = pa.table(rows, schema=features.arrow_schema)
    pa.parquet.write_table(arrow, place / where)
    return f"hf:{place / where}"


@pytest.mark.parametrize("options", ["", ",streaming=true"])
def test_a_row_of_a_dataset_names_its_own_files_alone(place, named, options):
    path, said = named
    spec = rows_of(place, path)
    if not path:
        return  # neither bytes nor a path: not an image, whatever is said
    with pytest.raises(BrittleError, match=said):
        image_set(spec + options).batch([0, 1])


@pytest.mark.parametrize("options", ["", ",streaming=true"])
def test_a_row_may_name_a_file_beside_the_dataset_or_where_that_is_allowed_another(place, options, monkeypatch):
    picture(place / "inner" / "fine.png")
    monkeypatch.chdir(place.parent)
    assert image_set(rows_of(place, "inner/fine.png") + options).batch([0, 1]).images.max() == 0
    spec = rows_of(place, str(place.parent / "private.png"))
    assert image_set(f"{spec}{options},outside=allow").batch([1]).images.max() == 1


def test_images_that_stand_for_labels_are_not_opened(place):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Image()})
    entry = {"bytes": None, "path": str(place.parent / "private.png")}
    pa.parquet.write_table(
        pa.table({"image": [entry], "label": [entry]}, schema=features.arrow_schema), place / "rows.parquet"
    )
    for options in ("", ",streaming=true"):
        with pytest.raises(BrittleError, match=r"the column 'label' of .* holds Image"):
            image_set(f"hf:{place / 'rows.parquet'}{options}")


def test_columns_that_nobody_asked_for_are_not_opened(place, monkeypatch):
    datasets = pytest.importorskip("datasets")
    content = io.BytesIO()
    Image.new("RGB", (8, 8)).save(content, "PNG")
    features = datasets.Features({"image": datasets.Image(), "other": datasets.Image()})
    rows = {"image": [{"bytes": content.getvalue(), "path": None}], "other": [{"bytes": None, "path": "pipe.png"}]}
    pa.parquet.write_table(pa.table(rows, schema=features.arrow_schema), place / "rows.parquet")
    os.mkfifo(place / "pipe.png")
    monkeypatch.chdir(place)
    for options in (",image=image", ",image=image,streaming=true"):
        assert len(image_set(f"hf:{place / 'rows.parquet'}{options}")) == 1


@pytest.fixture
def saved(place):
    """A dataset that save_to_disk wrote, beside another."""
    datasets = pytest.importorskip("datasets")
    for folder in (place / "saved", place.parent / "private"):
        made = datasets.Dataset.from_dict({"image": [np.zeros((4, 4)).tolist()], "label": [0]})
        datasets.DatasetDict({"test": made}).save_to_disk(str(folder))
    return place / "saved"


def test_a_saved_dataset_names_its_own_files_alone(saved):
    assert len(image_set(f"hf:{saved}")) == 1
    state = json.loads((saved / "test" / "state.json").read_text())
    file = state["_data_files"][0]["filename"]
    os.mkfifo(saved / "test" / "pipe")
    for other, said in {
        f"../../../private/test/{file}": LEADS_OUT,
        str(saved.parent.parent / "private" / "test" / file): LEADS_OUT,
        "/dev/zero": LEADS_OUT,
        "pipe": "a pipe or a device",
    }.items():
        state["_data_files"][0]["filename"] = other
        (saved / "test" / "state.json").write_text(json.dumps(state))
        with pytest.raises(BrittleError, match=said):
            image_set(f"hf:{saved}")


def test_a_saved_dataset_names_its_own_splits_alone(saved):
    (saved / "dataset_dict.json").write_text(json.dumps({"splits": ["../../private/test"]}))
    with pytest.raises(BrittleError, match=LEADS_OUT):
        image_set(f"hf:{saved},split=../../private/test")


def shard(path):
    content = io.BytesIO()
    Image.new("RGB", (8, 8)).save(content, "PNG")
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("a.png")
        info.size = len(content.getvalue())
        archive.addfile(info, io.BytesIO(content.getvalue()))


@pytest.mark.parametrize("spec", ["shards:{0}", "shards:{0}/*.tar"])
def test_a_shard_that_links_out_of_the_folder_is_refused_unless_it_is_named(place, spec):
    shard(place.parent / "private.tar")
    linked(place / "a.tar", place.parent / "private.tar")
    with pytest.raises(BrittleError, match=LEADS_OUT):
        image_set(spec.format(place))
    assert len(image_set(f"{spec.format(place)},outside=allow")) == 1
    assert len(image_set(f"shards:{place}/a.tar")) == 1


@pytest.mark.parametrize("spec", ["hf:{0}", "hf:{0}/*.parquet"])
def test_a_parquet_file_that_links_out_of_the_folder_is_refused_unless_it_is_named(place, spec):
    picture(place.parent / "inner" / "fine.png")
    rows_of(place.parent, "inner/fine.png")
    linked(place / "rows.parquet", place.parent / "rows.parquet")
    with pytest.raises(BrittleError, match=LEADS_OUT):
        image_set(spec.format(place))


def test_an_array_of_cifar_c_that_links_out_of_the_folder_is_refused(place):
    for name in ("fog", "labels"):
        np.save(place.parent / f"{name}.npy", np.zeros((5, 8, 8, 3) if name == "fog" else 5, np.uint8))
        linked(place / f"{name}.npy", place.parent / f"{name}.npy")
    with pytest.raises(BrittleError, match=LEADS_OUT):
        image_set(f"cifar-c:{place}")
    assert len(image_set(f"cifar-c:{place},outside=allow")) == 1


def test_own_files_are_those_below_a_folder(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "ab").mkdir()
    own = ContainedFiles(tmp_path / "a")
    assert own.holds(tmp_path / "a")
    assert own.holds(tmp_path / "a" / "b" / ".." / "c")
    assert not own.holds(tmp_path / "ab")
    assert not own.holds(tmp_path / "a" / "..")
    assert ContainedFiles("/").holds(tmp_path)
