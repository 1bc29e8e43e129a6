"""A plain table of stored images."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from cns_folder import write

from brittle.errors import BrittleError
from brittle.images import image_set

HEADER = "path,class,shift,scale,seed\n"


@pytest.fixture
def rows(tmp_path: Path) -> list[str]:
    """Two classes with two seeds each; at scale 0 one picture for both shifts."""
    made = []
    for label, of_class in enumerate(("cat", "dog")):
        for seed in (1, 2):
            write(tmp_path / f"{of_class}{seed}.png", (label * 100, seed * 50, 0))
            made.append(f"{of_class}{seed}.png,{of_class},,0,{seed}")
            for number, shift in enumerate(("rain", "dusk")):
                for scale in (0.3, 1.2):
                    file = f"{shift}/{of_class}{seed}-{scale}.png"
                    write(tmp_path / file, (label * 100, seed * 50, round(100 * number + 50 * scale)))
                    made.append(f"{file},{of_class},{shift},{scale},{seed}")
    return made


def table(tmp_path: Path, rows: list[str]) -> str:
    (tmp_path / "pictures.csv").write_text(HEADER + "\n".join(rows))
    return f"scales:{tmp_path / 'pictures.csv'}"


def test_a_table_says_what_every_picture_is(tmp_path: Path, rows: list[str]) -> None:
    images = image_set(table(tmp_path, rows))
    assert images.classes == ("cat", "dog")
    assert images.names == ["cat/1", "cat/2", "dog/1", "dog/2"]
    batch = images.batch(range(4))
    for number, name in enumerate(("rain", "dusk")):
        for scale in (0.3, 1.2):
            made = images.shifts[name].apply(batch, torch.full((4, 1), scale))
            blue = round(100 * number + 50 * scale)
            wanted = [[0, 50, blue], [0, 100, blue], [100, 50, blue], [100, 100, blue]]
            assert (made.mean((2, 3)) * 255).round().int().tolist() == wanted


def test_parquet_says_the_same(tmp_path: Path, rows: list[str]) -> None:
    images = image_set(table(tmp_path, rows))
    columns = zip(*(row.split(",") for row in rows), strict=True)
    named = dict(zip(HEADER.strip().split(","), map(list, columns), strict=True))
    named["scale"], named["seed"] = [float(each) for each in named["scale"]], [int(each) for each in named["seed"]]
    pyarrow.parquet.write_table(pa.table(named), tmp_path / "pictures.parquet")
    other = image_set(f"scales:{tmp_path / 'pictures.parquet'}")
    assert torch.equal(other.ids, images.ids)
    assert list(other.shifts) == list(images.shifts)


def test_numbers_are_labels(tmp_path: Path, rows: list[str]) -> None:
    numbered = [row.replace(",cat,", ",7,").replace(",dog,", ",3,") for row in rows]
    images = image_set(table(tmp_path, numbered))
    assert sorted(set(images.labels.tolist())) == [3, 7]
    assert images.classes == ()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (("0.3,1", "0.3,"), "row 2 is not an image"),
        (("rain,0.3,1", "rain,-0.3,1"), "row 2 is not an image"),
        (("rain,0.3,1", ",0.3,1"), "row 2 is not an image"),
        (("rain,1.2,1", "rain,0.3,1"), "are both cat/1 of the shift 'rain' at scale 0.3"),
    ],
)
def test_a_row_that_is_no_picture_is_named(
    tmp_path: Path, rows: list[str], change: tuple[str, str], match: str
) -> None:
    with pytest.raises(BrittleError, match=match):
        image_set(table(tmp_path, [row.replace(*change) if "cat" in row else row for row in rows]))


def test_a_lacking_column_is_named(tmp_path: Path, rows: list[str]) -> None:
    (tmp_path / "pictures.csv").write_text(HEADER.replace("seed", "sead") + "\n".join(rows))
    with pytest.raises(BrittleError, match="has no column 'seed'"):
        image_set(f"scales:{tmp_path / 'pictures.csv'}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path, rows: list[str]) -> None:
    (tmp_path / "cat1.png").unlink()
    with pytest.raises(BrittleError, match=r"there is no file .*cat1\.png"):
        image_set(table(tmp_path, rows))
    rest = image_set(table(tmp_path, rows) + ",unreadable=skip")
    assert rest.skipped == ("cat1.png",)
    assert rest.names == ["cat/2", "dog/1", "dog/2"]
