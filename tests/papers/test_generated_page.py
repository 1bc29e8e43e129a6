"""The scripts of papers/cns2025/generated: their calls, what they carry, and the page that is filled in from tables."""

import gzip
import importlib
import lzma
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import brittle
from brittle.diffusion.generator import Generator, Made
from brittle.diffusion.sampling import SamplingOptions
from brittle.images.idx import read_idx

HERE = Path(__file__).parents[2] / "papers" / "cns2025" / "generated"
OWN = tuple(file.stem for file in HERE.glob("*.py"))


@pytest.fixture
def modules(monkeypatch):
    """The scripts' own modules, some of whose names other papers use too."""
    monkeypatch.syspath_prepend(str(HERE))
    before = {name: sys.modules.pop(name, None) for name in OWN}
    yield importlib.import_module
    for name, module in before.items():
        sys.modules.pop(name, None)
        sys.modules.update({name: module} if module else {})


def idx(file, array, kind=8):
    file.parent.mkdir(parents=True, exist_ok=True)
    header = struct.pack(">HBB", 0, kind, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    file.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))
    return file


def test_before_a_run_every_number_says_so(modules, tmp_path):
    values = modules("found").texts(tmp_path)
    wanted = set(re.findall(r"\{(\w+)\}", (HERE / "README.template.md").read_text("utf-8"))) - {"pictures", "state"}
    assert wanted <= set(values)
    assert {values[name] for name in wanted} == {"not run"}


def test_a_table_fills_the_page_and_decides_whether_it_agrees(modules, tmp_path):
    row = {"distance_is": "Fréchet distance in the features of views", "classifier": "resnet", "floor": 0.5}
    row |= {"accuracy_on_real": 0.93, "images": 2000}
    spread = {"distance": (27.1, 26.0, 28.0), "accuracy": (0.74, 0.72, 0.76)}
    spread |= {"distance_apart": (-6.7, -7.5, -6.0), "accuracy_apart": (0.01, -0.01, 0.03)}
    for name, values in spread.items():
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))
    pq.write_table(
        pa.Table.from_pylist([row | {"way": way} for way in ("names", "learned words")]), tmp_path / "gap.parquet"
    )
    page = modules("page")
    readme = page.filled(modules("found").texts(tmp_path) | {"pictures": "", "state": ""})
    (line,) = [each for each in readme.splitlines() if each.startswith("| **Learned words")]
    assert "27.10 [26.00, 28.00] by learned words; apart −6.70 [−7.50, −6.00]; between real images 0.50" in line
    assert "same direction" in line  # all of the difference lies below 0
    (line,) = [each for each in readme.splitlines() if each.startswith("| ... and ResNet-50")]
    assert "can't be told" in line  # its interval holds 0
    assert "0.740 [0.720, 0.760]" in "\n".join(page.results(tmp_path))


def test_the_page_says_what_the_tables_say(modules, tmp_path):
    page, tables = modules("page"), HERE / "tables"
    values = modules("found").texts(tables)
    readme = (HERE / "README.md").read_text("utf-8")
    named = re.findall(r"\{(\w+)\}", (HERE / "README.template.md").read_text("utf-8"))
    assert not [name for name in named if name in values and values[name] not in readme]
    assert "not run" not in readme
    assert "\n".join(page.results(tables)).strip() in (HERE / "results.md").read_text("utf-8")


@pytest.mark.usefixtures("torchvision")
def test_what_is_attached_makes_pictures_of_its_classes():
    weights = sum(file.stat().st_size for file in (HERE / "pipeline").rglob("*.safetensors"))
    assert weights < 10e6
    sampling = SamplingOptions(steps=8)
    how = {"sliders": str(HERE / "sliders"), "tokens": str(HERE / "tokens"), "sampling": sampling}
    generator = Generator(str(HERE / "pipeline"), ("ankle boot", "bag"), (9, 8), **how)
    seeds = range(1, 4)
    shown = {
        scale: generator.images(
            [Made(label, seed, (("fog", scale),)[: scale > 0]) for label in (9, 8) for seed in seeds]
        )
        for scale in (0.0, 2.0)
    }
    asked, labels = brittle.classifier("bundled:plain"), torch.tensor([9] * 3 + [8] * 3)
    right = {
        scale: (asked.log_probs(images[:, :, 2:-2, 2:-2].float() / 255).argmax(1) == labels).float().mean()
        for scale, images in shown.items()
    }
    assert right[0.0] >= 0.75
    background = {scale: images[:, 0, :2].float().mean() for scale, images in shown.items()}
    assert background[2.0] > background[0.0] + 20  # fog is bright where there was nothing


def test_the_three_calls_carry_out_every_part(modules):
    script = (HERE / "h200.sh").read_text("utf-8")
    named = [set(re.search(rf"^{call}=(\S+)$", script, re.M)[1].split(",")) for call in ("first", "second", "third")]
    parts = modules("run").PARTS
    assert set.union(*named) == set(parts)
    assert sum(map(len, named)) == len(parts)
    for call in named:  # expected seconds leave room in a call of ten minutes
        assert sum(parts[name].seconds for name in call) <= 600


def test_what_is_carried_is_read_back_whole_or_as_its_first_rows(modules, tmp_path):
    images = np.random.default_rng(0).integers(256, size=(9, 4, 4))
    file = idx(tmp_path / "train-images-idx3-ubyte.gz", images)
    for rows, expected in ((None, images), (5, images[:5]), (20, images)):
        modules("carry").squeezed(file, tmp_path / "packed.xz", rows)
        (tmp_path / "plain").write_bytes(lzma.decompress((tmp_path / "packed.xz").read_bytes()))
        assert (read_idx(tmp_path / "plain") == expected).all()


def test_rows_that_were_not_carried_are_missed(modules, tmp_path):
    for what, array in (("images-idx3", np.zeros((9, 28, 28))), ("labels-idx1", np.arange(9))):
        idx(tmp_path / "data" / "fashion-mnist" / f"train-{what}-ubyte.gz", array)
    work = modules("work").Work(tmp_path / "work", tmp_path / "data")
    assert work.fashion(slice(2, 5)).labels.tolist() == [2, 3, 4]
    with pytest.raises(SystemExit, match="holds 9 images of 60000"):
        work.fashion()


def test_a_part_is_done_once_and_again_where_what_it_left_is_gone(modules, tmp_path, monkeypatch):
    run, work, times = modules("run"), modules("work"), []

    def part(each):
        times.append(each)
        (each.folder / "left").mkdir(exist_ok=True)

    monkeypatch.setitem(run.PARTS, "mine", run.Part(part, 1000.0, "left"))
    short = work.Work(tmp_path, tmp_path, until=0.0)
    run.carried_out(short, "mine")
    assert times == []  # there is no time for it
    enough = work.Work(tmp_path, tmp_path)
    for _ in range(2):
        run.carried_out(enough, "mine")
    assert len(times) == 1
    (tmp_path / "left").rmdir()
    run.carried_out(enough, "mine")
    assert len(times) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("torchvision")
@pytest.mark.filterwarnings("ignore")
def test_the_parts_follow_one_another_on_made_up_images(modules, tmp_path):
    generator = np.random.default_rng(0)
    for kind in ("fashion-mnist", "mnist"):
        for part in ("train", "t10k"):
            idx(tmp_path / "data" / kind / f"{part}-images-idx3-ubyte.gz", generator.integers(256, size=(256, 28, 28)))
            idx(tmp_path / "data" / kind / f"{part}-labels-idx1-ubyte.gz", np.arange(256) % 10)
    run, work = modules("run"), modules("work").Work(tmp_path / "work", tmp_path / "data", tiny=True)
    for name in ("pipeline", "tokens", "encoders", "classifiers", "sliders", "benchmark", "filter", "stages", "drops"):
        run.carried_out(work, name)
    counts = modules("work").read_table(work.folder / "tables", "stages")
    assert [row["generated"] for row in counts] == [40] * 6
    assert len(list((work.folder / "benchmark").rglob("*.png"))) == 2 * 10 * 2 * 6
