"""Whatever a received folder holds: nothing of it is run, and no file outside of it is read."""

import io
import os
import subprocess
import tarfile
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as some
from made_up import costly, mutated, taken_or_refused
from PIL import Image

from brittle.contained_files import ContainedFiles
from brittle.engine.check.labels import reference_labels
from brittle.engine.job import subject_of
from brittle.engine.store.git_state import git_state
from brittle.images.arrays import from_arrays
from brittle.images.folder import Folder
from brittle.images.npz import Npz
from brittle.images.scales.table import ScalesTable
from brittle.images.selection import ChosenImages
from brittle.images.shards import Shards
from brittle.images.stream import encoded
from brittle.measures.base import ClassifierFacts

OWN, PRIVATE = (io.BytesIO() for _ in range(2))
Image.new("L", (4, 4), 0).save(OWN, "PNG")
Image.new("L", (4, 4), 255).save(PRIVATE, "PNG")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    (folder / "file.txt").write_text("a")
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *identity, *command], cwd=folder, check=True, capture_output=True)
    program = folder / ".git" / "program"
    program.write_text(f"#!/bin/sh\ntouch {folder}/ran\ncat\n")
    program.chmod(0o755)
    return folder


SECTIONS = ["core", "filter", "diff", "merge", "include", "includeIf", "alias", "remote", "credential", "extensions"]
SETTINGS = [
    *("fsmonitor", "hooksPath", "sshCommand", "worktree", "alternateRefsCommand", "clean", "smudge", "process"),
    *("required", "textconv", "command", "driver", "path", "status", "external", "helper", "promisor", "partialClone"),
]
NAMES = some.sampled_from(["a", "a=b", "a.b", "a b", "=", "é", "a\\b"]) | some.text(
    some.characters(codec="utf-8", exclude_characters='\n\0"\\'), min_size=1, max_size=5
)
ENTRIES = some.lists(some.tuples(some.sampled_from(SECTIONS), NAMES, some.sampled_from(SETTINGS)), max_size=6)
GIT_FILES = ["HEAD", "config", "packed-refs", "index", "commondir", "info/exclude", "objects/info/alternates"]


@costly(0.05)
@given(ENTRIES, NAMES, some.sampled_from(GIT_FILES), some.none() | mutated([b"ref: refs/heads/main\n", b"../..\n"]))
@example([("filter", "a=b", "clean")], "a=b", "HEAD", None)
def test_a_folder_s_commit_is_told_and_nothing_of_it_is_run(repository, entries, attribute, file, data):
    kept = {
        name: (repository / ".git" / name).read_bytes() for name in GIT_FILES if (repository / ".git" / name).is_file()
    }
    program = repository / ".git" / "program"
    lines = [
        f'[{section} "{name}"]\n\t{key} = {program}\n[{section}]\n\t{key} = {program}\n'
        for section, name, key in entries
    ]
    here = os.getcwd()
    try:
        with (repository / ".git" / "config").open("a", encoding="utf-8") as config:
            config.write("".join(lines))
        (repository / ".gitattributes").write_text(f"* filter={attribute} diff={attribute}\n", encoding="utf-8")
        (repository / "file.txt").write_text("b")
        if data is not None:
            (repository / ".git" / file).write_bytes(data)
        os.chdir(repository)
        with taken_or_refused():
            found = git_state()
            assert found is None or (len(found["commit"]) in (40, 64) and found["changed"] in (True, False, None))
        assert not (repository / "ran").exists()
    finally:
        os.chdir(here)
        for name in GIT_FILES:
            (repository / ".git" / name).unlink(missing_ok=True)
        for name, content in kept.items():
            (repository / ".git" / name).write_bytes(content)


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    """A folder of black pictures, beside a white one that was not received."""
    top = tmp_path_factory.mktemp("top")
    folder = top / "received"
    (folder / "inner").mkdir(parents=True)
    for place, content in {
        folder / "a.png": OWN,
        folder / "inner" / "b.png": OWN,
        top / "private.png": PRIVATE,
    }.items():
        place.write_bytes(content.getvalue())
    (folder / "link.png").symlink_to(top / "private.png")
    (folder / "near.png").symlink_to("inner/b.png")
    (folder / "out").symlink_to(top)
    (folder / "zero.png").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.png")
    return folder


PARTS = ["..", ".", "inner", "out", "received", "a.png", "b.png", "near.png", "link.png", "private.png", "zero.png"]
PATHS = some.lists(some.sampled_from([*PARTS, "pipe.png", "", "\0", "TOP", "/dev/zero"]), max_size=5).map("/".join)


@given(PATHS | some.sampled_from(["a.png", "inner/b.png", "near.png", "inner/../a.png"]) | some.text(max_size=6))
@example("../private.png")
@example("TOP/private.png")
@example("pipe.png")
@example("zero.png")
def test_a_row_that_names_a_file_gives_one_of_its_own_or_is_refused(received, path):
    path = path.replace("TOP", str(received.parent))
    with taken_or_refused():
        assert encoded({"bytes": None, "path": path or "."}, "index 0", ContainedFiles(received).path) == OWN.getvalue()
    if "\0" in path or not path.isprintable():
        return
    columns = {"path": ["a.png", path], "class": [0, 0], "shift": ["", "fog"], "scale": [0, 1], "seed": [1, 1]}
    pa.parquet.write_table(pa.table(columns), received / "table.parquet")
    with taken_or_refused():
        found = ScalesTable(file=str(received / "table.parquet")).load()
        assert float(found.shifts["fog"].reader([1])[0].max()) == 0


@costly(0.5)
@given(some.lists(some.tuples(some.sampled_from(["cat/", "dog/", ""]), PATHS), min_size=1, max_size=3))
@example([("cat/", "../link.png")])
@example([("", "out")])
def test_a_folder_of_links_gives_its_own_images_or_is_refused(received, links):
    folder = received / "links"
    (folder / "cat").mkdir(parents=True, exist_ok=True)
    (folder / "cat" / "fine.png").write_bytes(OWN.getvalue())
    made = []
    for number, (below, path) in enumerate(links):
        place = folder / f"{below}{number}.png"
        to = path.replace("TOP", str(received.parent)).replace("\0", "")
        if to:
            place.parent.mkdir(exist_ok=True)
            place.symlink_to(to)
            made.append(place)
    try:
        with taken_or_refused():
            found = Folder(str(folder), labels="none").load()
            assert float(found.batch(range(len(found))).images.max()) == 0
    finally:
        for place in made:
            place.unlink()


def shard(header=tarfile.USTAR_FORMAT, **pax):
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode="w", format=header) as archive:
        for name, data in {
            "a.png": OWN.getvalue(),
            "a.cls": b"1",
            "b.png": OWN.getvalue(),
            "b.json": b'{"label": 2}',
        }.items():
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(data), pax
            archive.addfile(info, io.BytesIO(data))
    return to.getvalue()


TARS = [shard(), shard(tarfile.GNU_FORMAT), shard(tarfile.PAX_FORMAT, comment="x", size="3"), shard(tarfile.PAX_FORMAT)]
SIZE = slice(124, 136)  # of a header


@given(mutated(TARS), some.none() | some.binary(min_size=12, max_size=12) | some.just(b"77777777777\0"))
def test_a_shard_is_read_or_refused(file, data, size):
    if size is not None and len(data) >= 512:
        block = bytearray(data)
        block[SIZE] = size
        block[148:156] = f"{sum(block[:148]) + 8 * 32 + sum(block[156:512]):06o}\0 ".encode()
        data = bytes(block)
    with taken_or_refused():
        found = Shards(path=str(file("a.tar", data))).load()
        assert len(found.batch(range(len(found))).images) == len(found)


LABELS = some.integers(-(2**63), 2**64 - 1) | some.sampled_from(
    [-1, 0, 1, 2, 10**7 - 1, 10**7, 10**17, 2**63 - 1, 2**63]
)
NAMED = ClassifierFacts("c", ("0", "1", "2", str(10**7 - 1)))
UNNAMED = ClassifierFacts("c", ("0", "1", "2"), named=False)


@given(some.lists(LABELS, min_size=1, max_size=3), some.sampled_from(["int64", "uint64", "float64", "object"]))
@example([10**17], "int64")
def test_labels_of_any_size_are_matched_or_refused(file, labels, kind):
    tracemalloc.start()
    with taken_or_refused():
        pixels = np.zeros((len(labels), 4, 4), np.uint8)
        try:
            given = np.array(labels, dtype=kind)
        except OverflowError:
            given = np.array(labels, dtype="uint64" if min(labels) >= 0 else "float64")
        to = io.BytesIO()
        np.savez(to, images=pixels, labels=given)
        loaded = (
            (lambda: from_arrays(pixels, given)) if kind == "object" else Npz(str(file("a.npz", to.getvalue()))).load
        )
        images = loaded()
        for facts in (NAMED, UNNAMED):
            found = reference_labels(facts, subject_of(ChosenImages(images, images)))
            assert all(-1 <= each < len(facts.labels) for each in found.tolist())
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()
