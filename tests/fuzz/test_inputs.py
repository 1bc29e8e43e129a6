"""Whatever is in a spec or file of images: it is taken, or refused in one line that says what is wrong."""

import gzip
import io
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from hypothesis import example, given
from hypothesis import strategies as some
from made_up import costly, mutated, taken_or_refused
from PIL import Image

from brittle.class_names import class_names
from brittle.classifiers import classifiers
from brittle.images import image_sets
from brittle.images.arrays import from_arrays
from brittle.images.folder import Folder
from brittle.images.id_list import ids_of
from brittle.images.idx import Idx
from brittle.images.npz import Npz
from brittle.nuisances import nuisances
from brittle.registry import parse_named, parse_spec
from brittle.registry.options import options_of

REGISTRIES = {"classifier": classifiers, "image set": image_sets, "nuisance": nuisances}


def load_and_read(loader):
    """Not by a spec, whose kind would be looked up among all installed packages each time."""
    whole = loader.load()
    batch = whole.groups([0, len(whole) - 1])[0].batch
    assert 0 <= float(batch.images.min()) <= float(batch.images.max()) <= 1


WORDS = some.sampled_from(
    [*"abc:,=+/\\. \n\0", "é", "\udce9", "nan", "inf", "1e999", "-1", "99999999999999999999", "none"]
)
VALUES = some.one_of(some.text(max_size=12), some.lists(WORDS, max_size=8).map("".join))


KINDS = [
    (sort, kind, [*options_of(registry.get(kind)), "unknown"])
    for sort, registry in REGISTRIES.items()
    for kind in registry.names()
]


@some.composite
def specs(draw):
    """A kind there is, with options there are, and values of any sort."""
    sort, kind, known = draw(some.sampled_from(KINDS))
    parts = [draw(VALUES)] if draw(some.booleans()) else []
    parts += [f"{key}={draw(VALUES)}" for key in draw(some.lists(some.sampled_from(known), max_size=3))]
    return sort, f"{kind}:{','.join(parts)}"


@costly(0.6)
@given(specs())
def test_a_spec_is_built_or_refused(case):
    sort, text = case
    with taken_or_refused():
        parse_named(text)
        REGISTRIES[sort].build(text)


@given(VALUES)
def test_any_text_is_taken_apart_or_refused(text):
    with taken_or_refused():
        parse_spec(text)
        name, spec = parse_named(text)
        (name + spec).encode()
    with taken_or_refused():
        assert all(class_names(text))


def idx(*shape, kind=8, data=b""):
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + data


IDX = [
    idx(2, 2, 3, data=bytes(range(12))),
    idx(2, 2, 3, kind=0x0D, data=np.linspace(0, 1, 12, dtype=">f4").tobytes()),
    idx(2, 3, 2, 2, data=bytes(range(24))),
    gzip.compress(idx(2, 2, 3, data=bytes(12)), mtime=0),
    gzip.compress(idx(200_000, 256, 256), mtime=0),
]


@given(mutated(IDX), mutated([idx(2, data=b"\1\0"), idx(2, kind=0x0E, data=bytes(16))]))
def test_an_idx_file_is_read_or_refused(file, images, labels):
    with taken_or_refused():
        load_and_read(Idx(str(file("images", images))))
    with taken_or_refused():
        load_and_read(Idx(str(file("images", IDX[0])), labels=str(file("labels", labels))))


def npz(compressed, **arrays):
    to = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(to, **arrays)
    return to.getvalue()


PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
ARRAYS = {"images": PIXELS, "labels": [0, 1], "ids": [3, 4], "classes": ["a", "b"], "where": ["x", "y"]}
NPZ = [
    npz(False, **ARRAYS),
    npz(True, images=PIXELS / 255, labels=["a", "b"]),
    npz(True, x=PIXELS.astype(">f4") / 255, y=np.zeros((2, 1))),
]


@given(mutated(NPZ))
def test_an_npz_file_is_read_or_refused(file, data):
    with taken_or_refused():
        load_and_read(Npz(str(file("a.npz", data))))


def parquet(**columns):
    to = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), to)
    return to.getvalue()


FEW = from_arrays(PIXELS, np.array([0, 1]))
CSV = [b"id,score,who\n0,0.5,Ann\n1,2,\n", b"name,age\nindex 1,3\n", b"id,x\n0,true\n1,99999999999999999999\n"]
PARQUET = [parquet(id=[1, 0], score=[0.5, 2.0], who=["a", None]), parquet(name=["index 0"], n=[[1, 2]])]


@given(mutated(CSV), mutated(PARQUET), mutated([b"3\n17\n240\n", b"-1 5"]), VALUES)
def test_columns_and_ids_are_read_or_refused(file, text, table, ids, condition):
    for name, content in (("a.csv", text), ("a.parquet", table)):
        with taken_or_refused():
            found = FEW.with_columns(str(file(name, content)))
            assert len(found.where("label>=0", condition)) <= 2
    with taken_or_refused():
        assert all(isinstance(each, int) for each in ids_of(str(file("ids", ids))))
    with taken_or_refused():
        FEW.where(condition)


HEADERS = some.fixed_dictionaries(
    {
        "descr": some.sampled_from(
            ["|u1", "<f4", ">f8", "<U3", "<U9999999", "|O", "|V8", "<M8[s]", "|S4", "<c8", "|b1"]
        ),
        "fortran_order": some.booleans(),
        "shape": some.lists(some.sampled_from([-1, 0, 1, 2, 3, 28, 2**31, 2**63, 2**70]), max_size=6).map(tuple),
    }
)


@given(
    HEADERS.map(repr) | some.text(max_size=60) | some.sampled_from(["(" * 3000, "{'a'", "'''", "\t\n 1"]),
    some.binary(max_size=300),
    some.sampled_from(["images", "labels", "ids", "classes", "where"]),
    some.sampled_from([1, 2, 3, 0, 255]),
)
@example("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3, 4), }", bytes(24), "images", 1)
def test_an_array_of_an_npz_file_is_read_or_refused(file, header, body, name, version):
    text = header.encode("utf-8", "replace")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    to = io.BytesIO(npz(False, **{key: values for key, values in ARRAYS.items() if key != name}))
    with zipfile.ZipFile(to, "a") as archive:
        archive.writestr(f"{name}.npy", b"\x93NUMPY" + bytes([version, 0]) + length + text + body)
    with taken_or_refused():
        load_and_read(Npz(str(file("b.npz", to.getvalue()))))


def picture(kind, mode="RGB", **options):
    to = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    Image.fromarray(noise).convert(mode).save(to, format=kind, **options)
    return to.getvalue()


PICTURES = [
    *(picture(kind) for kind in ("JPEG", "PNG", "BMP", "WEBP", "TIFF", "PPM")),
    picture("PNG", "P"),
    picture("PNG", "LA"),
    picture("PNG", "I;16"),
    picture("TIFF", "CMYK"),
    picture("TIFF", "F"),
    picture("TIFF", compression="tiff_lzw"),
    picture("JPEG", "L", progressive=True),
    picture("PPM", "1"),
]


@given(mutated(PICTURES), some.sampled_from([{}, {"size": 5, "crop": 4}, {"channels": "grey"}, {"unreadable": "skip"}]))
def test_an_image_is_read_or_refused(file, data, options):
    folder = file("a.png", data).parent
    for name in ("images", "labels", "a.npz", "b.npz"):
        (folder / name).unlink(missing_ok=True)
    with taken_or_refused():
        load_and_read(Folder(str(folder), **options))
