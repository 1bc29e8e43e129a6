"""Memory of a measurement over shards does not grow with the number of images."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = """
from brittle.engine.execute import worker
worker.IMAGES_KEPT = worker.IMAGES_AT_ONCE = 1 << 24
"""


@pytest.mark.slow
def test_five_times_the_images_take_no_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.streaming import MEASURE, write_shards

    peaks = []
    for count in (2_000, 10_000):  # 98 and 490 MB as pixels
        folder = tmp_path / str(count)
        folder.mkdir()
        write_shards(folder, count)
        said = subprocess.run(
            [sys.executable, "-c", SMALL + MEASURE, str(folder)], capture_output=True, text=True, check=True
        )
        found = json.loads(said.stdout)
        assert found["images"] == count
        peaks.append(found["peak"] / 1024)
    assert peaks[1] - peaks[0] < 60
