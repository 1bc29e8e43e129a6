"""Small files that would cost much: refused in one line, by what their headers declare, before anything is read."""

import gzip
import io
import itertools
import os
import struct
import tracemalloc
import zipfile
import zlib
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image

from brittle.errors import BrittleError
from brittle.images import image_set

MEGABYTE = 1 << 20


@contextmanager
def refused(match, megabytes=100):
    """What is inside is refused without much memory, so that nothing was unpacked."""
    tracemalloc.start()
    try:
        with pytest.raises(BrittleError, match=match):
            yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < megabytes * MEGABYTE


def idx(*shape, kind=8, data=b""):
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + data


def zeros(size):
    """gzip of that many zeros, made a piece at a time."""
    packed = zlib.compressobj(9, wbits=31)
    return packed, [packed.compress(bytes(MEGABYTE)) for _ in range(size // MEGABYTE)]


@pytest.fixture
def written(tmp_path):
    def write(name, data):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


def test_a_gzipped_idx_is_held_against_what_its_header_declares(written):
    declared = written("a.gz", gzip.compress(idx(200_000, 256, 256), mtime=0))
    with refused(r"a.gz, 200000×256×256, takes 13.1 GB of memory, and at most 4 are allowed.*gigabytes=14"):
        image_set(f"idx:{declared}")
    packed, parts = zeros(150 * MEGABYTE)
    hidden = written("b.gz", gzip.compress(idx(1, 2, 2, data=bytes(4))) + b"".join(parts) + packed.flush())
    with refused("b.gz is too long: 1×2×2 values take 4 bytes, but there are more"):
        image_set(f"idx:{hidden}")


def test_the_limit_can_be_raised_and_lowered(written, tmp_path):
    file = written("a.gz", gzip.compress(idx(2, 100, 100, data=bytes(20_000))))
    with pytest.raises(BrittleError, match=r"takes 2e-05 GB of memory, and at most 1e-05 are allowed"):
        image_set(f"idx:{file},gigabytes=0.00001")
    assert len(image_set(f"idx:{file},gigabytes=0.00002")) == 2
    np.savez(tmp_path / "a.npz", images=np.zeros((2, 100, 100), dtype=np.uint8))
    with pytest.raises(BrittleError, match=r"at most 1e-05 are allowed"):
        image_set(f"npz:{tmp_path / 'a.npz'},gigabytes=0.00001")
    assert len(image_set(f"npz:{tmp_path / 'a.npz'},gigabytes=0.00002")) == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (idx(60_000, 0, 0), "has no values: its shape is 60000×0×0"),
        (idx(2**32 - 1, 0, 28), "has no values"),
        (idx(0, 28, 28), "has no values"),
        (idx(2**32 - 1, 2**32 - 1, 2**32 - 1), "GB of memory"),
        (idx(2**31, 1, 1), "is truncated: 2147483648×1×1 values take 2147483648 bytes, but there are 0"),
        (gzip.compress(idx(2**31, 1, 1), mtime=0), "is truncated"),
        (bytes([0, 0, 8, 255]) + b"\0\0\0\1" * 255 + b"\1", "holds 255 axes"),
    ],
)
def test_an_idx_header_alone_costs_nothing(written, data, message):
    with refused(message, megabytes=3000):  # address space, of which nothing is touched
        image_set(f"idx:{written('a', data)}")


def npz(path, header):
    """An archive of one array whose header says what we like."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("images.npy", "w") as to:
        to.write(header)
    return path


def head(shape, dtype="|u1"):
    to = io.BytesIO()
    np.lib.format.write_array_header_1_0(to, {"descr": dtype, "fortran_order": False, "shape": shape})
    return to.getvalue()


def test_an_npz_is_held_against_what_its_headers_declare(tmp_path):
    with refused(r"'images', 100000×300×300, takes 9 GB of memory, and at most 4 are allowed.*gigabytes=9"):
        image_set(f"npz:{npz(tmp_path / 'a.npz', head((100_000, 300, 300)))}")
    with refused("'images' has no values: its shape is 4000000000×0×1"):
        image_set(f"npz:{npz(tmp_path / 'b.npz', head((4_000_000_000, 0, 1)))}")
    with refused("GB of memory"):
        image_set(f"npz:{npz(tmp_path / 'c.npz', head((4, 2, 2), '<U100000000'))}")
    with refused("has no array named images"):
        image_set(f"npz:{npz(tmp_path / 'd.npz', head((-2, 2, 2)))}")


def test_columns_of_an_npz_count_as_well(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", head((2, 1, 1)) + b"12")
        for name in "abcde":
            archive.writestr(f"{name}.npy", head((2,), "<U125000000") + b"")
    with refused(r"a.npz takes 5 GB of memory"):
        image_set(f"npz:{tmp_path / 'a.npz'}")


def test_a_header_of_an_npz_can_not_be_the_bomb(tmp_path):
    long = b"\x93NUMPY\x02\x00" + struct.pack("<I", 150 * MEGABYTE) + b" " * (150 * MEGABYTE)
    npz(tmp_path / "a.npz", long)
    with refused("has no array named images"):
        image_set(f"npz:{tmp_path / 'a.npz'}")


def test_an_npz_of_countless_arrays_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for place in range(1001):
            archive.writestr(f"{place}.npy", b"")
    with refused("it holds 1001 arrays, and at most 1000 are read"):
        image_set(f"npz:{tmp_path / 'a.npz'}")


def png(width, height):
    """A PNG of one colour: its pixels take a thousandth in the file."""
    packed = zlib.compressobj(1)
    rows = b"".join([*(packed.compress(bytes(width + 1)) for _ in range(height)), packed.flush()])

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    start = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", start) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", ["", ",size=8,crop=8"])
def test_an_image_is_held_against_the_size_in_its_header(written, tmp_path, options):
    written("a.png", png(13_000, 13_000))
    with refused(r"a.png is 13000×13000, 169 million pixels, and at most 64 million are allowed.*megapixels=169"):
        image_set(f"folder:{tmp_path}{options}")
    written("a.png", png(100_000, 2_000)[:5000])
    with refused(r"a.png has far more than the 64 million pixels allowed.*megapixels"):
        image_set(f"folder:{tmp_path}{options}")


@pytest.mark.filterwarnings("error")
def test_more_pixels_are_allowed_if_asked(written, tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000_000)
    written("a.png", png(2000, 1500))
    with pytest.raises(BrittleError, match=r"3 million pixels, and at most 2 million are allowed.*megapixels=3"):
        image_set(f"folder:{tmp_path},megapixels=2")
    assert image_set(f"folder:{tmp_path},megapixels=3").batch([0]).images.shape == (1, 1, 1500, 2000)


def test_an_image_is_not_enlarged_without_limit(written, tmp_path):
    written("a.png", png(1, 50_000))
    with refused(r"the image a.png, resized, is 224×11200000, 2509 million pixels"):
        image_set(f"folder:{tmp_path},size=224").batch([0])


def test_images_without_pixels_are_refused(written, tmp_path):
    written("a.ppm", b"P6 0 0 255\n")
    with refused(r"a.ppm.*can't be read|a.ppm has no pixels"):
        image_set(f"folder:{tmp_path}").batch([0])
    with refused("has no pixels"):
        image_set((np.zeros((3, 0, 28), dtype=np.uint8), [0, 1, 2]))
    with refused("index 0 has no pixels"):
        image_set([(np.zeros((0, 28), dtype=np.uint8), 0)])
    with refused("index 0 has no pixels"):
        image_set([(Image.new("RGB", (0, 5)), 0)])


@pytest.mark.parametrize("spec", ["folder:{0}", "idx:{0}/a.png", "npz:{0}/a.png"])
def test_a_pipe_is_not_waited_for(tmp_path, spec):
    os.mkfifo(tmp_path / "a.png")
    with refused(r"a.png can't be read: it is a pipe or a device"):
        image_set(spec.format(tmp_path))


def test_a_pipe_is_skipped_if_asked(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    Image.new("L", (4, 4)).save(tmp_path / "b.png")
    assert image_set(f"folder:{tmp_path},unreadable=skip").skipped == ("a.png",)


def test_folders_that_link_to_one_another_are_refused(tmp_path):
    names = "abcdefghij"
    for name in names:
        (tmp_path / name).mkdir()
    for here, there in itertools.permutations(names, 2):
        os.symlink(tmp_path / there, tmp_path / here / there)
    with refused("link to one another: one is reached by more than 100 paths.*Remove links"):
        image_set(f"folder:{tmp_path}")


def test_a_link_to_itself_is_passed_over(tmp_path):
    os.symlink(tmp_path / "me", tmp_path / "me")
    Image.new("L", (4, 4)).save(tmp_path / "b.png")
    assert list(image_set(f"folder:{tmp_path}").names) == ["b.png"]


@pytest.mark.parametrize(
    "option", ["--samples=99999999999999999999", "--count=99999999999999999999", "--seed=99999999999999999999"]
)
def test_absurd_numbers_are_refused(cli, option):
    assert "99999999999999999999, but must" in cli(
        "measure", "bundled:plain", "sample", "--nuisance=affine", option
    ).complaint(2)


def test_more_draws_than_anybody_waits_for_are_refused(cli):
    said = cli("measure", "bundled:plain", "sample", "--nuisance=affine", "--samples=1000000000000").complaint(2)
    assert "must lie between 1 and 10000000" in said
